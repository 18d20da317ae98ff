import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * A deployment that follows its load, under an open loop that doubles, falls, or stops and comes
 * back; as it is, with a rolling update in the middle and with a controller that starts anew.
 *
 * <p>Usage: {@code Autoscale JAR WORK HANDLERS_JAR}. The exit code is 0 when the number of replicas
 * followed in its time and no request was lost.
 */
public final class Autoscale {
  private static final int WAIT_MILLIS = 180; // of the handler, on a timer
  private static final int TARGET = 2; // requests of a replica
  private static final double UP_S = 2; // upscale_delay_s
  private static final double DOWN_S = 5; // downscale_delay_s
  private static final double LOOK_BACK_S = 2;
  private static final double PUSH_S = 1; // the default between two reports
  private static final int START_MILLIS = 1500; // of a replica
  private static final double START_S = START_MILLIS / 1e3 + 1; // with who looks
  private static final double AGAIN_S = 6; // what a change in the middle may cost
  private static final int LOW = 20; // requests a second
  private static final int HIGH = 40;

  private final EmptyServer server;
  private final Path handlers;
  private int failures;
  private int version = 1;

  private Autoscale(EmptyServer server, Path handlers) {
    this.server = server;
    this.handlers = handlers;
  }

  /** What is done in the middle. */
  private enum Middle {
    NOTHING(""),
    UPDATE(", rolling update"),
    RESTART(", controller restart");

    final String name;

    Middle(String name) {
      this.name = name;
    }
  }

  /** So many requests a second for so many seconds. */
  private record Phase(int rate, double seconds) {}

  public static void main(String[] args) throws Exception {
    Path jar = Path.of(args[0]);
    Path work = Path.of(args[1]);
    try (EmptyServer server =
        new EmptyServer(
            new Servers(jar, work), jar, work, "autoscale", List.of("-Xms256m", "-Xmx256m"))) {
      Autoscale all = new Autoscale(server, Path.of(args[2]).toAbsolutePath());
      Path seen = work.resolve("autoscale-status.log");
      Process status =
          new Servers(jar, work)
              .launch(
                  List.of(
                      Servers.java(),
                      "-jar",
                      jar.toString(),
                      "status",
                      "flow",
                      "--watch",
                      "--address",
                      server.admin.toString()),
                  seen);
      try {
        all.run();
      } finally {
        status.destroy();
      }
      all.shown(Files.readString(seen));
      System.out.println(
          all.failures == 0 ? "all held" : all.failures + " did not hold; log: " + server.log);
      System.exit(all.failures == 0 ? 0 : 1);
    }
  }

  private void run() throws Exception {
    System.out.printf(
        "%-36s %8s %6s %6s %7s %7s %7s %9s %8s %8s  %s%n",
        "load",
        "answered",
        "lost",
        "5xx",
        "p50 ms",
        "p99 ms",
        "max ms",
        "replicas",
        "after s",
        "limit s",
        "");
    int low = replicas(LOW);
    int high = replicas(HIGH);
    for (Middle middle : Middle.values()) {
      double again = middle == Middle.NOTHING ? 0 : AGAIN_S;
      deploy(1, 1);
      // What is wanted at the delay's end is wanted for the whole look-back by then.
      scenario(
          "doubles" + middle.name,
          List.of(new Phase(LOW, 10), new Phase(HIGH, 14)),
          low,
          high,
          UP_S,
          PUSH_S + UP_S + START_S + again,
          middle);
      scenario(
          "falls" + middle.name,
          List.of(new Phase(HIGH, 8), new Phase(LOW / 4, 18)),
          high,
          1,
          DOWN_S,
          PUSH_S + LOOK_BACK_S + DOWN_S + START_S + again,
          middle);
      deploy(0, 1);
      scenario(
          "stops" + middle.name,
          List.of(new Phase(HIGH, 6), new Phase(0, 24)),
          high,
          0,
          2 * DOWN_S,
          PUSH_S + LOOK_BACK_S + 2 * DOWN_S + START_S + again,
          middle);
      scenario(
          "comes back" + middle.name,
          List.of(new Phase(0, 1), new Phase(HIGH, 12)),
          0,
          1,
          0,
          START_S,
          middle);
    }
  }

  /** By Little's law. */
  private static int replicas(int rate) {
    return (int) Math.ceil(rate * WAIT_MILLIS / 1e3 / TARGET);
  }

  // --- under load ---

  /**
   * @param before replicas that must run when the last phase begins
   * @param after at most as many when fewer are to be, else at least
   * @param least seconds of the last phase before which they must not
   * @param most seconds of it within which they must
   */
  private void scenario(
      String name,
      List<Phase> phases,
      int before,
      int after,
      double least,
      double most,
      Middle middle)
      throws Exception {
    double last = phases.get(0).seconds;
    Watch watch = new Watch();
    CompletableFuture<Void> change = CompletableFuture.runAsync(() -> change(middle, last));
    PacedRun run;
    try (PacedClient client =
        new PacedClient(new InetSocketAddress("127.0.0.1", server.port), 128, 1, false)) {
      URI uri = URI.create("http://127.0.0.1:" + server.port + "/flow");
      run = OpenLoop.measure(client, uri, pace(phases), 0, last + phases.get(1).seconds);
    }
    double rest = last + phases.get(1).seconds - watch.seconds();
    TimeUnit.MILLISECONDS.sleep((long) Math.max(0, rest * 1e3)); // a load of none ends at once
    change.get(30, TimeUnit.SECONDS);
    List<Look> looks = watch.stop();
    boolean fewer = after < before;
    Look then =
        looks.stream().filter(look -> look.seconds < last).reduce((a, b) -> b).orElseThrow();
    Predicate<Look> met = look -> fewer ? look.target <= after : look.running >= after;
    double took =
        looks.stream()
            .filter(look -> look.seconds >= last && met.test(look))
            .mapToDouble(look -> look.seconds - last)
            .findFirst()
            .orElse(Double.POSITIVE_INFINITY);
    long lost = run.lost + run.unanswered + run.unsent;
    String problem = "";
    if (lost + run.wrongStatus > 0) {
      problem = "requests were lost";
    } else if (then.running != before) {
      problem = then.running + " replicas ran before (expected: " + before + ")";
    } else if (took < least - 0.2 || took > most) {
      problem = "not in time";
    } else if (!met.test(looks.get(looks.size() - 1))) {
      problem = "it did not stay so";
    }
    failures += problem.isEmpty() ? 0 : 1;
    System.out.printf(
        Locale.ROOT,
        "%-36s %8d %6d %6d %7.1f %7.1f %7.1f %9s %8.2f %8.2f  %s%n",
        name,
        run.answered,
        lost,
        run.wrongStatus,
        run.millis(50),
        run.millis(99),
        run.latency.getMaxValue() / 1e6,
        then.running + " to " + looks.get(looks.size() - 1).running,
        took,
        most,
        problem.isEmpty() ? "ok" : "FAILED: " + problem + history(looks));
  }

  private static Pace pace(List<Phase> phases) {
    Phase first = phases.get(0);
    Phase second = phases.get(1);
    long firstCount = Math.round(first.rate * first.seconds);
    long[] sent = new long[1];
    return () -> {
      long i = sent[0]++;
      double at =
          i < firstCount
              ? (double) i / first.rate
              : first.seconds + (second.rate == 0 ? 1e6 : (double) (i - firstCount) / second.rate);
      return (long) (at * 1e9);
    };
  }

  /** One look at the deployment, so many seconds after the begin. */
  private record Look(double seconds, int target, int running, String status) {}

  private static String history(List<Look> looks) {
    StringBuilder text = new StringBuilder();
    String before = "";
    for (Look look : looks) {
      String now = look.running + "/" + look.target + " " + look.status;
      if (!now.equals(before)) {
        text.append(String.format(Locale.ROOT, "%n    %6.2f s: %s", look.seconds, now));
      }
      before = now;
    }
    return text.toString();
  }

  /** Looks ten times a second. */
  private final class Watch {
    private final long begun = System.nanoTime();
    private final List<Look> looks = new ArrayList<>();
    private volatile boolean over;
    private volatile IOException failure;
    private final Thread thread = new Thread(this::look, "watch");

    Watch() {
      thread.setDaemon(true);
      thread.start();
    }

    double seconds() {
      return (System.nanoTime() - begun) / 1e9;
    }

    private void look() {
      try {
        while (!over) {
          JsonObject seen = deployment();
          int running = 0;
          for (Object replica : seen.getJsonArray("replicas")) {
            String state = ((JsonObject) replica).getString("state");
            running += Set.of("RUNNING", "UPDATING").contains(state) ? 1 : 0;
          }
          looks.add(
              new Look(
                  seconds(),
                  seen.getInteger("target_num_replicas"),
                  running,
                  seen.getString("status") + " " + seen.getString("status_trigger")));
          TimeUnit.MILLISECONDS.sleep(100);
        }
      } catch (IOException failed) {
        failure = failed;
      } catch (InterruptedException interrupted) {
        failure = new IOException(interrupted);
      }
    }

    List<Look> stop() throws IOException, InterruptedException {
      over = true;
      thread.join();
      if (failure != null) {
        throw failure;
      }
      return looks;
    }
  }

  private JsonObject deployment() throws IOException, InterruptedException {
    return server
        .applications()
        .getJsonObject("flow")
        .getJsonObject("deployments")
        .getJsonObject(FlowApp.DEPLOYMENT);
  }

  // --- changes ---

  /** In the middle of what the second phase asks for. */
  private void change(Middle middle, double last) {
    try {
      TimeUnit.MILLISECONDS.sleep((long) (last * 1e3) + 300);
      if (middle == Middle.UPDATE) {
        version++;
        declare(least);
      } else if (middle == Middle.RESTART) {
        server.post("/api/v1/controller/restart", new JsonObject());
      }
    } catch (IOException | InterruptedException failed) {
      throw new CompletionException(failed);
    }
  }

  private int least;

  private void deploy(int min, int replicas) throws IOException, InterruptedException {
    least = min;
    declare(min);
    server.await(
        replicas + " RUNNING",
        java.time.Duration.ofSeconds(60),
        all -> "RUNNING".equals(all.getJsonObject("flow").getString("status")));
  }

  private void declare(int min) throws IOException, InterruptedException {
    JsonObject autoscaling =
        new JsonObject()
            .put("min_replicas", min)
            .put("max_replicas", 8)
            .put("target_ongoing_requests", TARGET)
            .put("look_back_period_s", LOOK_BACK_S)
            .put("upscale_delay_s", UP_S)
            .put("downscale_delay_s", DOWN_S);
    JsonObject deployment =
        new JsonObject()
            .put("name", FlowApp.DEPLOYMENT)
            .put("autoscaling_config", autoscaling)
            .put("rolling_update_percentage", 0.5);
    JsonObject args =
        new JsonObject()
            .put("version", String.valueOf(version))
            .put("wait_ms", WAIT_MILLIS)
            .put("start_ms", START_MILLIS);
    server.put(new JsonArray().add(Lifecycle.application(handlers, args, deployment)));
  }

  /** {@code berth status --watch}, from the begin to the end. */
  private void shown(String status) {
    Set<String> missing = new TreeSet<>();
    for (String wanted : List.of("UPSCALING", "UPDATING", "4/4", "2/2", "1/1", "0/0")) {
      if (!status.contains(wanted)) {
        missing.add(wanted);
      }
    }
    failures += missing.isEmpty() ? 0 : 1;
    System.out.println(
        "berth status --watch: " + (missing.isEmpty() ? "ok" : "FAILED: never told " + missing));
  }
}
