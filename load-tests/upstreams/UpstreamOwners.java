import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * Counts the requests at an upstream of three nodes with one maximum, while nodes fail. Started by
 * {@code upstream-owners.sh}. Ends with exit code 1 when the upstream counted more than its
 * maximum, or requests did not flow again after a fault.
 *
 * <p>Arguments: berth.jar, the output folder, the commit, the seed, seconds of the long stop, the
 * numbers of owners, the keys of faults or {@code all}, slices of each kind, the first port.
 */
public final class UpstreamOwners {
  private static final int MAXIMUM = 8;
  private static final int CLIENTS = 12; // 1.5 times the maximum
  private static final int WINDOW_SECONDS = 5;
  private static final int LIMIT_SECONDS = 90; // until requests flow again
  private static final double FLOWS = 0.7; // of the rate before the fault
  private static final int TIMED_STOP_SECONDS = 30;
  private static final int STREAMS = 4;
  private static final int STREAM_MS = 5_000;
  private static final Set<Integer> ALL = Set.of(0, 1, 2);

  /** A fault with its repair, which returns a remark. */
  private interface Fault {
    String inject(int owner) throws Exception;
  }

  private final Vertx upstreamLoop = vertx();
  private final Vertx clientLoop = vertx();
  private final CountingUpstream upstream = new CountingUpstream();
  private final OwnerNodes nodes;
  private final long seed;
  private final Set<Integer> faulty = new TreeSet<>(); // in the present row
  private final List<String> problems = new ArrayList<>();
  private final Table table =
      new Table(
          "fault",
          "owners",
          "highest count at the upstream",
          "maximum",
          "longest gap at healthy nodes, s",
          "other outcomes at healthy nodes",
          "responses/s before, during, after",
          "remark");
  private String moveAfter = "never";
  private OwnerClients clients;

  private UpstreamOwners(OwnerNodes nodes, long seed) {
    this.nodes = nodes;
    this.seed = seed;
    this.clients = new OwnerClients(clientLoop, nodes, seed, true);
  }

  public static void main(String[] args) {
    int code = 1;
    Path folder = Path.of(args[1]);
    try (OwnerNodes nodes = new OwnerNodes(Path.of(args[0]), folder, Integer.parseInt(args[8]))) {
      code = new UpstreamOwners(nodes, Long.parseLong(args[3])).run(args, folder) ? 0 : 1;
    } catch (Exception failed) {
      failed.printStackTrace();
    }
    System.exit(code);
  }

  private static Vertx vertx() {
    return Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1).setPreferNativeTransport(true));
  }

  private boolean run(String[] args, Path folder) throws Exception {
    Machine machine = Machine.here(args[2]);
    int port = upstream.start(upstreamLoop);
    for (int node = 0; node < OwnerNodes.NODES; node++) {
      nodes.start(node, moveAfter);
    }
    String ratio = "";
    for (String owners : args[5].split(",")) {
      deploy(port, Integer.parseInt(owners));
      awaitOwner();
      if (ratio.isEmpty() && !args[7].equals("0")) {
        ratio = goodput(Integer.parseInt(args[7]));
      }
      clients = new OwnerClients(clientLoop, nodes, seed, true);
      ALL.forEach(node -> clients.begin(node, CLIENTS / OwnerNodes.NODES));
      TimeUnit.SECONDS.sleep(2 * WINDOW_SECONDS); // warm-up
      for (Map.Entry<String, Fault> each : faults(Integer.parseInt(args[4])).entrySet()) {
        String key = each.getKey().split(":")[0];
        if (args[6].equals("all") || List.of(args[6].split(",")).contains(key)) {
          setMoveAfter(key.equals("move") ? "10" : "never");
          row(each.getKey().substring(key.length() + 2), owners, key, each.getValue());
        }
      }
      clients.end();
    }
    String report =
        "%s%n%s%n%s%nSeed %d, %d clients.%n%s%n"
            .formatted(
                table.markdown(), ratio, String.join("\n", problems), seed, CLIENTS,
                machine.text());
    System.out.println("\n" + report);
    Files.writeString(folder.resolve("owners.md"), report);
    return problems.isEmpty();
  }

  private void deploy(int port, int owners) throws IOException, InterruptedException {
    nodes.ask(
        "PUT",
        "/api/serve/applications/",
        """
        {"applications": [{"name": "models", "route_prefix": "/", "import_path": "berth:proxy",
          "deployments": [{"name": "models", "graceful_shutdown_timeout_s": 20, "berth": {
            "cancel_grace_s": 1, "upstreams": [{"url": "http://127.0.0.1:%d", "orphan_s": 1,
              "max_ongoing_requests": %d, "owners": %d}]}}]}]}"""
            .formatted(port, MAXIMUM, owners));
  }

  private void setMoveAfter(String wanted) throws IOException, InterruptedException {
    if (!moveAfter.equals(wanted)) {
      moveAfter = wanted;
      nodes.end(0, "TERM");
      nodes.start(0, moveAfter);
    }
  }

  // --- faults ---

  private Map<String, Fault> faults(int longSeconds) {
    Map<String, Fault> all = new LinkedHashMap<>();
    all.put("kill: SIGKILL of the owner, restart 3 s later", this::kill);
    all.put("stop: SIGSTOP of the owner for 10 s", owner -> stop(owner, 10));
    all.put("long: SIGSTOP of the owner for %d s".formatted(longSeconds),
        owner -> stop(owner, longSeconds));
    all.put("term: SIGTERM of the owner with streams of 5 s, restart", this::terminate);
    all.put("roll: restart of both workers, one after the other", this::roll);
    all.put("drain: `berth cluster drain` of the owner, `uncordon`", this::drain);
    all.put("control: SIGKILL of the control node, restart 3 s later", owner -> killControl());
    all.put("both: SIGSTOP of the owner, then the same", this::stopAndKillControl);
    all.put("second: a second move during the first, with streams of 5 s", this::moveTwice);
    all.put("move: SIGSTOP of the owner for %d s, `move_after_s: 10`".formatted(TIMED_STOP_SECONDS),
        owner -> stop(owner, TIMED_STOP_SECONDS));
    return all;
  }

  private String kill(int owner) throws Exception {
    faulty.add(owner);
    nodes.end(owner, "KILL");
    TimeUnit.SECONDS.sleep(3);
    nodes.start(owner, moveAfter);
    return "";
  }

  private String stop(int owner, int seconds) throws Exception {
    faulty.add(owner);
    long from = System.nanoTime();
    nodes.signal(owner, "STOP");
    TimeUnit.SECONDS.sleep(seconds);
    double gap = clients.gap(from, System.nanoTime(), healthy());
    nodes.signal(owner, "CONT");
    if (gap > seconds - 1) {
      if (!moveAfter.equals("never")) {
        problems.add("move_after_s: 10 did not move the upstream");
      }
      return "closed until SIGCONT";
    }
    return gap < 4 ? "the other part stayed open" : "moved after about %.1f s".formatted(gap);
  }

  private String terminate(int owner) throws Exception {
    faulty.add(owner);
    long from = openStreams(owner);
    nodes.end(owner, "TERM");
    double took = (System.nanoTime() - from) / 1e9;
    nodes.start(owner, moveAfter);
    return "ended after %.1f s, %s".formatted(took, streams(from));
  }

  /** Opens streams at another node. */
  private long openStreams(int owner) throws InterruptedException {
    long from = System.nanoTime();
    clients.stream((owner + 1) % OwnerNodes.NODES, STREAMS, STREAM_MS);
    TimeUnit.SECONDS.sleep(1);
    return from;
  }

  private String streams(long from) {
    Map<String, Integer> ends = clients.others(from, System.nanoTime(), ALL);
    return "%d of %d streams complete".formatted(ends.getOrDefault("stream", 0), STREAMS);
  }

  private String roll(int owner) throws Exception {
    faulty.addAll(List.of(1, 2));
    for (int node = 1; node < OwnerNodes.NODES; node++) {
      nodes.end(node, "TERM");
      nodes.start(node, moveAfter);
    }
    return "";
  }

  private String drain(int owner) throws Exception {
    nodes.berth("cluster", "drain", "n" + owner, "--wait");
    nodes.berth("cluster", "uncordon", "n" + owner);
    return "";
  }

  private String killControl() throws Exception {
    faulty.add(0);
    nodes.end(0, "KILL");
    TimeUnit.SECONDS.sleep(3);
    nodes.start(0, moveAfter);
    return "";
  }

  private String stopAndKillControl(int owner) throws Exception {
    faulty.add(owner);
    nodes.signal(owner, "STOP");
    TimeUnit.SECONDS.sleep(5);
    killControl();
    TimeUnit.SECONDS.sleep(5);
    nodes.signal(owner, "CONT");
    return "";
  }

  private String moveTwice(int owner) throws Exception {
    long from = openStreams(owner);
    nodes.ask("POST", path(owner, "drain"), "");
    TimeUnit.SECONDS.sleep(1);
    int second = 3 - owner; // the other worker
    nodes.ask("POST", path(second, "drain"), "");
    await("the control node is the only owner", () -> owners().equals(Set.of(0)));
    nodes.ask("POST", path(owner, "uncordon"), "");
    nodes.ask("POST", path(second, "uncordon"), "");
    return streams(from);
  }

  private static String path(int node, String command) {
    return "/api/v1/cluster/nodes/n" + node + "/" + command;
  }

  // --- measurement ---

  private interface Condition {
    boolean holds() throws InterruptedException;
  }

  private static void await(String what, Condition condition) throws Exception {
    long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (!condition.holds()) {
      if (System.nanoTime() > giveUp) {
        throw new IOException("not within %d s: %s".formatted(LIMIT_SECONDS, what));
      }
      TimeUnit.MILLISECONDS.sleep(200);
    }
  }

  /** Returns the nodes of all slots; empty while slots are missing or silent. */
  private Set<Integer> owners() throws InterruptedException {
    List<OwnerNodes.Owned> all = nodes.owners();
    int slots = all.stream().filter(each -> !each.silent()).mapToInt(OwnerNodes.Owned::slots).sum();
    Set<Integer> owners = new TreeSet<>();
    all.forEach(each -> owners.add(each.node()));
    return slots == MAXIMUM ? owners : Set.of();
  }

  /** Waits until a worker owns slots, and returns it. Moves them from the control node. */
  private int awaitOwner() throws Exception {
    await("all slots are owned", () -> !owners().isEmpty());
    if (owners().equals(Set.of(0))) {
      nodes.ask("POST", path(0, "drain"), "");
      await("workers own all slots", () -> !owners().isEmpty() && !owners().contains(0));
      nodes.ask("POST", path(0, "uncordon"), "");
    }
    return owners().stream().filter(node -> node > 0).findFirst().orElseThrow();
  }

  private Set<Integer> healthy() {
    Set<Integer> healthy = new TreeSet<>(ALL);
    healthy.removeAll(faulty);
    return healthy;
  }

  private double lastRate() {
    long now = System.nanoTime();
    return clients.perSecond(now - TimeUnit.SECONDS.toNanos(WINDOW_SECONDS), now);
  }

  private void row(String name, String owners, String key, Fault fault) throws Exception {
    upstream.reset();
    faulty.clear();
    int owner = awaitOwner();
    TimeUnit.SECONDS.sleep(WINDOW_SECONDS);
    double before = lastRate();
    long from = System.nanoTime();
    String remark = fault.inject(owner);
    long end = System.nanoTime();
    try {
      await("responses", () -> lastRate() >= FLOWS * before);
    } catch (IOException late) {
      problems.add(key + " with owners: " + owners + ": requests do not flow again");
    }
    TimeUnit.SECONDS.sleep(WINDOW_SECONDS);
    long to = System.nanoTime();
    if (upstream.highest() > MAXIMUM) {
      problems.add("%s with owners: %s: %d requests".formatted(key, owners, upstream.highest()));
    }
    Map<String, Integer> others = clients.others(from, to, healthy());
    others.remove("stream");
    List<String> row =
        List.of(
            name,
            owners,
            String.valueOf(upstream.highest()),
            String.valueOf(MAXIMUM),
            Spread.number(clients.gap(from, to, healthy()), 1),
            others.isEmpty() ? "none" : others.toString().replaceAll("[{}]", ""),
            "%.0f, %.0f, %.0f".formatted(before, clients.perSecond(from, end), lastRate()),
            remark);
    System.out.println(String.join(" | ", row));
    table.line(row);
  }

  /** Compares clients of all nodes with as many of the owner, in slices that take turns. */
  private String goodput(int slices) throws Exception {
    int owner = awaitOwner();
    double[] ratios = new double[slices];
    for (int i = 0; i < slices + 2; i++) { // the first two are warm-up
      double one = slice(new int[] {owner, owner, owner});
      double three = slice(new int[] {0, 1, 2});
      ratios[Math.max(0, i - 2)] = three / one;
    }
    double median = Spread.of(ratios).median();
    if (median < 0.98) {
      System.out.println("ratios: " + Arrays.toString(ratios));
    }
    return "Responses/s from three nodes over those from the owner alone: %s, %d pairs of slices."
        .formatted(Spread.of(ratios).text(3), slices);
  }

  private double slice(int[] of) throws InterruptedException {
    OwnerClients staying = new OwnerClients(clientLoop, nodes, seed, false);
    for (int node : of) {
      staying.begin(node, CLIENTS / of.length);
    }
    TimeUnit.MILLISECONDS.sleep(500);
    long from = System.nanoTime();
    TimeUnit.SECONDS.sleep(2);
    double rate = staying.perSecond(from, System.nanoTime());
    staying.end();
    TimeUnit.MILLISECONDS.sleep(300); // until its requests have ended
    return rate;
  }
}
