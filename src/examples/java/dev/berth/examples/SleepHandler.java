package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;

/**
 * Waits {@code ?ms=} milliseconds without blocking, at most a minute, and responds. A request that
 * its client or its deadline cancels meanwhile releases its slot at once.
 */
final class SleepHandler implements AsyncHandler {
  private static final int MS_MAX = 60_000;

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    String text = request.queryParameter("ms");
    int ms;
    try {
      ms = text == null ? 0 : Integer.parseInt(text);
    } catch (NumberFormatException notANumber) {
      ms = -1;
    }
    if (ms < 0 || ms > MS_MAX) {
      return Future.succeededFuture(
          new BadInput("ms", String.valueOf(text), "a whole number from 0 to " + MS_MAX)
              .toResponse());
    }
    int waited = ms;
    return context
        .after(Duration.ofMillis(Math.max(1, ms)))
        .map(passed -> Response.text("slept " + waited + " ms\n"));
  }
}
