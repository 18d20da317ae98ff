package dev.berth.ingress;

import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * Gathers a request's body, up to a bound. One piece, which most bodies are, is passed on as it
 * came; more are copied into one.
 */
final class BodyReader implements Handler<Buffer> {
  private final Exchange exchange;
  private final long maxBytes;
  private @Nullable Buffer body;
  private boolean copied;
  private boolean discarding;
  private long progressNanos;

  BodyReader(Exchange exchange, long maxBytes, long now) {
    this.exchange = exchange;
    this.maxBytes = maxBytes;
    this.progressNanos = now;
  }

  @Override
  public void handle(Buffer piece) {
    if (discarding) {
      return;
    }
    progressNanos = exchange.coarseNow();
    Buffer before = body;
    if (piece.length() + (before == null ? 0L : before.length()) > maxBytes) {
      discarding = true;
      body = null;
      exchange.bodyTooLarge();
    } else if (before == null) {
      body = piece;
    } else if (copied) {
      before.appendBuffer(piece);
    } else {
      copied = true;
      body =
          Buffer.buffer(2 * (before.length() + piece.length()))
              .appendBuffer(before)
              .appendBuffer(piece);
    }
  }

  /** No more will come. */
  void ended(Void end) {
    if (discarding) {
      exchange.discardedAll();
    } else {
      Buffer whole = body;
      body = null;
      exchange.bodyRead(whole == null ? Exchange.EMPTY : whole);
    }
  }

  /** When a piece last came, as coarsely as the sweep looks. */
  long progressNanos() {
    return progressNanos;
  }
}
