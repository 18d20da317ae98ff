import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** wrk, with one thread: HTTP/1.1, one request on each connection after the other. */
final class Wrk {
  private static final Pattern REQUESTS =
      Pattern.compile("(\\d+) requests in ([0-9.]+)(us|ms|s|m)");
  private static final Pattern ERRORS =
      Pattern.compile("Non-2xx or 3xx responses: \\d+|Socket errors: .*");
  private static final String PERCENTILE = "\\s%s%%\\s+([0-9.]+)(us|ms|s|m)";

  /**
   * What it saw.
   *
   * @param requests answered, each with 2xx
   * @param seconds it took
   * @param p50Micros half of the answers took no longer
   * @param p99Micros 99 of 100 took no longer
   */
  record Load(long requests, double seconds, double p50Micros, double p99Micros) {}

  private Wrk() {}

  /** Fails when one answer is not 2xx, or a connection fails. */
  static Load run(URI uri, int connections, int seconds) throws IOException, InterruptedException {
    String output =
        ClientProcess.output(
            List.of(
                "wrk",
                "-t1",
                "-c" + connections,
                "-d" + seconds + "s",
                "--timeout",
                "10s",
                "--latency",
                uri.toString()));
    Matcher requests = REQUESTS.matcher(output);
    if (ERRORS.matcher(output).find() || !requests.find()) {
      throw new IOException("wrk says:\n" + output);
    }
    return new Load(
        Long.parseLong(requests.group(1)),
        micros(requests.group(2), requests.group(3)) / 1e6,
        percentile(output, "50"),
        percentile(output, "99"));
  }

  private static double percentile(String output, String percent) throws IOException {
    Matcher found = Pattern.compile(PERCENTILE.formatted(percent)).matcher(output);
    if (!found.find()) {
      throw new IOException("wrk tells no " + percent + " %:\n" + output);
    }
    return micros(found.group(1), found.group(2));
  }

  private static double micros(String number, String unit) {
    double value = Double.parseDouble(number);
    return switch (unit) {
      case "us" -> value;
      case "ms" -> value * 1e3;
      case "s" -> value * 1e6;
      default -> value * 60e6;
    };
  }
}
