package dev.berth.replica;

import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.protocol.port.LoopPorts;
import io.vertx.core.Completable;
import org.jspecify.annotations.Nullable;

/** A request as whatever calls its handler sees it; completes from wherever that settles. */
interface HandledRequest extends RequestContext, Completable<Response> {
  /** Its loop's; any thread. */
  LoopPorts ports();

  /** The handler is done with it. Once; on the loop, as is all that follows. */
  void settled(@Nullable Response response, @Nullable Throwable failure);

  /** Its handler may block, and is called so. */
  void calledBy(BlockingCall call);

  /** There is no thread for its handler, which never runs. */
  void notCalled(Throwable noThread);
}
