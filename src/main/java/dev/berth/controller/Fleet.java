package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.protocol.DeploymentDetails;
import dev.berth.protocol.ReplicaDetails;
import dev.berth.protocol.ReplicaPhase;
import dev.berth.protocol.RoutingSnapshot;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The replicas of one deployment, as the controller keeps them. Belongs to its loop. */
final class Fleet {
  /** Replicas that ended by themselves and are remembered. Source: Ray Serve. */
  static final int MAX_DEAD = 10;

  /** Which of them wakes first. */
  static final Comparator<Fleet> BY_WAKE =
      Comparator.<Fleet>comparingLong(fleet -> fleet.wakeNanos)
          .thenComparingLong(fleet -> fleet.number);

  final App app;
  final DeploymentId id;
  final long number; // in the order they were made
  final Map<String, Member> members = new LinkedHashMap<>(); // in the order they were started
  DeploymentTarget target;
  Progress progress = Progress.FIRST;
  boolean obsolete; // the application's code has it no more
  boolean deleting;
  boolean held; // what runs was found, and what should is not known yet: it is left as it is
  long wakeNanos = Long.MAX_VALUE;
  @Nullable Standing announced;
  @Nullable RoutingSnapshot published;
  @Nullable DeploymentTarget kept; // what was complete, as a later controller would be told
  private final Deque<ReplicaDetails> dead = new ArrayDeque<>();

  Fleet(App app, DeploymentTarget target, long number) {
    this.app = app;
    this.id = target.id();
    this.target = target;
    this.number = number;
  }

  boolean isCurrent(Member member) {
    return member.version().equals(target.version());
  }

  /** Whether replicas of another version than the wanted one are there. */
  boolean othersServe() {
    return members.values().stream().anyMatch(each -> each.isActive() && !isCurrent(each));
  }

  /** What most of its active replicas run; its own target when there are none. */
  DeploymentTarget mostCommonTarget() {
    Map<DeploymentVersion, Integer> counts = new LinkedHashMap<>();
    DeploymentTarget most = target;
    for (Member member : members.values()) {
      int count = member.isActive() ? counts.merge(member.target.version(), 1, Integer::sum) : 0;
      if (count > counts.getOrDefault(most.version(), 0)
          || (count > 0 && member.target.version().equals(most.version()))) {
        most = member.target;
      }
    }
    return most;
  }

  /** Whether nothing of an earlier version is left, not even what drains. */
  boolean isRolledOut() {
    boolean over = progress.isComplete(target) || Progress.isAtZero(target);
    return over && members.values().stream().allMatch(this::isCurrent);
  }

  /** Whether requests may hope: something runs or comes, or it only has no replicas for now. */
  boolean isAvailable() {
    if (deleting) {
      return false;
    }
    DeploymentTarget complete = progress.complete();
    return !progress.frozen()
        || complete != null
        || members.values().stream().anyMatch(Member::isActive);
  }

  /**
   * What routers may know: where more than half of the replicas look unhealthy the checks may be
   * what is wrong, and the few that are left could not carry the load: all serve on. Where more
   * than half are suspects the fault is hardly theirs, and none is kept out. Source: Envoy's panic
   * threshold.
   */
  List<RoutingSnapshot.Route> routes(long nowNanos) {
    int serving = 0;
    int healthy = 0;
    int suspects = 0;
    for (Member member : members.values()) {
      serving += member.isServing() ? 1 : 0;
      if (member.isServing() && !member.isSick()) {
        healthy++;
        suspects += member.suspicion.isOut(nowNanos) ? 1 : 0;
      }
    }
    boolean fewAreHealthy = healthy * 2 < serving;
    boolean without = suspects * 2 <= healthy;
    List<RoutingSnapshot.Route> routes = new ArrayList<>(members.size());
    for (Member member : members.values()) {
      if (member.info != null && member.phase != ReplicaPhase.STARTING) {
        boolean routable =
            member.isServing()
                && (fewAreHealthy
                    || (!member.isSick() && !(without && member.suspicion.isOut(nowNanos))));
        routes.add(new RoutingSnapshot.Route(member.info, routable));
      }
    }
    return routes;
  }

  boolean isRoutable() {
    RoutingSnapshot last = published;
    return last != null
        && last.available()
        && last.replicas().stream().anyMatch(RoutingSnapshot.Route::routable);
  }

  void remember(Member ended, String reason) {
    dead.addFirst(details(ended, ReplicaPhase.STOPPED, false, reason));
    if (dead.size() > MAX_DEAD) {
      dead.removeLast();
    }
  }

  DeploymentDetails details(Function<Settings, Map<String, @Nullable Object>> config) {
    List<ReplicaDetails> replicas = new ArrayList<>(members.size());
    Map<String, Boolean> routable = new LinkedHashMap<>();
    RoutingSnapshot last = published;
    if (last != null) {
      last.replicas().forEach(each -> routable.put(each.replica().replicaId(), each.routable()));
    }
    for (Member member : members.values()) {
      replicas.add(
          details(member, member.phase, routable.getOrDefault(member.id, false), member.reason));
    }
    return new DeploymentDetails(
        id.name(),
        progress.standing().status(),
        progress.standing().trigger(),
        message(),
        target.version().toString(),
        config.apply(target.settings()),
        deleting ? 0 : target.settings().get(DeploymentConfig.NUM_REPLICAS),
        replicas,
        List.copyOf(dead));
  }

  /** Why it stands as it does, and what the first of the replicas that wait for a thread says. */
  private String message() {
    String message = progress.standing().message();
    return members.values().stream()
        .filter(member -> member.phase == ReplicaPhase.STARTING && !member.reason.isEmpty())
        .findFirst()
        .map(member -> (message.isEmpty() ? "" : message + "; ") + member.id + ' ' + member.reason)
        .orElse(message);
  }

  private static ReplicaDetails details(
      Member member, ReplicaPhase phase, boolean routable, String reason) {
    return new ReplicaDetails(
        member.id,
        member.info == null ? "" : member.info.address().node(),
        phase,
        member.target.version().toString(),
        routable,
        member.startedMs,
        reason);
  }
}
