package dev.berth.replica;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BlockingHandler;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.util.concurrent.Executor;

/** Calls user code, and makes whatever it does end in one settled invocation. */
abstract sealed class HandlerInvoker {
  /** Whether the handler wants bodies as they arrive; asked once. */
  final boolean streamsRequests;

  private HandlerInvoker(ReplicaHandler handler) {
    streamsRequests = handler.streamsRequests();
  }

  /** Called on the replica's loop. */
  abstract void invoke(Request request, Invocation invocation);

  /** Whether the handler runs on a thread of its own. */
  final boolean runsOnThread() {
    return this instanceof OnThread;
  }

  /**
   * @param threads where a blocking handler runs
   */
  static HandlerInvoker of(ReplicaHandler handler, Executor threads) {
    return handler instanceof AsyncHandler async
        ? new OnLoop(async)
        : new OnThread((BlockingHandler) handler, threads);
  }

  private static final class OnLoop extends HandlerInvoker {
    private final AsyncHandler handler;

    OnLoop(AsyncHandler handler) {
      super(handler);
      this.handler = handler;
    }

    @Override
    void invoke(Request request, Invocation invocation) {
      Future<Response> future;
      try {
        future = handler.handle(request, invocation);
      } catch (Throwable thrown) { // user code: whatever it throws, its slot must come back
        invocation.settled(null, thrown);
        return;
      }
      if (future == null) {
        invocation.settled(null, new IllegalStateException("handler: null (expected: a future)"));
      } else if (future.isComplete()) {
        invocation.settled(future.result(), future.cause());
      } else {
        future.onComplete(invocation);
      }
    }
  }

  private static final class OnThread extends HandlerInvoker {
    private final BlockingHandler handler;
    private final Executor threads;

    OnThread(BlockingHandler handler, Executor threads) {
      super(handler);
      this.handler = handler;
      this.threads = threads;
    }

    @Override
    void invoke(Request request, Invocation invocation) {
      BlockingCall call = new BlockingCall(handler, request, invocation);
      invocation.call = call;
      try {
        threads.execute(call);
      } catch (RuntimeException refused) { // stopped, or no thread to be had
        invocation.settled(null, refused);
      }
    }
  }
}
