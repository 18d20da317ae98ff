import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Cost of servers without requests. All of them are up at the same time, each kind twice for its
 * A/A; their run time is read once for each slice. The size of {@code /metrics} per replica is the
 * difference of two instances with different numbers of them.
 */
final class Idle {
  private static final int APPLICATIONS = 100;
  private static final int FEW_REPLICAS = 10;
  private static final int MANY_REPLICAS = 110;
  private static final double METRICS_KB = 0.9;
  private static final int SLICE_SECONDS = 3;
  private static final int STARTING_SECONDS = 30;
  private static final Duration RUNNING_LIMIT = Duration.ofSeconds(60);

  private final Servers servers;
  private final Path jar;
  private final Path work;
  private final boolean quick;
  private final Progress progress;

  Idle(Servers servers, Path jar, Path work, boolean quick, Progress progress) {
    this.servers = servers;
    this.jar = jar;
    this.work = work;
    this.quick = quick;
    this.progress = progress;
  }

  /** About what it takes. */
  static double seconds(boolean quick) {
    return STARTING_SECONDS + settleSeconds(quick) + slices(quick) * SLICE_SECONDS;
  }

  private static int settleSeconds(boolean quick) {
    return quick ? 8 : 25;
  }

  private static int slices(boolean quick) {
    return quick ? 7 : 15;
  }

  /** A process and the percentages of a core that it took, one of each slice. */
  private record Taken(Process process, double[] percent, double[] compiling) {
    Taken(Process process, int slices) {
      this(process, new double[slices], new double[slices]);
    }
  }

  List<Verdict> verdicts() throws IOException, InterruptedException {
    List<EmptyServer> empty = new ArrayList<>();
    try {
      List<Taken> taken = new ArrayList<>();
      for (String name : List.of("quickstart", "quickstart again")) {
        taken.add(taken(servers.quickstart("idle " + name).processes().get(0)));
      }
      for (String name : List.of("hundred", "hundred-again")) {
        empty.add(serving(name, applications()));
        taken.add(taken(empty.get(empty.size() - 1).process));
      }
      for (Server node : servers.cluster("idle", 3, 2)) {
        taken.add(taken(node.processes().get(0)));
      }
      Path nothing = Files.write(work.resolve("nothing"), new byte[0]);
      taken.add(
          taken(
              servers
                  .raw(
                      "idle raw",
                      Optional.empty(),
                      List.of("reply", "2", nothing.toString(), nothing.toString()))
                  .processes()
                  .get(0)));
      for (int replicas : new int[] {FEW_REPLICAS, MANY_REPLICAS}) {
        empty.add(serving("replicas-" + replicas, replicas(replicas)));
      }
      progress.tell(
          "idle: %d processes started, %d s to settle".formatted(10, settleSeconds(quick)));
      TimeUnit.SECONDS.sleep(settleSeconds(quick));
      measure(taken);
      List<Verdict> all = new ArrayList<>();
      all.add(verdict("idle-quickstart", "idle, conf/quickstart.yaml", taken, 0, 1, 0, 0.45));
      all.add(verdict("idle-hundred", "idle, 100 applications", taken, 2, 3, 2, 0.5));
      all.add(verdict("idle-control", "idle, control node of three", taken, 4, 6, 5, 1.25));
      all.add(verdict("idle-worker", "idle, a worker of three nodes", taken, 5, 6, 5, 0.9));
      all.add(verdict("idle-raw", "idle, raw Vert.x", taken, 7, 7, 7, Double.NaN));
      all.add(metrics(empty.get(2), empty.get(3)));
      return all;
    } finally {
      empty.forEach(EmptyServer::close);
      servers.close();
    }
  }

  private Taken taken(Process process) {
    return new Taken(process, slices(quick));
  }

  private void measure(List<Taken> taken) throws IOException, InterruptedException {
    for (int slice = 0; slice < slices(quick); slice++) {
      List<CpuTime> before = new ArrayList<>();
      List<Long> begun = new ArrayList<>();
      for (Taken each : taken) {
        begun.add(System.nanoTime());
        before.add(CpuTime.of(List.of(each.process)));
      }
      TimeUnit.SECONDS.sleep(SLICE_SECONDS);
      for (int i = 0; i < taken.size(); i++) {
        CpuTime after = CpuTime.of(List.of(taken.get(i).process));
        double micros = (System.nanoTime() - begun.get(i)) / 1e3;
        taken.get(i).percent[slice] = 100 * after.microsSince(before.get(i)) / micros;
        taken.get(i).compiling[slice] = 100 * after.compilerMicrosSince(before.get(i)) / micros;
      }
    }
  }

  /** One process; its noise is how much two equal ones, {@code again} and {@code base}, differ. */
  private Verdict verdict(
      String id, String what, List<Taken> taken, int index, int again, int base, double atMost) {
    Spread percent = Spread.of(taken.get(index).percent);
    double[] differences = new double[slices(quick)];
    for (int i = 0; i < differences.length; i++) {
      differences[i] = taken.get(again).percent[i] - taken.get(base).percent[i];
    }
    boolean recorded = Double.isNaN(atMost);
    Spread equal = Spread.of(differences);
    Verdict verdict =
        new Verdict(
            id,
            what,
            percent.text(2) + " % of a core, JIT " + mean(taken.get(index).compiling) + " % more",
            recorded ? "none" : "<= " + Spread.number(atMost, 2) + " %",
            recorded ? "" : equal.text(2) + " %",
            recorded ? Verdict.State.RECORDED : Claim.difference(percent, equal, atMost),
            Optional.of(percent));
    progress.tell(what + ": " + verdict.measured());
    return verdict;
  }

  private static String mean(double[] values) {
    double sum = 0;
    for (double value : values) {
      sum += value;
    }
    return Spread.number(sum / values.length, 2);
  }

  private Verdict metrics(EmptyServer few, EmptyServer many)
      throws IOException, InterruptedException {
    double bytes = metricsBytes(many) - metricsBytes(few);
    double kb = bytes / (MANY_REPLICAS - FEW_REPLICAS) / 1e3;
    return new Verdict(
        "metrics-replica",
        "bytes of /metrics for each idle replica",
        String.format(Locale.ROOT, "%.2f KB", kb),
        "<= " + Spread.number(METRICS_KB, 2) + " KB",
        "",
        Claim.limit(kb, METRICS_KB, 0),
        Optional.of(Spread.of(kb)));
  }

  private static double metricsBytes(EmptyServer server) throws IOException, InterruptedException {
    HttpResponse<String> metrics = server.admin("/metrics");
    return metrics.body().length();
  }

  private EmptyServer serving(String name, JsonArray applications)
      throws IOException, InterruptedException {
    EmptyServer server = new EmptyServer(servers, jar, work, name, Servers.JVM_OPTIONS);
    server.put(applications);
    server.await(
        name + ": all RUNNING",
        RUNNING_LIMIT,
        seen ->
            seen.stream()
                .allMatch(
                    each -> "RUNNING".equals(((JsonObject) each.getValue()).getString("status"))));
    return server;
  }

  private JsonArray applications() {
    JsonArray all = new JsonArray();
    for (int i = 0; i < APPLICATIONS; i++) {
      all.add(application("app" + i));
    }
    return all;
  }

  private JsonArray replicas(int number) {
    return new JsonArray()
        .add(
            application("app")
                .put(
                    "deployments",
                    new JsonArray()
                        .add(new JsonObject().put("name", "no-op").put("num_replicas", number))));
  }

  private JsonObject application(String name) {
    String handlers = work.resolve("handlers.jar").toAbsolutePath().toString();
    return new JsonObject()
        .put("name", name)
        .put("route_prefix", "/" + name)
        .put("import_path", "NoOp:build")
        .put("runtime_env", new JsonObject().put("jars", new JsonArray().add(handlers)));
  }
}
