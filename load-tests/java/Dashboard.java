import java.io.InputStream;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The processor time that viewers of the live feed cost an instance with many idle applications:
 * none, one, ten and none again in turn, in rounds. The mean of both times without a viewer is the
 * base, and their difference is the A/A. The threads of the JIT compilers are apart: their work
 * ends. The clients run in this process.
 *
 * <p>Usage: {@code Dashboard JAR WORK HANDLERS_JAR APPLICATIONS SECONDS ROUNDS}. The exit code is 0
 * if both costs are within their budgets.
 */
public final class Dashboard {
  private static final double MAX_ONE = 0.2; // percent of a core, of one idle page
  private static final double MAX_TEN = 0.5; // of ten viewers
  private static final int[] VIEWERS = {0, 1, 10, 0};
  private static final String TOPICS = "/api/v1/live?topics=overview";

  private Dashboard() {}

  public static void main(String[] args) throws Exception {
    Path jar = Path.of(args[0]);
    Path work = Path.of(args[1]);
    Path handlers = Path.of(args[2]).toAbsolutePath();
    int applications = Integer.parseInt(args[3]);
    int seconds = Integer.parseInt(args[4]);
    int rounds = Integer.parseInt(args[5]);
    Servers servers = new Servers(jar, work);
    double[] sums = new double[VIEWERS.length];
    try (EmptyServer server =
        new EmptyServer(servers, jar, work, "dashboard", List.of("-Xms64m", "-Xmx1g"))) {
      new ManyApplications.Fleet(server, applications, handlers).deploy();
      measure(server, 10, seconds); // compiles
      measure(server, 0, seconds);
      for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < VIEWERS.length; i++) {
          double percent = measure(server, VIEWERS[i], seconds);
          sums[i] += percent / rounds;
        }
      }
    }
    double none = (sums[0] + sums[3]) / 2;
    double one = sums[1] - none;
    double ten = sums[2] - none;
    System.out.printf(
        Locale.ROOT,
        "%d applications idle, %d rounds of %d s: without a viewer %.2f %% of a core (A/A %+.2f);"
            + " one viewer %+.2f %% (budget %.1f); ten viewers %+.2f %% (budget %.1f)%n",
        applications, rounds, seconds, none, sums[3] - sums[0], one, MAX_ONE, ten, MAX_TEN);
    System.exit(one <= MAX_ONE && ten <= MAX_TEN ? 0 : 1);
  }

  /** Returns the processor time with so many viewers, in percent of a core. */
  private static double measure(EmptyServer server, int viewers, int seconds) throws Exception {
    AtomicLong bytes = new AtomicLong();
    List<InputStream> feeds = new ArrayList<>();
    HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    for (int i = 0; i < viewers; i++) {
      HttpRequest request = HttpRequest.newBuilder(server.admin.resolve(TOPICS)).build();
      InputStream feed = http.send(request, HttpResponse.BodyHandlers.ofInputStream()).body();
      feeds.add(feed);
      Thread reader = new Thread(() -> read(feed, bytes));
      reader.setDaemon(true);
      reader.start();
    }
    TimeUnit.SECONDS.sleep(5); // after the snapshots
    long before = bytes.get();
    CpuTime cpu = CpuTime.of(List.of(server.process));
    TimeUnit.SECONDS.sleep(seconds);
    CpuTime after = CpuTime.of(List.of(server.process));
    double percent = after.microsSince(cpu) / 1e4 / seconds;
    System.out.printf(
        Locale.ROOT,
        "  %d viewers: %.2f %% of a core, JIT %.2f %% more, %d bytes of events%n",
        viewers,
        percent,
        after.compilerMicrosSince(cpu) / 1e4 / seconds,
        bytes.get() - before);
    for (InputStream feed : feeds) {
      feed.close();
    }
    return percent;
  }

  private static void read(InputStream feed, AtomicLong bytes) {
    byte[] buffer = new byte[1 << 16];
    try {
      for (int count = feed.read(buffer); count >= 0; count = feed.read(buffer)) {
        bytes.addAndGet(count);
      }
    } catch (java.io.IOException closed) {
      // the measurement has ended
    }
  }
}
