package dev.berth.replica;

import dev.berth.api.Headers;
import dev.berth.api.Response;
import dev.berth.fakes.ToldSource;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.util.ArrayDeque;

/** A received body whose pieces the test sends; keeps them back while it is paused. */
final class ManualStream extends ToldSource {
  private final ArrayDeque<Buffer> kept = new ArrayDeque<>();
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
}
