package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.ReplicaContext;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.ReplicaMeters;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.util.Locale;
import java.util.Map;

/**
 * A handler with named methods, hooks, a logger and a meter. Other deployments call {@code upper}
 * and {@code count}; an HTTP request would reach {@link #handle} alone.
 */
final class LettersHandler implements AsyncHandler {
  private final ReplicaMeters.Counter letters;
  private volatile String suffix = ""; // hooks and requests run on different threads

  LettersHandler(ReplicaContext replica) {
    this.letters =
        replica
            .meters()
            .describe("example_letters", "Letters that count was asked about.")
            .counter("example_letters");
  }

  @Override
  public Map<String, ReplicaHandler> methods() {
    return Map.of("upper", (AsyncHandler) this::upper, "count", (AsyncHandler) this::count);
  }

  /** Applies the {@code user_config}, before the first request and after each change. */
  @Override
  public void reconfigure(Map<String, Object> userConfig) {
    Object given = userConfig.getOrDefault("suffix", "");
    if (!(given instanceof String text) || text.length() > 10) {
      throw new IllegalArgumentException("suffix: " + given + " (expected: at most 10 letters)");
    }
    suffix = text;
  }

  /** Throws when the replica should receive no requests; three consecutive failures exclude it. */
  @Override
  public void checkHealth() {
    if (!"ß".toUpperCase(Locale.ROOT).equals("SS")) {
      throw new IllegalStateException("letters: strange (expected: those of Unicode)");
    }
  }

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    return Future.succeededFuture(Response.text("methods: count, upper\n"));
  }

  private Future<Response> upper(Request request, RequestContext context) {
    String text = request.bytes().toString();
    context.logger().debug("upper of {} characters", text.length()); // logged with the request's id
    return Future.succeededFuture(Response.text(text.toUpperCase(Locale.ROOT) + suffix));
  }

  private Future<Response> count(Request request, RequestContext context) {
    long count = request.bytes().toString().codePoints().filter(Character::isLetter).count();
    letters.add(count);
    return Future.succeededFuture(Response.text(Long.toString(count)));
  }
}
