import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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
 * numbers of owners, the keys of faults or {@code all}, the number of slices, the first port.
 */
public final class UpstreamOwners {
  private static final Set<Integer> ALL = Set.of(0, 1, 2);
  private static final int MAXIMUM = 8;
  private static final int CLIENTS_OF_NODE = 4; // together 1.5 times the maximum
  private static final int WINDOW_SECONDS = 5;
  private static final int LIMIT_SECONDS = 90; // until requests flow again
  private static final double FLOWS = 0.7; // of the rate before the fault
  private static final int STREAMS = 4;
  private static final int STREAM_MS = 5_000;

  /** A fault with its repair, which returns a remark. */
  private interface Fault {
    String inject(int owner) throws Exception;
  }

  private interface Condition {
    boolean holds() throws InterruptedException;
  }

  private final Vertx clientLoop = vertx();
  private final CountingUpstream upstream = new CountingUpstream();
  private final OwnerNodes nodes;
  private final long seed;
  private final Set<Integer> healthy = new TreeSet<>(ALL); // in the present row
  private final List<String> problems = new ArrayList<>();
  private final Table table =
      new Table(
          "fault",
          "owners",
          "highest count at the upstream",
          "maximum",
          "longest gap at healthy nodes, s",
          "failures at healthy nodes",
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
    try {
      Path folder = Path.of(args[1]);
      OwnerNodes nodes = new OwnerNodes(Path.of(args[0]), folder, Integer.parseInt(args[8]));
      code = new UpstreamOwners(nodes, Long.parseLong(args[3])).run(args, folder) ? 0 : 1;
    } catch (Exception failed) {
      failed.printStackTrace();
    }
    System.exit(code); // the script ends the nodes
  }

  private static Vertx vertx() {
    return Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
  }

  private boolean run(String[] args, Path folder) throws Exception {
    Machine machine = Machine.here(args[2]);
    int port = upstream.start(vertx());
    for (int node : List.of(0, 1, 2)) {
      nodes.start(node, moveAfter);
    }
    String ratio = "";
    for (String owners : args[5].split(",")) {
      deploy(port, owners);
      if (ratio.isEmpty() && !args[7].equals("0")) {
        ratio = goodput(Integer.parseInt(args[7]));
      }
      clients = begin(List.of(0, 1, 2), true);
      TimeUnit.SECONDS.sleep(2 * WINDOW_SECONDS); // warm-up
      for (Map.Entry<String, Fault> each : faults(Integer.parseInt(args[4])).entrySet()) {
        String key = each.getKey().split(":")[0];
        if (args[6].equals("all") || List.of(args[6].split(",")).contains(key)) {
          restartControl(key.equals("move") ? "10" : "never");
          row(each.getKey(), owners, each.getValue());
        }
      }
      clients.end();
    }
    String faults = String.join("\n", problems);
    String report =
        "%s%n%s%n%s%nSeed %d.%n%s".formatted(table.markdown(), ratio, faults, seed, machine.text());
    System.out.println("\n" + report);
    Files.writeString(folder.resolve("owners.md"), report);
    return problems.isEmpty();
  }

  private void deploy(int port, String owners) throws IOException, InterruptedException {
    nodes.ask(
        "PUT",
        "/api/serve/applications/",
        """
        {"applications": [{"name": "models", "route_prefix": "/", "import_path": "berth:proxy",
          "deployments": [{"name": "models", "graceful_shutdown_timeout_s": 20, "berth": {
            "cancel_grace_s": 1, "upstreams": [{"url": "http://127.0.0.1:%d", "orphan_s": 1,
              "max_ongoing_requests": %d, "owners": %s}]}}]}]}"""
            .formatted(port, MAXIMUM, owners));
  }

  private void restartControl(String wanted) throws IOException, InterruptedException {
    if (!moveAfter.equals(wanted)) {
      moveAfter = wanted;
      restart(0, "TERM", 0);
    }
  }

  // --- faults ---

  private Map<String, Fault> faults(int longSeconds) {
    Map<String, Fault> all = new LinkedHashMap<>();
    all.put("kill: SIGKILL of the owner, restart 3 s later", owner -> restart(owner, "KILL", 3));
    all.put("stop: SIGSTOP of the owner for 10 s", owner -> stop(owner, 10));
    all.put("long: SIGSTOP for %d s".formatted(longSeconds), owner -> stop(owner, longSeconds));
    all.put("term: SIGTERM of the owner with streams of 5 s, restart", this::terminate);
    all.put("roll: restart of both workers, one after the other", owner -> roll());
    all.put("drain: `berth cluster drain` of the owner, then `uncordon`", this::drain);
    all.put("control: SIGKILL of the control node, restart 3 s later", no -> restart(0, "KILL", 3));
    all.put("both: SIGSTOP of the owner, then `control`, then SIGCONT", this::stopAndKillControl);
    all.put("second: a second move during the first, with streams of 5 s", this::moveTwice);
    all.put("move: SIGSTOP for 30 s with `move_after_s: 10`", owner -> stop(owner, 30));
    return all;
  }

  private String restart(int node, String signal, int pause)
      throws IOException, InterruptedException {
    healthy.remove(node);
    nodes.end(node, signal);
    TimeUnit.SECONDS.sleep(pause);
    nodes.start(node, moveAfter);
    return "";
  }

  private String stop(int owner, int seconds) throws IOException, InterruptedException {
    healthy.remove(owner);
    long from = System.nanoTime();
    nodes.signal(owner, "STOP");
    TimeUnit.SECONDS.sleep(seconds);
    boolean closed = clients.gap(from, System.nanoTime(), healthy) > seconds - 1;
    boolean moved = !owners().isEmpty();
    nodes.signal(owner, "CONT");
    if (moved == moveAfter.equals("never")) {
      problems.add(
          "SIGSTOP for %d s, move_after_s: %s: moved %b".formatted(seconds, moveAfter, moved));
    }
    if (moved) {
      return "moved";
    }
    return "not moved, " + (closed ? "closed until SIGCONT" : "another part stays open");
  }

  private String terminate(int owner) throws IOException, InterruptedException {
    long from = openStreams(owner);
    restart(owner, "TERM", 0);
    return streams(from);
  }

  /** Opens streams at another node. */
  private long openStreams(int owner) throws InterruptedException {
    long from = System.nanoTime();
    for (int i = 0; i < STREAMS; i++) {
      clients.stream((owner + 1) % ALL.size(), STREAM_MS);
    }
    TimeUnit.SECONDS.sleep(1);
    return from;
  }

  private String streams(long from) {
    Map<String, Integer> ends = clients.others(from, System.nanoTime(), ALL);
    return "%d of %d streams complete".formatted(ends.getOrDefault("stream", 0), STREAMS);
  }

  private String roll() throws IOException, InterruptedException {
    restart(1, "TERM", 0);
    return restart(2, "TERM", 0);
  }

  private String drain(int owner) throws IOException, InterruptedException {
    nodes.cluster("drain", "n" + owner, "--wait");
    nodes.cluster("uncordon", "n" + owner);
    return "";
  }

  private String stopAndKillControl(int owner) throws IOException, InterruptedException {
    healthy.remove(owner);
    nodes.signal(owner, "STOP");
    TimeUnit.SECONDS.sleep(5);
    restart(0, "KILL", 3);
    TimeUnit.SECONDS.sleep(5);
    nodes.signal(owner, "CONT");
    return "";
  }

  private String moveTwice(int owner) throws IOException, InterruptedException {
    long from = openStreams(owner);
    int second = 3 - owner; // the other worker
    nodes.ask("POST", path(owner, "drain"), "");
    TimeUnit.SECONDS.sleep(1);
    nodes.ask("POST", path(second, "drain"), "");
    await("the control node owns all slots", () -> owners().equals(Set.of(0)));
    nodes.ask("POST", path(owner, "uncordon"), "");
    nodes.ask("POST", path(second, "uncordon"), "");
    return streams(from);
  }

  private static String path(int node, String command) {
    return "/api/v1/cluster/nodes/n" + node + "/" + command;
  }

  // --- measurement ---

  private static void await(String what, Condition condition)
      throws IOException, InterruptedException {
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
    Set<Integer> owners = new TreeSet<>();
    int slots = 0;
    for (OwnerNodes.Owned each : nodes.owners()) {
      owners.add(each.node());
      slots += each.silent() ? 0 : each.slots();
    }
    return slots == MAXIMUM ? owners : Set.of();
  }

  /** Waits until a worker owns slots, and returns it. Moves them from the control node. */
  private int awaitOwner() throws IOException, InterruptedException {
    await("all slots are owned", () -> !owners().isEmpty());
    if (owners().equals(Set.of(0))) {
      nodes.ask("POST", path(0, "drain"), "");
      await("workers own all slots", () -> !owners().isEmpty() && !owners().contains(0));
      nodes.ask("POST", path(0, "uncordon"), "");
    }
    return owners().stream().filter(node -> node > 0).findFirst().orElseThrow();
  }

  private double lastRate() {
    long now = System.nanoTime();
    return clients.perSecond(now - TimeUnit.SECONDS.toNanos(WINDOW_SECONDS), now);
  }

  private void row(String fault, String owners, Fault action) throws Exception {
    upstream.reset();
    healthy.addAll(ALL);
    int owner = awaitOwner();
    TimeUnit.SECONDS.sleep(WINDOW_SECONDS);
    double before = lastRate();
    long from = System.nanoTime();
    String remark = action.inject(owner);
    long end = System.nanoTime();
    try {
      await("responses", () -> lastRate() >= FLOWS * before);
    } catch (IOException late) {
      problems.add(fault + ", owners: " + owners + ": requests do not flow again");
    }
    TimeUnit.SECONDS.sleep(WINDOW_SECONDS);
    long to = System.nanoTime();
    if (upstream.highest() > MAXIMUM) {
      problems.add("%s, owners: %s: %d requests".formatted(fault, owners, upstream.highest()));
    }
    Map<String, Integer> others = clients.others(from, to, healthy);
    others.remove("stream");
    List<String> row =
        List.of(
            fault,
            owners,
            String.valueOf(upstream.highest()),
            String.valueOf(MAXIMUM),
            Spread.number(clients.gap(from, to, healthy), 1),
            others.isEmpty() ? "none" : others.toString().replaceAll("[{}]", ""),
            "%.0f, %.0f, %.0f".formatted(before, clients.perSecond(from, end), lastRate()),
            remark);
    System.out.println(String.join(" | ", row));
    table.line(row);
  }

  private OwnerClients begin(List<Integer> at, boolean leave) {
    OwnerClients begun = new OwnerClients(clientLoop, nodes, seed, leave);
    for (int i = 0; i < CLIENTS_OF_NODE; i++) {
      at.forEach(begun::begin);
    }
    return begun;
  }

  /** Compares clients of all nodes with as many of the owner, in slices that take turns. */
  private String goodput(int slices) throws IOException, InterruptedException {
    int owner = awaitOwner();
    double[] ratios = new double[slices];
    for (int i = -2; i < slices; i++) { // the first two are warm-up
      double one = slice(List.of(owner, owner, owner));
      ratios[Math.max(0, i)] = slice(List.of(0, 1, 2)) / one;
    }
    return "Responses/s of three nodes' clients over the owner's alone: %s in %d pairs of slices."
        .formatted(Spread.of(ratios).text(3), slices);
  }

  private double slice(List<Integer> at) throws InterruptedException {
    OwnerClients staying = begin(at, false);
    TimeUnit.MILLISECONDS.sleep(500);
    long from = System.nanoTime();
    TimeUnit.SECONDS.sleep(2);
    double rate = staying.perSecond(from, System.nanoTime());
    staying.end();
    TimeUnit.MILLISECONDS.sleep(300); // until its requests have ended
    return rate;
  }
}
