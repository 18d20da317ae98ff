package dev.berth.replica;

import dev.berth.api.Headers;
import dev.berth.api.Response;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/** A received body whose pieces the test sends; keeps them back while it is paused. */
final class ManualStream implements ReadStream<Buffer> {
  private final ArrayDeque<Buffer> kept = new ArrayDeque<>();
  private @Nullable Handler<Buffer> handler;
  private @Nullable Handler<Void> endHandler;
  private @Nullable Handler<Throwable> exceptionHandler;
  boolean paused = true;
  int cancels;
  int delivered;

  Response response() {
    return Response.of(200, Headers.empty(), new Response.Body.Received(this, () -> cancels++));
  }

  void send(Buffer piece) {
    kept.add(piece);
    deliver();
  }

  private void deliver() {
    while (!paused && handler != null && !kept.isEmpty()) {
      delivered++;
      handler.handle(kept.remove());
    }
  }

  void end() {
    if (endHandler != null) {
      endHandler.handle(null);
    }
  }

  void fail(Throwable failure) {
    if (exceptionHandler != null) {
      exceptionHandler.handle(failure);
    }
  }

  @Override
  public ReadStream<Buffer> exceptionHandler(@Nullable Handler<Throwable> handler) {
    exceptionHandler = handler;
    return this;
  }

  @Override
  public ReadStream<Buffer> handler(@Nullable Handler<Buffer> handler) {
    this.handler = handler;
    return this;
  }

  @Override
  public ReadStream<Buffer> pause() {
    paused = true;
    return this;
  }

  @Override
  public ReadStream<Buffer> resume() {
    paused = false;
    deliver();
    return this;
  }

  @Override
  public ReadStream<Buffer> fetch(long amount) {
    throw new UnsupportedOperationException("fetch (expected: pause and resume)");
  }

  @Override
  public ReadStream<Buffer> endHandler(@Nullable Handler<Void> endHandler) {
    this.endHandler = endHandler;
    return this;
  }
}
