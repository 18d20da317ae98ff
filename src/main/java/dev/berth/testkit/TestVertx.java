package dev.berth.testkit;

import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.internal.VertxInternal;
import org.jspecify.annotations.Nullable;

/**
 * The Vert.x of a test whose application has web deployments, for their files and timers. Started
 * at the first use. Its tasks run on a thread of its own, and in real time.
 */
final class TestVertx {
  private @Nullable VertxInternal vertx; // guarded by this

  /** Returns a new context. Thread-safe. */
  synchronized Context context() {
    if (vertx == null) {
      vertx =
          (VertxInternal)
              Vertx.vertx(
                  new VertxOptions()
                      .setEventLoopPoolSize(1)
                      .setWorkerPoolSize(2)
                      .setInternalBlockingPoolSize(2));
    }
    return vertx.createEventLoopContext();
  }

  synchronized void close() {
    if (vertx != null) {
      vertx.close().toCompletionStage().toCompletableFuture().join();
    }
  }
}
