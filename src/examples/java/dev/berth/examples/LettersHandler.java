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
 * Named methods, hooks, a logger and a meter. Other deployments call {@code upper} and {@code
 * count}; a request by HTTP would reach {@link #handle} alone.
 */
final class LettersHandler implements AsyncHandler {
  private final ReplicaMeters.Counter letters;
  private volatile String suffix = ""; // hooks run on other threads than requests

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

  /** The {@code user_config}: before the first request, and each time it changes. */
  @Override
  public void reconfigure(Map<String, Object> userConfig) {
    Object given = userConfig.getOrDefault("suffix", "");
    if (!(given instanceof String text) || text.length() > 10) {
      throw new IllegalArgumentException("suffix: " + given + " (expected: at most 10 letters)");
    }
    suffix = text;
  }

  /** Fails where the replica should get no more requests: three times in a row take it out. */
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
    context.logger().debug("upper of {} characters", text.length()); // with the request's id
    return Future.succeededFuture(Response.text(text.toUpperCase(Locale.ROOT) + suffix));
  }

  private Future<Response> count(Request request, RequestContext context) {
    long count = request.bytes().toString().codePoints().filter(Character::isLetter).count();
    letters.add(count);
    return Future.succeededFuture(Response.text(Long.toString(count)));
  }
}
