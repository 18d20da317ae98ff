package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The controller's state of one deployment and its replicas. Confined to the controller's loop. */
final class DeploymentState {
  /** Maximum number of dead replicas in the status. Source: Ray Serve. */
  static final int MAX_DEAD = 10;

  /** Time in nanoseconds after a failed start during which other instances are preferred. */
  private static final long PASSED_OVER_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** Order of the next wake time. */
  static final Comparator<DeploymentState> BY_WAKE =
      Comparator.<DeploymentState>comparingLong(deployment -> deployment.wakeNanos)
          .thenComparing(deployment -> deployment.id.toString());

  final ApplicationState application;
  final DeploymentId id;
  final Map<String, ReplicaRecord> replicas = new LinkedHashMap<>(); // in the order of their start
  DeploymentTarget target;
  RolloutProgress progress = RolloutProgress.FIRST;
  boolean obsolete; // absent from the application's present code
  boolean deleting;
  boolean held; // replicas were found, their target is unknown yet: nothing is changed
  String lacks = ""; // why replicas are missing, by the last decision
  int wanted = -1; // number of replicas by the last decision; negative for that of the target
  long wakeNanos = Long.MAX_VALUE;
  @Nullable DeploymentCondition announced;
  @Nullable RoutingSnapshot published;
  // complete target, as last sent to the instances for a later controller
  @Nullable DeploymentTarget kept;
  private final Deque<ReplicaDetails> dead = new ArrayDeque<>();
  // last one of each instance
  private final Map<String, FailedStart> failedStarts = new HashMap<>();

  DeploymentState(ApplicationState application, DeploymentTarget target) {
    this.application = application;
    this.id = target.id();
    this.target = target;
  }

  /** The failed start of a version, with its time. */
  private record FailedStart(DeploymentVersion version, long nanos) {}

  /** Returns the target of new replicas; null while the only version has failed. */
  @Nullable DeploymentTarget startTarget() {
    return progress.frozen() ? progress.complete() : target;
  }

  void onStartFailed(ReplicaRecord replica, long nowNanos) {
    failedStarts.keySet().removeIf(node -> !hasFailedAt(node, nowNanos));
    failedStarts.put(replica.node, new FailedStart(replica.version(), nowNanos));
  }

  void onStarted(ReplicaRecord replica) {
    failedStarts.remove(replica.node);
  }

  /**
   * Returns whether a start of the target's version failed on a node recently. The cause may be the
   * instance or the version; a bad version fails on all nodes.
   */
  boolean hasFailedAt(String node, long nowNanos) {
    FailedStart failed = failedStarts.get(node);
    return failed != null
        && failed.version.equals(target.version())
        && nowNanos - failed.nanos < PASSED_OVER_NANOS;
  }

  boolean isCurrent(ReplicaRecord replica) {
    return replica.version().equals(target.version());
  }

  /** Returns whether active replicas of another version than the wanted one exist. */
  boolean othersServe() {
    return replicas.values().stream().anyMatch(each -> each.isActive() && !isCurrent(each));
  }

  /**
   * Returns the target that most active replicas run; the deployment's own target when there are
   * none.
   */
  DeploymentTarget mostCommonTarget() {
    Map<DeploymentVersion, Integer> counts = new LinkedHashMap<>();
    DeploymentTarget most = target;
    for (ReplicaRecord replica : replicas.values()) {
      int count = replica.isActive() ? counts.merge(replica.target.version(), 1, Integer::sum) : 0;
      if (count > counts.getOrDefault(most.version(), 0)
          || (count > 0 && replica.target.version().equals(most.version()))) {
        most = replica.target;
      }
    }
    return most;
  }

  /** Returns all targets that are wanted, that replicas run, or that a rollback may restore. */
  Stream<DeploymentTarget> targets() {
    return Stream.concat(
            Stream.of(target, progress.complete()),
            replicas.values().stream().flatMap(each -> Stream.of(each.target, each.next)))
        .flatMap(Stream::ofNullable);
  }

  /**
   * Returns whether the rollout is complete or the target is zero, and no replica of another
   * version is left, not even a draining one.
   */
  boolean isRolledOut() {
    boolean over = progress.isComplete(target) || RolloutProgress.isAtZero(target);
    return over && replicas.values().stream().allMatch(this::isCurrent);
  }

  /**
   * Returns whether requests may wait: a replica runs or can still start, or the target is zero for
   * now.
   */
  boolean isAvailable() {
    boolean hopeless = progress.frozen() && progress.complete() == null;
    return !deleting && !(hopeless && count(ReplicaRecord::isActive) == 0);
  }

  /**
   * Returns the routes for the next snapshot. Two thresholds limit exclusion. When more than half
   * of the serving replicas look unhealthy, the checks may be wrong, and the few left could not
   * carry the load: all serve. When more than half of the healthy replicas are suspects, the fault
   * is hardly theirs: none is excluded. Source: Envoy's panic threshold.
   */
  List<RoutingSnapshot.SnapshotReplica> routes(long nowNanos) {
    int serving = 0;
    int healthy = 0;
    int suspects = 0;
    for (ReplicaRecord replica : replicas.values()) {
      serving += replica.isServing() ? 1 : 0;
      if (replica.isServing() && !replica.isSick()) {
        healthy++;
        suspects += replica.suspicion.isOut(nowNanos) ? 1 : 0;
      }
    }
    boolean fewAreHealthy = healthy * 2 < serving;
    boolean without = suspects * 2 <= healthy;
    List<RoutingSnapshot.SnapshotReplica> routes = new ArrayList<>(replicas.size());
    for (ReplicaRecord replica : replicas.values()) {
      if (replica.info != null && replica.phase != ReplicaPhase.STARTING) {
        boolean routable =
            replica.isServing()
                && (fewAreHealthy
                    || (!replica.isSick() && !(without && replica.suspicion.isOut(nowNanos))));
        routes.add(new RoutingSnapshot.SnapshotReplica(replica.info, routable));
      }
    }
    return routes;
  }

  int count(Predicate<ReplicaRecord> which) {
    return (int) replicas.values().stream().filter(which).count();
  }

  boolean isRoutable() {
    RoutingSnapshot last = published;
    return last != null
        && last.available()
        && last.replicas().stream().anyMatch(RoutingSnapshot.SnapshotReplica::routable);
  }

  void remember(ReplicaRecord ended, String reason) {
    dead.addFirst(details(ended, ReplicaPhase.STOPPED, false, reason));
    if (dead.size() > MAX_DEAD) {
      dead.removeLast();
    }
  }

  DeploymentDetails details(
      Function<Settings, Map<String, @Nullable Object>> config,
      boolean paused,
      @Nullable ScalingView autoscaling) {
    List<ReplicaDetails> all = new ArrayList<>(replicas.size());
    Set<String> routable = new HashSet<>();
    if (published != null) {
      published.replicas().stream()
          .filter(RoutingSnapshot.SnapshotReplica::routable)
          .forEach(each -> routable.add(each.replica().replicaId()));
    }
    replicas.forEach(
        (name, each) -> all.add(details(each, each.phase, routable.contains(name), each.reason)));
    return new DeploymentDetails(
        id.name(),
        progress.standing().status(),
        progress.standing().trigger(),
        paused ? (message().isEmpty() ? "" : message() + "; ") + PAUSED : message(),
        target.version().toString(),
        config.apply(target.settings()),
        wantedReplicas(),
        autoscaling == null ? null : autoscaling.now(),
        all,
        List.copyOf(dead));
  }

  int wantedReplicas() {
    int ofTarget = wanted < 0 ? target.settings().get(DeploymentConfig.NUM_REPLICAS) : wanted;
    return deleting ? 0 : ofTarget;
  }

  private static final String CARRIERS =
      "handlers share virtual thread carriers with all others (threads: virtual; platform threads"
          + " on nodes with a JDK below 21)";

  /** Maximum number of closed upstreams that a message names. */
  private static final int MAX_NAMED_UPSTREAMS = 8;

  private static final String PAUSED = "autoscaling is paused until berth scale --auto";

  /**
   * Returns the status message: the condition, the missing replicas, the reason of the first
   * replica that waits for a thread or a carrier, and the closed upstreams.
   */
  private String message() {
    boolean virtual = target.settings().get(DeploymentConfig.THREADS).equals("virtual");
    String waits =
        replicas.values().stream()
            .filter(
                replica ->
                    replica.phase == ReplicaPhase.STARTING
                        || virtual && replica.phase == ReplicaPhase.RUNNING)
            .filter(replica -> !replica.reason.isEmpty())
            .findFirst()
            .map(replica -> replica.id + ' ' + replica.reason)
            .orElse("");
    return joined(
        progress.standing().message(), lacks, virtual ? CARRIERS : "", waits, closedUpstreams());
  }

  /** Returns the names of closed upstreams, if there are several, and the reason of the first. */
  private String closedUpstreams() {
    List<ReplicaRecord> closed =
        replicas.values().stream()
            .filter(replica -> !replica.waits.isEmpty() || !replica.lacks.isEmpty())
            .toList();
    if (closed.isEmpty()) {
      return "";
    }
    ReplicaRecord first = closed.get(0);
    String reason = first.upstream + ' ' + joined(first.waits, first.lacks);
    Stream<String> names = closed.stream().limit(MAX_NAMED_UPSTREAMS).map(each -> each.upstream);
    String named = names.collect(Collectors.joining(", "));
    int more = closed.size() - MAX_NAMED_UPSTREAMS;
    String rest = more > 0 ? " and " + more + " more; " : "; ";
    return closed.size() == 1
        ? reason
        : closed.size() + " of " + replicas.size() + " closed: " + named + rest + reason;
  }

  private static String joined(String... parts) {
    return Stream.of(parts).filter(part -> !part.isEmpty()).collect(Collectors.joining("; "));
  }

  private ReplicaDetails details(
      ReplicaRecord replica, ReplicaPhase phase, boolean routable, String reason) {
    boolean wanted = replica.target.version().equals(target.version());
    return new ReplicaDetails(
        replica.id,
        replica.node,
        phase,
        replica.target.version().toString(),
        wanted ? target.revision() : replica.target.revision(),
        routable,
        replica.startedMs,
        joined(reason, replica.waits, replica.lacks),
        replica.upstream);
  }
}
