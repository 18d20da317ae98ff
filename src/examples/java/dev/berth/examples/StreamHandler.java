package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;

/**
 * Server-sent events: {@code ?n=} of them (1 to 1 000, default 10), {@code ?interval_ms=} apart (0
 * to 10 000, default 100). Each event is sent after the receiver has accepted the previous one and
 * the interval has passed. A slow client therefore holds one event in memory, not a thousand.
 */
final class StreamHandler implements AsyncHandler {
  static final int EVENTS_DEFAULT = 10;
  static final int EVENTS_MAX = 1_000;
  static final int INTERVAL_MS_DEFAULT = 100;
  static final int INTERVAL_MS_MAX = 10_000;

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    return Future.succeededFuture(answer(request, context));
  }

  private static Response answer(Request request, RequestContext context) {
    if (!request.method().equals("GET")) {
      return BadInput.methodNotAllowed(request.method(), "GET");
    }
    int events;
    int intervalMs;
    try {
      events = parameter(request, "n", EVENTS_DEFAULT, 1, EVENTS_MAX);
      intervalMs = parameter(request, "interval_ms", INTERVAL_MS_DEFAULT, 0, INTERVAL_MS_MAX);
    } catch (BadInput bad) {
      return bad.toResponse();
    }
    return Response.stream(
            "text/event-stream",
            writer -> new Run(writer, context, events, Duration.ofMillis(intervalMs)).start())
        .withHeader("cache-control", "no-cache");
  }

  private static int parameter(Request request, String name, int absent, int least, int most)
      throws BadInput {
    String text = request.queryParameter(name);
    if (text == null) {
      return absent;
    }
    try {
      int value = Integer.parseInt(text);
      if (value >= least && value <= most) {
        return value;
      }
    } catch (NumberFormatException notANumber) {
      // Rejected below, like a number out of range.
    }
    throw new BadInput(name, text, "a whole number from " + least + " to " + most);
  }

  /** A response that is being written. Confined to the replica's context. */
  private static final class Run {
    private final ResponseWriter writer;
    private final RequestContext context;
    private final int events;
    private final Duration interval;
    private final Promise<Void> done = Promise.promise();
    private int sent;

    Run(ResponseWriter writer, RequestContext context, int events, Duration interval) {
      this.writer = writer;
      this.context = context;
      this.events = events;
      this.interval = interval;
    }

    Future<Void> start() {
      advance();
      return done.future();
    }

    /**
     * Sends events until one does not complete at once. A loop rather than a chain of futures:
     * writes that complete at once would nest as deeply as there are events.
     */
    private void advance() {
      while (sent < events) {
        Future<Void> step = sendNext();
        if (!step.isComplete()) {
          step.onComplete(waited -> advance(), done::tryFail);
          return;
        }
        if (step.failed()) {
          done.tryFail(step.cause());
          return;
        }
      }
      done.tryComplete();
    }

    private Future<Void> sendNext() {
      String event = "id: " + sent + "\ndata: {\"event\":" + sent + ",\"of\":" + events + "}\n\n";
      sent++;
      Future<Void> written = writer.write(event);
      boolean last = sent == events;
      return last || interval.isZero()
          ? written
          : written.compose(taken -> context.after(interval));
    }
  }
}
