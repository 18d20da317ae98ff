import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * Many applications of two deployments each on one instance: how long until all are healthy, what
 * they cost when nothing happens, and whether changing one of them costs more than among few.
 *
 * <p>Usage: {@code ManyApplications JAR WORK HANDLERS_JAR MANY FEW}. The exit code is 0 when the
 * idle control loop stays within its budget and the changes cost the same within their spread.
 */
public final class ManyApplications {
  private static final double MOST_IDLE_CPU = 2; // percent of a core, of the control loop
  private static final int ROUNDS = 15;
  private static final int CHANGES = 10; // of a round
  private static final int IDLE_SECONDS = 20;
  private static final Duration HEALTHY_LIMIT = Duration.ofSeconds(180);

  private ManyApplications() {}

  /** An instance with so many applications. */
  record Fleet(EmptyServer server, int applications, Path handlers) {
    JsonObject entry(int index, int version) {
      return new JsonObject()
          .put("name", "app" + index)
          .put("route_prefix", "/app" + index)
          .put("import_path", "FlowApp:pair")
          .put(
              "runtime_env", new JsonObject().put("jars", new JsonArray().add(handlers.toString())))
          .put("args", new JsonObject().put("version", String.valueOf(version)));
    }

    /** Declares them all at once; the seconds until all are healthy. */
    double deploy() throws IOException, InterruptedException {
      JsonArray all = new JsonArray();
      for (int i = 0; i < applications; i++) {
        all.add(entry(i, 1));
      }
      long begun = System.nanoTime();
      server.put(all);
      System.out.printf(
          Locale.ROOT, "  accepted after %.2f s%n", (System.nanoTime() - begun) / 1e9);
      server.await(
          "all RUNNING",
          HEALTHY_LIMIT,
          seen ->
              seen.size() == applications
                  && seen.stream()
                      .allMatch(
                          each ->
                              "RUNNING"
                                  .equals(((JsonObject) each.getValue()).getString("status"))));
      return (System.nanoTime() - begun) / 1e9;
    }

    /** Deploys one anew, again and again, until its new version answers; ms each. */
    double[] change(int round) throws IOException, InterruptedException {
      double[] millis = new double[CHANGES];
      long cpuBefore = ProcessFigures.cpuMicros(server.process.pid());
      for (int i = 0; i < CHANGES; i++) {
        int index = (round * CHANGES + i) % applications;
        int version = 2 + round * CHANGES + i;
        long begun = System.nanoTime();
        server.putOne("app" + index, entry(index, version));
        String wanted = version + " ";
        while (!server.ask("/app" + index).body().equals(wanted)) {
          if (System.nanoTime() - begun > 20e9) {
            throw new IOException("app" + index + ": version " + version + " does not answer");
          }
          TimeUnit.MILLISECONDS.sleep(1);
        }
        millis[i] = (System.nanoTime() - begun) / 1e6;
      }
      long cpu = ProcessFigures.cpuMicros(server.process.pid()) - cpuBefore;
      return new double[] {median(millis), cpu / 1e3 / CHANGES};
    }
  }

  public static void main(String[] args) throws Exception {
    Path jar = Path.of(args[0]);
    Path work = Path.of(args[1]);
    Path handlers = Path.of(args[2]).toAbsolutePath();
    Servers servers = new Servers(jar, work);
    List<String> jvm = List.of("-Xms64m", "-Xmx1g");
    boolean held;
    try (EmptyServer large = new EmptyServer(servers, jar, work, "many", jvm);
        EmptyServer small = new EmptyServer(servers, jar, work, "few", jvm)) {
      Fleet many = new Fleet(large, Integer.parseInt(args[3]), handlers);
      Fleet few = new Fleet(small, Integer.parseInt(args[4]), handlers);
      long empty = ProcessFigures.residentKib(large.process.pid());
      System.out.printf("%d applications of 2 deployments in one PUT%n", many.applications());
      System.out.printf(Locale.ROOT, "  all healthy after %.2f s%n", many.deploy());
      System.out.printf("%d applications of 2 deployments in one PUT%n", few.applications());
      System.out.printf(Locale.ROOT, "  all healthy after %.2f s%n", few.deploy());
      held = idle(many, empty);
      idle(few, empty);
      held &= compare(many, few);
    }
    System.exit(held ? 0 : 1);
  }

  private static boolean idle(Fleet fleet, long emptyKib) throws Exception {
    long pid = fleet.server().process.pid();
    TimeUnit.SECONDS.sleep(5); // what was started together settles
    long control = controlMicros(pid);
    long whole = ProcessFigures.cpuMicros(pid);
    TimeUnit.SECONDS.sleep(IDLE_SECONDS);
    double controlPercent = (controlMicros(pid) - control) / 1e4 / IDLE_SECONDS;
    double wholePercent = (ProcessFigures.cpuMicros(pid) - whole) / 1e4 / IDLE_SECONDS;
    boolean held = controlPercent <= MOST_IDLE_CPU;
    System.out.printf(
        Locale.ROOT,
        "%d applications idle: control loop %.2f %% of a core (budget %.0f) %s; the whole process"
            + " %.2f %%; RSS %d KiB, %d with none%n",
        fleet.applications(),
        controlPercent,
        MOST_IDLE_CPU,
        held ? "ok" : "MISSED",
        wholePercent,
        ProcessFigures.residentKib(pid),
        emptyKib);
    return held;
  }

  /** Processor time of the thread of the control loop, from what the kernel says of threads. */
  private static long controlMicros(long pid) throws IOException {
    long nanos = -1;
    try (DirectoryStream<Path> tasks =
        Files.newDirectoryStream(Path.of("/proc/" + pid + "/task"))) {
      for (Path task : tasks) {
        if (Files.readString(task.resolve("comm")).contains("control")) {
          nanos =
              Math.max(0, nanos)
                  + Long.parseLong(Files.readString(task.resolve("schedstat")).split(" ")[0]);
        }
      }
    }
    if (nanos < 0) {
      throw new IOException("no thread named control");
    }
    return nanos / 1_000;
  }

  private static boolean compare(Fleet many, Fleet few) throws Exception {
    few.change(ROUNDS + 1); // compiles
    many.change(ROUNDS + 1);
    double[] time = new double[ROUNDS];
    double[] cpu = new double[ROUNDS];
    double[] timeAgain = new double[ROUNDS];
    double[] cpuAgain = new double[ROUNDS];
    double[] millis = new double[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
      double[] a = few.change(round);
      double[] b = many.change(round);
      double[] again = few.change(round + ROUNDS);
      millis[round] = b[0];
      time[round] = b[0] / a[0];
      cpu[round] = b[1] / a[1];
      timeAgain[round] = again[0] / a[0];
      cpuAgain[round] = again[1] / a[1];
    }
    double spread = Math.max(1.1, range(cpuAgain));
    boolean held = median(cpu) <= spread;
    System.out.printf(
        Locale.ROOT,
        "changing one of %d and of %d, %d rounds of %d: until the new version answers %.1f ms,"
            + " %.2fx (A/A %.2fx); CPU %.2fx (A/A %.2fx, %.2f at most) %s%n",
        many.applications(),
        few.applications(),
        ROUNDS,
        CHANGES,
        median(millis),
        median(time),
        median(timeAgain),
        median(cpu),
        median(cpuAgain),
        range(cpuAgain),
        held ? "equal" : "NOT EQUAL");
    return held;
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** The largest of the middle three quarters: what a same thing may come to. */
  private static double range(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length * 7 / 8];
  }
}
