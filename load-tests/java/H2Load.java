import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * h2load, with one thread and eight requests at a time on each connection. It prints no
 * percentiles: they come from its log, a line for each answer.
 */
record H2Load(Path work) implements Load.Client {
  private static final int STREAMS = 8;
  private static final Pattern REQUESTS =
      Pattern.compile(
          "requests: \\d+ total, \\d+ started, (\\d+) done, (\\d+) succeeded, 0 failed, 0 errored,"
              + " 0 timeout");
  private static final Pattern STATUSES =
      Pattern.compile("status codes: (\\d+) 2xx, 0 3xx, 0 4xx, 0 5xx");

  /** {@code connections} are requests at a time, as with wrk: an eighth as many connections. */
  @Override
  public Load run(URI uri, int connections, int seconds) throws IOException, InterruptedException {
    Path log = work.resolve("h2load.log");
    Files.deleteIfExists(log);
    String output =
        ClientProcess.output(
            List.of(
                "h2load",
                "-t1",
                "-c" + Math.max(1, connections / STREAMS),
                "-m" + Math.min(connections, STREAMS),
                "-D" + seconds,
                "--log-file=" + log,
                uri.toString()));
    Matcher requests = REQUESTS.matcher(output);
    Matcher statuses = STATUSES.matcher(output);
    if (!requests.find()
        || !statuses.find()
        || !requests.group(1).equals(requests.group(2))
        || !requests.group(1).equals(statuses.group(1))) {
      throw new IOException("h2load says:\n" + output);
    }
    long[] micros = micros(log);
    Files.delete(log);
    // What it waits for the last answers after its time is not counted by it, and not here.
    return new Load(Long.parseLong(requests.group(1)), seconds, at(micros, 0.50), at(micros, 0.99));
  }

  @Override
  public String protocol() {
    return "HTTP/2";
  }

  private static double at(long[] sorted, double share) {
    return sorted.length == 0
        ? 0
        : sorted[(int) Math.min(sorted.length - 1, Math.round(share * sorted.length))];
  }

  /** Of each line {@code start, status, microseconds}, the last; sorted. */
  private static long[] micros(Path log) throws IOException {
    long[] micros = new long[1 << 16];
    int count = 0;
    try (BufferedReader lines = Files.newBufferedReader(log)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (count == micros.length) {
          micros = Arrays.copyOf(micros, 2 * count);
        }
        micros[count++] = Long.parseLong(line.substring(line.lastIndexOf('\t') + 1));
      }
    }
    long[] sorted = Arrays.copyOf(micros, count);
    Arrays.sort(sorted);
    return sorted;
  }
}
