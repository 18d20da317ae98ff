package dev.berth.api;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;

/** Gathers a received stream into one buffer, up to a bound. */
final class Gathering {
  private Gathering() {}

  static Future<Buffer> of(Response.Body.Received received, int maxBytes) {
    Promise<Buffer> done = Promise.promise();
    Buffer gathered = Buffer.buffer();
    received.stream().exceptionHandler(done::tryFail);
    received.stream().endHandler(end -> done.tryComplete(gathered));
    received.stream()
        .handler(
            piece -> {
              if (gathered.length() + piece.length() <= maxBytes) {
                gathered.appendBuffer(piece);
              } else if (done.tryFail(
                  new IllegalStateException(
                      "body: over " + maxBytes + " bytes (expected: at most maxBytes)"))) {
                received.cancel().run();
              }
            });
    received.stream().resume();
    return done.future();
  }
}
