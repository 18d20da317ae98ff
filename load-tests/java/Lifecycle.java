import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/**
 * Changes what is served while requests come at half of its capacity, and counts what was lost.
 *
 * <p>Usage: {@code Lifecycle JAR WORK HANDLERS_JAR SECONDS}. The exit code is 0 when each change
 * came true in its time and no request was lost, but for those of the killed replica's own handler.
 */
public final class Lifecycle {
  private static final double WAIT_SECONDS = 0.020; // of the handler, on a timer
  private static final int SLOTS = 10; // of a replica
  private static final double MOST_CPU = 70; // percent of all cores

  private final EmptyServer server;
  private final Path handlers;
  private final double seconds;
  private int failures;
  private int version = 1;

  private Lifecycle(EmptyServer server, Path handlers, double seconds) {
    this.server = server;
    this.handlers = handlers;
    this.seconds = seconds;
  }

  /** Something to be done under load. */
  private interface Change {
    void run() throws IOException, InterruptedException;
  }

  public static void main(String[] args) throws Exception {
    Path work = Path.of(args[1]);
    Servers servers = new Servers(Path.of(args[0]), work);
    try (EmptyServer server =
        new EmptyServer(
            servers, Path.of(args[0]), work, "lifecycle", List.of("-Xms256m", "-Xmx256m"))) {
      Lifecycle all =
          new Lifecycle(server, Path.of(args[2]).toAbsolutePath(), Double.parseDouble(args[3]));
      all.run();
      System.out.println(
          all.failures == 0 ? "all held" : all.failures + " did not hold; log: " + server.log);
      System.exit(all.failures == 0 ? 0 : 1);
    }
  }

  private void run() throws Exception {
    System.out.printf(
        "%-34s %6s %8s %6s %6s %7s %7s %7s %6s %9s %8s  %s%n",
        "change",
        "req/s",
        "answered",
        "lost",
        "5xx",
        "p50 ms",
        "p99 ms",
        "max ms",
        "CPU %",
        "replicas",
        "after s",
        "");
    deploy(4, next(), null, null);
    awaitRunning(4);
    warmUp();
    scenario("nothing", 4, 4, 4, 0, () -> {});
    scenario("rolling update of 4", 4, 4, 5, 0, () -> update(4));
    scenario(
        "user_config",
        4,
        4,
        4,
        0,
        () -> {
          deploy(4, current(), new JsonObject().put("setting", "a"), null);
          awaitAnswer(version + " a");
        });
    scenario(
        "max_ongoing_requests up and down",
        4,
        4,
        4,
        0,
        () -> {
          deploy(4, current(), new JsonObject().put("setting", "a"), 20);
          awaitConfig("max_ongoing_requests", 20);
          deploy(4, current(), new JsonObject().put("setting", "a"), 8);
          awaitConfig("max_ongoing_requests", 8);
          deploy(4, current(), null, null);
          awaitRunning(4);
        });
    scenario(
        "a version that does not start",
        4,
        4,
        5,
        0,
        () -> {
          deploy(4, next().put("start", "fail"), null, null);
          awaitStatus("DEPLOY_FAILED");
          awaitAnswer((version - 1) + " ");
          rollback();
        });
    scenario(
        "a version that becomes unhealthy",
        4,
        4,
        5,
        0,
        () -> {
          deploy(4, next().put("sick_after_ms", 400), null, null);
          awaitStatus("DEPLOY_FAILED");
          rollback();
        });
    scenario("controller restart", 4, 4, 4, 0, this::restartController);
    scenario("kill of a replica", 4, 3, 5, SLOTS, this::kill);
    deploy(1, next(), null, null);
    awaitRunning(1);
    scenario("rolling update of 1", 1, 1, 2, 0, () -> update(1));
    scenario(
        "scale 1, 8, 2",
        1,
        1,
        8,
        0,
        () -> {
          scale(8);
          awaitRunning(8);
          scale(2);
          awaitRunning(2);
        });
  }

  // --- under load ---

  /** A JVM that has compiled what it runs often. */
  private void warmUp() throws IOException {
    try (PacedClient client = client()) {
      OpenLoop.measure(client, uri(), Pace.constant(500), 0, 6);
    }
  }

  private PacedClient client() throws IOException {
    return new PacedClient(new InetSocketAddress("127.0.0.1", server.port), 64, 1, false);
  }

  private java.net.URI uri() {
    return java.net.URI.create("http://127.0.0.1:" + server.port + "/flow");
  }

  /**
   * @param capacity replicas whose slots the load fills by half
   * @param least replicas that must run at every look
   * @param most replicas that may be there, those that stop left out
   * @param allowed requests that may be lost
   */
  private void scenario(String name, int capacity, int least, int most, int allowed, Change change)
      throws Exception {
    double rate = capacity * SLOTS / WAIT_SECONDS / 2;
    long cpuBefore = ProcessFigures.machineCpuMicros();
    long begun = System.nanoTime();
    Watch watch = new Watch();
    CompletableFuture<Double> changed =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                TimeUnit.SECONDS.sleep(1);
                long from = System.nanoTime();
                change.run();
                return (System.nanoTime() - from) / 1e9;
              } catch (IOException | InterruptedException failed) {
                throw new CompletionException(failed);
              }
            });
    PacedRun run;
    try (PacedClient client = client()) {
      run = OpenLoop.measure(client, uri(), Pace.constant(rate), 0, seconds);
    }
    boolean inTime = changed.isDone();
    String problem = "";
    double took = 0;
    try {
      took = changed.get(60, TimeUnit.SECONDS);
    } catch (java.util.concurrent.ExecutionException failed) {
      problem = String.valueOf(failed.getCause().getMessage());
    }
    watch.stop();
    double cpu =
        100.0
            * (ProcessFigures.machineCpuMicros() - cpuBefore)
            / ((System.nanoTime() - begun) / 1e3)
            / Runtime.getRuntime().availableProcessors();
    long lost = run.lost + run.unanswered + run.unsent;
    if (problem.isEmpty() && !inTime) {
      problem = "not done before the load ended";
    } else if (problem.isEmpty() && lost + run.wrongStatus > allowed) {
      problem = "requests were lost";
    } else if (problem.isEmpty() && watch.least < least) {
      problem = "fewer than " + least + " replicas ran";
    } else if (problem.isEmpty() && watch.most > most) {
      problem = "more than " + most + " replicas were there";
    } else if (problem.isEmpty() && cpu > MOST_CPU) {
      problem = "the machine was too busy to judge by";
    }
    failures += problem.isEmpty() ? 0 : 1;
    System.out.printf(
        Locale.ROOT,
        "%-34s %6.0f %8d %6d %6d %7.1f %7.1f %7.1f %6.1f %5d..%-2d %8.2f  %s%n",
        name,
        rate,
        run.answered,
        lost,
        run.wrongStatus,
        run.millis(50),
        run.millis(99),
        run.latency.getMaxValue() / 1e6,
        cpu,
        watch.least,
        watch.most,
        took,
        problem.isEmpty() ? "ok" : "FAILED: " + problem);
  }

  /** Counts the replicas five times a second. */
  private final class Watch {
    volatile int least = Integer.MAX_VALUE;
    volatile int most;
    private volatile boolean over;
    private final Thread thread = new Thread(this::look, "watch");

    Watch() {
      thread.setDaemon(true);
      thread.start();
    }

    private void look() {
      try {
        while (!over) {
          int running = count("RUNNING", "UPDATING");
          least = Math.min(least, running);
          most = Math.max(most, running + count("STARTING", "RECOVERING"));
          TimeUnit.MILLISECONDS.sleep(200);
        }
      } catch (IOException | InterruptedException failed) {
        System.out.println("watch: " + failed);
        least = -1;
      }
    }

    void stop() throws InterruptedException {
      over = true;
      thread.join();
    }
  }

  private int count(String... states) throws IOException, InterruptedException {
    int found = 0;
    for (Object replica : deployment(server.applications()).getJsonArray("replicas")) {
      found += List.of(states).contains(((JsonObject) replica).getString("state")) ? 1 : 0;
    }
    return found;
  }

  // --- changes ---

  private JsonObject next() {
    version++;
    return current();
  }

  private JsonObject current() {
    return new JsonObject().put("version", String.valueOf(version));
  }

  private void deploy(int replicas, JsonObject args, JsonObject userConfig, Integer slots)
      throws IOException, InterruptedException {
    JsonObject deployment =
        new JsonObject()
            .put("name", FlowApp.DEPLOYMENT)
            .put("num_replicas", replicas)
            .put("health_check_period_s", 0.2)
            .put("rolling_update_percentage", 0.5);
    if (userConfig != null) {
      deployment.put("user_config", userConfig);
    }
    if (slots != null) {
      deployment.put("max_ongoing_requests", slots);
    }
    server.put(
        new JsonArray()
            .add(application(handlers, args, deployment).put("external_scaler_enabled", true)));
  }

  /** What is declared of the application under load. */
  static JsonObject application(Path handlers, JsonObject args, JsonObject deployment) {
    return new JsonObject()
        .put("name", "flow")
        .put("route_prefix", "/flow")
        .put("import_path", "FlowApp:build")
        .put("runtime_env", new JsonObject().put("jars", new JsonArray().add(handlers.toString())))
        .put("args", args)
        .put("deployments", new JsonArray().add(deployment));
  }

  private void update(int replicas) throws IOException, InterruptedException {
    deploy(replicas, next(), null, null);
    awaitRunning(replicas);
    awaitAnswer(version + " ");
  }

  private void rollback() throws IOException, InterruptedException {
    server.post("/api/v1/applications/flow/rollback", new JsonObject());
    awaitRunning(4);
  }

  private void scale(int replicas) throws IOException, InterruptedException {
    server.post(
        "/api/v1/applications/flow/deployments/" + FlowApp.DEPLOYMENT + "/scale",
        new JsonObject().put("target_num_replicas", replicas));
  }

  private void restartController() throws IOException, InterruptedException {
    JsonArray before = replicaIds();
    long term = server.details().getLong("term");
    server.post("/api/v1/controller/restart", new JsonObject());
    server.await("RUNNING again", Duration.ofSeconds(20), all -> "RUNNING".equals(status(all)));
    if (server.details().getLong("term") <= term) {
      throw new IOException("the controller was not restarted");
    }
    if (!replicaIds().equals(before)) {
      throw new IOException("replicas: " + replicaIds() + " (expected: as before, " + before + ")");
    }
  }

  private JsonArray replicaIds() throws IOException, InterruptedException {
    JsonArray ids = new JsonArray();
    for (Object each : deployment(server.applications()).getJsonArray("replicas")) {
      ids.add(((JsonObject) each).getString("replica_id"));
    }
    return ids;
  }

  private void kill() throws IOException, InterruptedException {
    String id = replicaIds().getString(0);
    server.delete(
        "/api/v1/applications/flow/deployments/"
            + FlowApp.DEPLOYMENT
            + "/replicas/"
            + java.net.URLEncoder.encode(id, java.nio.charset.StandardCharsets.UTF_8));
    awaitRunning(4);
    if (replicaIds().contains(id)) {
      throw new IOException(id + ": still there");
    }
  }

  // --- what came of them ---

  private static JsonObject deployment(JsonObject applications) {
    JsonObject none = new JsonObject().put("replicas", new JsonArray());
    JsonObject application = applications.getJsonObject("flow");
    return application == null
        ? none
        : application.getJsonObject("deployments").getJsonObject(FlowApp.DEPLOYMENT, none);
  }

  private static String status(JsonObject applications) {
    JsonObject application = applications.getJsonObject("flow");
    return application == null ? "" : application.getString("status");
  }

  private void awaitStatus(String status) throws IOException, InterruptedException {
    server.await(status, Duration.ofSeconds(60), all -> status.equals(status(all)));
  }

  private void awaitRunning(int replicas) throws IOException, InterruptedException {
    server.await(
        replicas + " RUNNING",
        Duration.ofSeconds(60),
        all -> {
          JsonArray there = deployment(all).getJsonArray("replicas");
          return "RUNNING".equals(status(all))
              && "HEALTHY".equals(deployment(all).getString("status"))
              && there.size() == replicas
              && there.stream()
                  .allMatch(each -> "RUNNING".equals(((JsonObject) each).getString("state")));
        });
  }

  private void awaitConfig(String key, int value) throws IOException, InterruptedException {
    server.await(
        key + ": " + value,
        Duration.ofSeconds(30),
        all ->
            "HEALTHY".equals(deployment(all).getString("status"))
                && value == deployment(all).getJsonObject("deployment_config").getInteger(key, -1));
  }

  /** Sixteen answers in a row are as wanted: every replica is asked. */
  private void awaitAnswer(String wanted) throws IOException, InterruptedException {
    int right = 0;
    for (int asked = 0; asked < 400 && right < 16; asked++) {
      HttpResponse<String> answer = server.ask("/flow");
      right = answer.body().equals(wanted) ? right + 1 : 0;
    }
    if (right < 16) {
      throw new IOException("answer: not always \"" + wanted + '"');
    }
  }
}
