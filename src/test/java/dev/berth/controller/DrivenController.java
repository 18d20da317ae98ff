package dev.berth.controller;

import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.Yaml;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.AnnounceDeployment;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.Publish;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.fakes.Replicas;
import dev.berth.fakes.Rollouts;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.NodeFigures;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.ReplicaPhase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A controller, and instances that do what the test says. Replicas are "m1", "m2", … */
final class DrivenController {
  static final String NODE = "n1";
  static final DeploymentId MODEL = new DeploymentId("app", "model");

  /** A replica on an instance. */
  static final class Hosted {
    final String id;
    final String node;
    final String upstream;
    DeploymentTarget target;
    DeploymentTarget next;
    boolean runs;
    boolean stopping;
    boolean refused; // the last configuration
    Duration grace;

    Hosted(String id, String node, DeploymentTarget target) {
      this(id, node, target, "");
    }

    Hosted(String id, String node, DeploymentTarget target, String upstream) {
      this.id = id;
      this.node = node;
      this.target = target;
      this.upstream = upstream;
    }

    private DeploymentVersion version() {
      return next == null ? target.version() : next.version();
    }

    private ReplicaPhase phase() {
      if (stopping) {
        return ReplicaPhase.DRAINING;
      }
      return !runs
          ? ReplicaPhase.STARTING
          : next == null ? ReplicaPhase.RUNNING : ReplicaPhase.UPDATING;
    }
  }

  long now;
  long revision;
  double chance = 1; // the longest waits
  boolean builds = true; // answered at once
  boolean inCluster; // where shares bound the replicas of an upstream
  long leaseMillis;
  Set<String> ran = Set.of(); // deployments, in an earlier process
  final Map<String, BuiltApplication> code = new HashMap<>();
  final Map<String, Hosted> hosted = new LinkedHashMap<>();
  final Map<String, Integer> ongoing = new HashMap<>();
  final Map<String, ControllerEvent.UpstreamReport> reports = new HashMap<>(); // in inventories
  final List<String> lookedAt = new ArrayList<>(); // replicas whose ongoing requests it asked for
  final Map<DeploymentId, RoutingSnapshot> routes = new HashMap<>();
  final Map<DeploymentId, DeploymentTarget> complete = new LinkedHashMap<>();
  final List<ControllerAction> log = new ArrayList<>();
  Controller controller;
  private long term = 1;
  private int made;
  private long sequence; // of what is reported

  DrivenController() {
    controller = controller(term);
  }

  private Controller controller(long term) {
    return new Controller(
        new ControllerPorts(
            new Epoch(0, term, NODE),
            deployment -> deployment.name().charAt(0) + "" + ++made,
            this::ongoing,
            () -> chance,
            () -> 0,
            Controller.MIN_SILENCE_NANOS,
            leaseMillis,
            settings -> Map.of()));
  }

  private int ongoing(String replica) {
    lookedAt.add(replica);
    return ongoing.getOrDefault(replica, -1);
  }

  /** Another controller takes over; nothing that runs has heard of it. */
  void restart() {
    restart(List.of(NODE));
  }

  /** The same, with these instances there. */
  void restart(List<String> nodes) {
    controller = controller(++term);
    controller.recover(nodes, now);
  }

  // --- settings ---

  static Settings settings(String name, int replicas, Settings rollout) {
    Settings any = DeploymentConfig.withReplicas(DeploymentConfig.of(name), replicas);
    return with(any, Map.of(), 100, rollout, 20);
  }

  static Settings with(
      Settings base,
      Map<String, Object> userConfig,
      int maxQueued,
      Settings rollout,
      int graceSeconds) {
    return base.with(DeploymentConfig.MAX_QUEUED_REQUESTS, maxQueued)
        .with(DeploymentConfig.USER_CONFIG, new HashMap<>(userConfig))
        .with(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S, Duration.ofSeconds(graceSeconds))
        .over(rollout);
  }

  static Settings surge(double percent) {
    return Rollouts.of(0.2, percent, 20);
  }

  // --- events ---

  List<ControllerAction> send(ControllerEvent event) {
    return apply(controller.on(event, now));
  }

  List<ControllerAction> apply(List<ControllerAction> actions) {
    if (!controller.overview(now).equals(controller.details(null, null, now))) {
      throw new AssertionError("overview: not of the present state");
    }
    log.addAll(actions);
    for (ControllerAction action : actions) {
      if (action instanceof StartReplica start) {
        requireOnlyOne(start);
        hosted.putIfAbsent(
            start.replicaId(),
            new Hosted(start.replicaId(), start.node(), start.target(), start.upstream()));
      } else if (action instanceof StopReplica stop && hosted.containsKey(stop.replicaId())) {
        hosted.get(stop.replicaId()).stopping = true;
        hosted.get(stop.replicaId()).grace = stop.grace();
      } else if (action instanceof ReconfigureReplica reconfigure
          && hosted.containsKey(reconfigure.replicaId())) {
        hosted.get(reconfigure.replicaId()).next = reconfigure.target();
      } else if (action instanceof ControllerAction.Remember remember) {
        if (remember.complete() == null) {
          complete.remove(remember.deployment());
        } else {
          complete.put(remember.deployment(), remember.complete());
        }
      } else if (action instanceof Publish publish) {
        routes.put(publish.snapshot().deployment(), publish.snapshot());
      } else if (action instanceof Build build && builds) {
        BuiltApplication built = code.get(build.application());
        send(new ControllerEvent.Built(build.application(), build.revision(), built));
      }
    }
    return actions;
  }

  /**
   * Without shares, the limit of an upstream holds as long as one replica of it exists, in whatever
   * phase.
   */
  private void requireOnlyOne(StartReplica start) {
    for (Hosted each : hosted.values()) {
      if (!inCluster
          && !start.upstream().isEmpty()
          && start.upstream().equals(each.upstream)
          && !start.replicaId().equals(each.id)) {
        throw new AssertionError(
            start.replicaId() + " starts beside " + each.id + " for " + each.upstream);
      }
    }
  }

  /** Lets time pass, and the controller wake whenever it wants to. */
  void advance(Duration time) {
    long until = now + time.toNanos();
    while (controller.nextWakeNanos() <= until) {
      now = Math.max(now, controller.nextWakeNanos());
      apply(controller.wake(now));
    }
    now = until;
  }

  void declare(String application, DeploymentTarget... targets) {
    revision++;
    code.put(
        application,
        new BuiltApplication(
            targets[0].build(), targets[0].id().name(), List.of(targets), null, null));
    send(new ControllerEvent.Declared(application(application, "/")));
  }

  /** An application that is declared and has all that it wants. */
  void serve(String application, DeploymentTarget... targets) {
    declare(application, targets);
    finish();
  }

  DeclaredApplication application(String name, String prefix) {
    return new DeclaredApplication(
        name, revision, prefix, "{}", true, 0, null, Map.of(), Map.of(), ran, null);
  }

  void run(String... ids) {
    for (String id : ids) {
      hosted.get(id).runs = true;
      send(new ControllerEvent.ReplicaRunning(info(hosted.get(id))));
    }
  }

  /** Everything that starts runs; as long as something new does. */
  void runAll() {
    boolean more = true;
    while (more) {
      more = false;
      for (Hosted each : List.copyOf(hosted.values())) {
        if (!each.runs && !each.stopping) {
          more = true;
          run(each.id);
        }
      }
    }
  }

  /** Everything that was told to stop has stopped. */
  void stopAll() {
    for (Hosted each : List.copyOf(hosted.values())) {
      if (each.stopping) {
        die(each.id);
      }
    }
  }

  /** Starts run, stops end, configurations are taken, until nothing is asked for. */
  void finish() {
    String before = "";
    while (!before.equals(hostedNow())) {
      before = hostedNow();
      runAll();
      hosted.values().stream().filter(each -> each.next != null).toList().forEach(this::take);
      stopAll();
    }
  }

  private String hostedNow() {
    StringBuilder text = new StringBuilder();
    hosted.values().forEach(each -> text.append(each.id).append(each.version()).append(each.runs));
    return text.toString();
  }

  private void take(Hosted each) {
    if (hosted.containsKey(each.id) && !each.stopping) {
      reconfigured(each.id);
    }
  }

  void reconfigured(String... ids) {
    for (String id : ids) {
      Hosted each = hosted.get(id);
      each.target = each.next;
      each.next = null;
      each.refused = false;
      send(new ControllerEvent.ReplicaReconfigured(id, each.target.version()));
    }
  }

  void refuse(String id, String reason) {
    Hosted each = hosted.get(id);
    DeploymentTarget refused = each.next;
    each.next = null;
    each.refused = true;
    send(new ControllerEvent.ReconfigureFailed(id, refused.version(), reason));
  }

  void fail(String id, String reason) {
    hosted.remove(id);
    send(new ControllerEvent.ReplicaFailed(id, reason));
  }

  void die(String id) {
    hosted.remove(id);
    send(new ControllerEvent.ReplicaStopped(id));
  }

  void sick(String id) {
    send(new ControllerEvent.ReplicaHealth(id, false, "three checks failed"));
  }

  void well(String id) {
    send(new ControllerEvent.ReplicaHealth(id, true, ""));
  }

  void suspect(String id) {
    send(new ControllerEvent.ReplicaSuspect(id, true, "nothing but failures"));
  }

  void tellInventory() {
    send(inventory());
  }

  /** What the instance would tell now. */
  ControllerEvent.Inventory inventory() {
    return inventory(NODE);
  }

  ControllerEvent.Inventory inventory(String node) {
    List<ControllerEvent.Inventory.Found> found = new ArrayList<>();
    for (Hosted each : hosted.values()) {
      if (each.node.equals(node)) {
        found.add(
            new ControllerEvent.Inventory.Found(
                info(each),
                each.target,
                each.next,
                each.phase(),
                true,
                each.refused,
                0,
                each.upstream,
                "",
                reports.get(each.id)));
      }
    }
    return new ControllerEvent.Inventory(node, found, List.copyOf(complete.values()));
  }

  // --- instances of a cluster ---

  /** Instances are there, in no zone, and told what they host. */
  void join(String... nodes) {
    for (String node : nodes) {
      joinIn(null, node);
    }
  }

  void joinIn(@Nullable String zone, String node) {
    send(new ControllerEvent.NodeJoined(node, zone));
    send(inventory(node));
  }

  /** An instance is gone, with all that it hosted. */
  void lose(String node) {
    hosted.values().removeIf(each -> each.node.equals(node));
    send(new ControllerEvent.NodeLost(node));
  }

  /** The replicas that were not told to go, such as {@code "n1 x2, n2 x1"}, by instance. */
  String spread() {
    Map<String, Integer> counts = new TreeMap<>();
    hosted.values().stream()
        .filter(each -> !each.stopping)
        .forEach(each -> counts.merge(each.node, 1, Integer::sum));
    List<String> parts = new ArrayList<>();
    counts.forEach((node, count) -> parts.add(node + " x" + count));
    return String.join(", ", parts);
  }

  static ReplicaInfo info(Hosted replica) {
    return Replicas.info(
        replica.id,
        replica.target.id(),
        new ReplicaAddress(replica.node, 0, replica.id.hashCode() & 0xff, 1),
        4);
  }

  // --- a number that follows its load ---

  /**
   * The model, whose number follows its load.
   *
   * @param keys of its {@code autoscaling_config}, as in a file
   */
  static DeploymentTarget autoscaled(DeploymentId id, int code, String keys) {
    String file =
        "applications: [{import_path: a.B, deployments: [{name: %s, autoscaling_config: {%s}}]}]"
            .formatted(id.name(), keys);
    Settings settings =
        Yaml.read(file).applications().get(0).deployment(Deployment.of(id.name(), any -> null));
    return new DeploymentTarget(id, "b" + code, new DeploymentVersion("v" + code, ""), settings);
  }

  /** The only instance has said that nothing runs. */
  void heard() {
    controller.recover(List.of(NODE), 0);
    tellInventory();
  }

  /** The model's load in each of so many seconds. */
  void load(double load, double reserved, int seconds) {
    for (int i = 0; i < seconds; i++) {
      advance(Duration.ofSeconds(1));
      int running = load == 0 ? 0 : 1;
      var report = new HandleMetricReport(MODEL, 0, running, 0, load, reserved, false, List.of());
      report(List.of(report), List.of());
    }
  }

  void report(List<HandleMetricReport> handles, List<HandleMetricReport> replicas) {
    HandleMetricBatch batch =
        new HandleMetricBatch(NODE, 1, ++sequence, handles, replicas, List.of(), NodeFigures.NONE);
    apply(controller.on(batch, now));
  }

  /** What an operator asks for: a number that stays, or follows the load again. */
  void pause(int replicas, boolean paused) {
    send(new ControllerEvent.Paused(MODEL, new AutoscaledReplicaCount(replicas, paused, null)));
    finish();
  }

  /** Whoever follows is told the number, and what its policy remembers. */
  void declareKept(int replicas, @Nullable String state) {
    Map<String, AutoscaledReplicaCount> kept =
        Map.of(MODEL.name(), new AutoscaledReplicaCount(replicas, false, state));
    send(
        new ControllerEvent.Declared(
            new DeclaredApplication(
                "app", revision, "/", "{}", true, 0, null, Map.of(), kept, ran, null)));
  }

  int wanted(DeploymentId deployment) {
    return details(deployment).targetReplicas();
  }

  // --- what came of it ---

  /** The replicas there, such as {@code "v1 RUNNING x2, v2 STARTING x1"}, by version. */
  String fleet() {
    Map<String, Integer> counts = new TreeMap<>();
    for (Hosted each : hosted.values()) {
      String state = each.stopping ? "STOPPING" : each.phase().name();
      String version = each.version().code() + each.version().live();
      counts.merge(version + " " + state, 1, Integer::sum);
    }
    List<String> parts = new ArrayList<>();
    counts.forEach((what, count) -> parts.add(what + " x" + count));
    return String.join(", ", parts);
  }

  /** Ids of the replicas that requests may go to, in order. */
  List<String> routable(DeploymentId deployment) {
    RoutingSnapshot snapshot = routes.get(deployment);
    return snapshot == null
        ? List.of()
        : snapshot.replicas().stream()
            .filter(RoutingSnapshot.SnapshotReplica::routable)
            .map(route -> route.replica().replicaId())
            .toList();
  }

  boolean available(DeploymentId deployment) {
    return routes.get(deployment).available();
  }

  List<String> stopping() {
    return hosted.values().stream().filter(each -> each.stopping).map(each -> each.id).toList();
  }

  /** All states of a deployment that were announced, such as {@code "HEALTHY UNSPECIFIED"}. */
  List<String> announced(DeploymentId deployment) {
    return asked(AnnounceDeployment.class).stream()
        .filter(each -> each.deployment().equals(deployment))
        .map(each -> each.status() + " " + each.trigger())
        .toList();
  }

  /** The state of a deployment as operators see it. */
  String state(DeploymentId deployment) {
    DeploymentDetails details = details(deployment);
    return details.status() + " " + details.trigger();
  }

  DeploymentDetails details(DeploymentId deployment) {
    return controller.details(null, null, now).applications().stream()
        .filter(each -> each.name().equals(deployment.application()))
        .flatMap(each -> each.deployments().stream())
        .filter(each -> each.name().equals(deployment.name()))
        .findFirst()
        .orElseThrow();
  }

  <T> List<T> asked(Class<T> type) {
    return log.stream().filter(type::isInstance).map(type::cast).toList();
  }

  static DeploymentTarget target(DeploymentId id, String code, String live, Settings settings) {
    return new DeploymentTarget(id, "build-" + code, new DeploymentVersion(code, live), settings);
  }
}
