import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Sends requests at a rate, whatever the server does, and times each from when it was due.
 *
 * <p>Usage: {@code OpenLoop URL [--rate=N] [--connections=64] [--seconds=10] [--warm-up=3]
 * [--pace=constant|poisson|closed] [--seed=1] [--json=FILE]}. The exit code is 1 when the client
 * was too slow for its figures to be the server's, 2 when a request failed.
 */
public final class OpenLoop {
  private static final List<String> OPTIONS =
      List.of("rate", "connections", "seconds", "warm-up", "pace", "seed", "json");

  private OpenLoop() {}

  public static void main(String[] args) throws Exception {
    Map<String, String> options = options(args);
    URI uri = URI.create(args[0]);
    String pace = options.getOrDefault("pace", "constant");
    double rate = Double.parseDouble(options.getOrDefault("rate", "1000"));
    long seed = Long.parseLong(options.getOrDefault("seed", "1"));
    PacedRun run;
    try (PacedClient client =
        new PacedClient(
            new InetSocketAddress(uri.getHost(), uri.getPort()),
            Integer.parseInt(options.getOrDefault("connections", "64")),
            seed)) {
      run =
          measure(
              client,
              uri,
              pace(pace, rate, seed),
              Double.parseDouble(options.getOrDefault("warm-up", "3")),
              Double.parseDouble(options.getOrDefault("seconds", "10")));
    }
    boolean closed = pace.equals("closed");
    print(run, closed ? run.achieved() : rate);
    if (options.containsKey("json")) {
      Files.writeString(
          Path.of(options.get("json")), run.json(closed ? run.achieved() : rate) + "\n");
    }
    System.exit(run.errors() > 0 ? 2 : !closed && !run.valid() ? 1 : 0);
  }

  /** One GET, again and again, at a pace. */
  static PacedRun measure(PacedClient client, URI uri, Pace pace, double warmUp, double seconds)
      throws IOException {
    String path = uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
    PacedRequest get = PacedRequest.get("get", uri.getAuthority(), path, 200);
    return client.run(
        pace,
        () -> get,
        (step, status, latency, counted) -> {},
        (long) (warmUp * 1e9),
        (long) (seconds * 1e9),
        5_000_000_000L);
  }

  private static Pace pace(String name, double rate, long seed) {
    return switch (name) {
      case "constant" -> Pace.constant(rate);
      case "poisson" -> Pace.poisson(rate, seed);
      case "closed" -> null;
      default ->
          throw new IllegalArgumentException(
              "--pace: " + name + " (expected: constant, poisson or closed)");
    };
  }

  private static Map<String, String> options(String[] args) {
    Map<String, String> options = new HashMap<>();
    for (int i = 1; i < args.length; i++) {
      int equals = args[i].indexOf('=');
      String name = equals < 3 ? args[i] : args[i].substring(2, equals);
      if (!OPTIONS.contains(name)) {
        throw new IllegalArgumentException(args[i] + " (expected: one of " + OPTIONS + ")");
      }
      options.put(name, args[i].substring(equals + 1));
    }
    return options;
  }

  private static void print(PacedRun run, double offered) {
    System.out.printf(
        Locale.ROOT,
        "offered %.0f/s, achieved %.0f/s, %d answers in %.1f s%n"
            + "latency from when due, ms: p50 %.3f  p90 %.3f  p99 %.3f  p99.9 %.3f  max %.3f%n"
            + "errors %d (wrong status %d, lost %d, unanswered %d), never sent %d%n"
            + "the client's own lag, ms: p50 %.3f  p99 %.3f  max %.3f; its thread used %.0f %% of a"
            + " core%n%s%n",
        offered,
        run.achieved(),
        run.answered,
        run.seconds(),
        run.millis(50),
        run.millis(90),
        run.millis(99),
        run.millis(99.9),
        run.latency.getMaxValue() / 1e6,
        run.errors(),
        run.wrongStatus,
        run.lost,
        run.unanswered,
        run.unsent,
        run.lagMillis(50),
        run.lagMillis(99),
        run.lag.getMaxValue() / 1e6,
        run.cpuShare * 100,
        run.valid()
            ? "valid: the client kept its times"
            : "INVALID: the client was late, these are not the server's figures");
  }
}
