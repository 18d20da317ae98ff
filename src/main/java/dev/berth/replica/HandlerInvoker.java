package dev.berth.replica;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BatchedHandler;
import dev.berth.api.BlockingHandler;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * Calls user code and settles the invocation exactly once, however the code ends.
 *
 * @param threads threads of a blocking handler
 * @param streamsRequests whether the handler streams request bodies; read once
 */
record HandlerInvoker(ReplicaHandler handler, Executor threads, boolean streamsRequests) {
  HandlerInvoker(ReplicaHandler handler, Executor threads) {
    this(handler, threads, handler.streamsRequests() && !(handler instanceof BatchedHandler));
  }

  /** Returns whether the handler runs on a thread of its own. */
  boolean runsOnThread() {
    return handler instanceof BlockingHandler;
  }

  /** Returns whether the handler takes batches, which {@link BatchRunner} calls it with. */
  boolean takesBatches() {
    return handler instanceof BatchedHandler;
  }

  /** Calls the handler. Confined to the replica's loop. */
  void invoke(Request request, HandledRequest invocation) {
    if (handler instanceof AsyncHandler async) {
      invokeHere(async, request, invocation);
      return;
    }
    BlockingCall call = new BlockingCall((BlockingHandler) handler, request, invocation);
    invocation.calledBy(call);
    try {
      threads.execute(call);
    } catch (RejectedExecutionException | OutOfMemoryError noThread) {
      if (call.withdraw()) {
        invocation.notCalled(noThread);
      }
    }
  }

  private static void invokeHere(AsyncHandler handler, Request request, HandledRequest invocation) {
    Future<Response> future;
    try {
      future = handler.handle(request, invocation);
    } catch (Throwable thrown) { // user code: its slot must become free after any exception
      invocation.settle(null, thrown);
      return;
    }
    if (future == null) {
      invocation.settle(null, new IllegalStateException("handler: null (expected: a future)"));
    } else if (future.isComplete()) {
      invocation.settle(future.result(), future.cause());
    } else {
      future.onComplete(invocation);
    }
  }
}
