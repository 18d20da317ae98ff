package dev.berth.upstream.client;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;

/** An exchange that gets no connection, and fails in a later event. */
final class RefusedExchange implements UpstreamExchange {
  private final ContextInternal loop;
  private boolean cancelled;

  RefusedExchange(ContextInternal loop, ExchangeListener listener, String reason) {
    this.loop = loop;
    loop.runOnContext(
        here -> {
          if (cancelled) {
            listener.onCancelled(true);
          } else {
            listener.onFailed(new UpstreamFailure(true, reason));
          }
        });
  }

  @Override
  public Future<Void> write(Buffer piece) {
    return loop.failedFuture("exchange: refused (expected: no body)");
  }

  @Override
  public void end() {}

  @Override
  public void pause() {}

  @Override
  public void resume() {}

  @Override
  public void cancel(long graceNanos) {
    cancelled = true;
  }
}
