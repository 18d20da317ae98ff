package dev.berth.replica;

import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.protocol.port.LoopDependencies;
import io.vertx.core.Completable;
import org.jspecify.annotations.Nullable;

/** A request as seen by the caller of its handler. It may be completed on any thread. */
interface HandledRequest extends RequestContext, Completable<Response> {
  /** Returns the loop of the request. Thread-safe. */
  LoopDependencies ports();

  /**
   * Settles the request with the handler's result, once. Confined to the loop, as are the methods
   * below.
   */
  void settle(@Nullable Response response, @Nullable Throwable failure);

  /** Sets the call that runs a blocking handler, or the place in a batch. */
  void calledBy(HandlerCall call);

  /** Ends the request because there is no thread for its handler, which never runs. */
  void notCalled(Throwable noThread);
}
