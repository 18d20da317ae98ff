package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.controller.ControllerAction.AnnounceDeployment;
import dev.berth.controller.ControllerAction.AnnounceReplica;
import dev.berth.controller.ControllerAction.Publish;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerEvent.OfReplica;
import dev.berth.controller.Progress.Failure;
import dev.berth.controller.Reconciler.Decision;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.ReplicaPhase;
import dev.berth.protocol.RoutingSnapshot;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;

/**
 * The replicas of all deployments: takes what is observed of them, has the {@link Reconciler}
 * decide, and turns its steps into commands. Belongs to the controller's loop.
 *
 * <p>Over 500 lines: every event that moves a {@link Member} from phase to phase, side by side, as
 * what one of them may find is what another one left. What is decided stands apart, in {@link
 * Reconciler} and {@link Progress}, and what lasts in {@link Fleet} and {@link Member}.
 */
final class Fleets {
  /** Replicas that ended and are still told apart from those of a late inventory. */
  static final int MAX_ENDED = 10_000;

  /** Decisions that would never end go on after this long: the loop has other things to do. */
  private static final long RESUME_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** For a replica that nobody knows and that may have taken requests. */
  private static final Duration STRANGERS_GRACE = Duration.ofSeconds(20);

  private final Epoch epoch;
  private final Function<DeploymentId, String> replicaIds;
  private final ToIntFunction<String> ongoing;
  private final DoubleSupplier chance;
  private final LongSupplier wallMillis;
  private final Map<String, Member> members = new HashMap<>(); // of all, by replica id
  private final TreeSet<Fleet> waking = new TreeSet<>(Fleet.BY_WAKE);
  private final Set<String> ended = new LinkedHashSet<>(); // ids, the oldest first
  private long made;
  private long counter; // of snapshots

  Fleets(
      Epoch epoch,
      Function<DeploymentId, String> replicaIds,
      ToIntFunction<String> ongoing,
      DoubleSupplier chance,
      LongSupplier wallMillis) {
    this.epoch = epoch;
    this.replicaIds = replicaIds;
    this.ongoing = ongoing;
    this.chance = chance;
    this.wallMillis = wallMillis;
  }

  // --- deployments ---

  Fleet make(App app, DeploymentTarget target, Turn turn) {
    Fleet fleet = new Fleet(app, target, ++made);
    app.fleets.put(fleet.id, fleet);
    turn.add(new ControllerAction.Configure(epoch, target));
    turn.touch(fleet);
    return fleet;
  }

  /**
   * Another target, or the same one.
   *
   * @param deployed false when only the number of replicas was set
   */
  void retarget(Fleet fleet, DeploymentTarget target, boolean deployed, Turn turn) {
    boolean revived = fleet.deleting;
    fleet.obsolete = false;
    fleet.deleting = false;
    if (revived) {
      fleet.progress = Progress.FIRST;
    }
    fleet.progress = fleet.progress.retarget(fleet.target, target, deployed);
    if (!fleet.target.settings().equals(target.settings()) || revived) {
      turn.add(new ControllerAction.Configure(epoch, target));
    }
    fleet.target = target;
    turn.touch(fleet);
  }

  /** What should run of a deployment that was found is known now. */
  void claim(Fleet fleet, DeploymentTarget target, Turn turn) {
    fleet.held = false;
    fleet.obsolete = false;
    fleet.target = target;
    fleet.progress = Progress.first(fleet.kept, target);
    fleet.members.values().stream().filter(Member::isServing).forEach(Fleets::started);
    turn.add(new ControllerAction.Configure(epoch, target));
    turn.touch(fleet);
  }

  /** Drains and stops all of its replicas; when none is left it is gone. */
  void delete(Fleet fleet, Turn turn) {
    if (!fleet.deleting) {
      fleet.deleting = true;
      fleet.held = false;
      fleet.progress = fleet.progress.deleted();
      turn.touch(fleet);
    }
  }

  /** Acts on what has changed of a deployment. */
  void settle(Fleet fleet, Turn turn) {
    if (fleet.app.fleets.get(fleet.id) != fleet) {
      return; // it is gone
    }
    announce(fleet, turn);
    long wakeNanos = Long.MAX_VALUE;
    if (!fleet.held) {
      Decision decision =
          Reconciler.decide(
              fleet.target, fleet.deleting, observed(fleet), fleet.progress, turn.nowNanos);
      decision.steps().forEach(step -> take(fleet, step, turn));
      fleet.progress = decision.progress();
      wakeNanos = decision.wakeNanos();
      announce(fleet, turn);
    }
    repeat(fleet, turn);
    publish(fleet, turn);
    remember(fleet, turn);
    wakeNanos = Math.min(wakeNanos, ownWakeNanos(fleet, turn.nowNanos));
    if (turn.isEnough(fleet)) {
      wakeNanos = Math.min(wakeNanos, turn.nowNanos + RESUME_NANOS);
    }
    wakeAt(fleet, wakeNanos);
    turn.touch(fleet.app);
  }

  /** It has no replicas and is to have none. */
  void remove(Fleet fleet, Turn turn) {
    wakeAt(fleet, Long.MAX_VALUE);
    fleet.app.fleets.remove(fleet.id);
    turn.add(new ControllerAction.Forget(epoch, fleet.id));
  }

  private List<ObservedReplica> observed(Fleet fleet) {
    List<ObservedReplica> all = new ArrayList<>(fleet.members.size());
    for (Member member : fleet.members.values()) {
      all.add(member.observed(ongoing.applyAsInt(member.id)));
    }
    return all;
  }

  private void take(Fleet fleet, Step step, Turn turn) {
    if (step instanceof Step.Start start) {
      Member member =
          new Member(
              fleet,
              replicaIds.apply(fleet.id),
              start.target(),
              ReplicaPhase.STARTING,
              wallMillis.getAsLong());
      member.commandedNanos = turn.nowNanos;
      fleet.members.put(member.id, member);
      members.put(member.id, member);
      turn.add(new StartReplica(epoch, start.target(), member.id));
      announce(member, "", turn);
    } else if (step instanceof Step.Reconfigure reconfigure) {
      Member member = fleet.members.get(reconfigure.replicaId());
      member.next = reconfigure.target();
      member.commandedNanos = turn.nowNanos;
      turn.add(new ReconfigureReplica(epoch, member.id, reconfigure.target()));
      to(member, ReplicaPhase.UPDATING, "", turn);
    } else if (step instanceof Step.Stop stop) {
      Member member = fleet.members.get(stop.replicaId());
      member.scaledDown = stop.scaledDown();
      member.grace = stop.grace();
      member.commandedNanos = turn.nowNanos;
      turn.add(new StopReplica(epoch, member.id, stop.grace(), stop.reason()));
      to(member, ReplicaPhase.STOPPING, stop.reason(), turn);
    }
  }

  /** Commands that may have been lost; one that was not is done once all the same. */
  private void repeat(Fleet fleet, Turn turn) {
    for (Member member : fleet.members.values()) {
      long due = member.repeatNanos();
      if (due == Long.MAX_VALUE || due - turn.nowNanos > 0) { // a nano clock may be negative
        continue;
      }
      member.commandedNanos = turn.nowNanos;
      DeploymentTarget next = member.next;
      if (member.phase == ReplicaPhase.STARTING) {
        turn.add(new StartReplica(epoch, member.target, member.id));
      } else if (member.phase == ReplicaPhase.UPDATING && next != null) {
        turn.add(new ReconfigureReplica(epoch, member.id, next));
      } else {
        turn.add(new StopReplica(epoch, member.id, member.grace, member.reason));
      }
    }
  }

  private void publish(Fleet fleet, Turn turn) {
    RoutingSnapshot last = fleet.published;
    List<RoutingSnapshot.Route> routes = fleet.routes(turn.nowNanos);
    boolean available = fleet.isAvailable();
    if (last == null || last.available() != available || !last.replicas().equals(routes)) {
      RoutingSnapshot snapshot =
          new RoutingSnapshot(
              fleet.id, new RoutingSnapshot.Version(epoch.term(), ++counter), available, routes);
      fleet.published = snapshot;
      turn.add(new Publish(snapshot));
    }
  }

  /** A controller that follows is told, as it may find nothing that runs it any more. */
  private void remember(Fleet fleet, Turn turn) {
    DeploymentTarget complete = fleet.progress.complete();
    if (!fleet.held && !Objects.equals(complete, fleet.kept)) {
      fleet.kept = complete;
      turn.add(new ControllerAction.Remember(epoch, fleet.id, complete));
    }
  }

  // --- announcements ---

  private void announce(Fleet fleet, Turn turn) {
    Standing standing = fleet.progress.standing();
    if (!standing.equals(fleet.announced)) {
      fleet.announced = standing;
      turn.add(
          new AnnounceDeployment(
              fleet.id,
              standing.status(),
              standing.trigger(),
              fleet.target.version(),
              standing.message()));
    }
  }

  private void to(Member member, ReplicaPhase phase, String reason, Turn turn) {
    if (member.phase != phase) {
      member.phase = phase;
      member.reason = reason;
      announce(member, reason, turn);
      turn.touch(member.fleet);
    }
  }

  private static void announce(Member member, String reason, Turn turn) {
    turn.add(
        new AnnounceReplica(member.id, member.fleet.id, member.version(), member.phase, reason));
  }

  // --- what is observed ---

  boolean knows(String replicaId) {
    return members.containsKey(replicaId);
  }

  /** Something happened to a replica. */
  void on(OfReplica event, Turn turn) {
    Member member = members.get(event.replicaId());
    if (member == null) {
      onStranger(event, turn);
    } else if (event instanceof ControllerEvent.ReplicaRunning running) {
      running(member, running.replica(), turn);
    } else if (event instanceof ControllerEvent.ReplicaWaits waits) {
      waits(member, waits);
    } else if (event instanceof ControllerEvent.ReplicaFailed failed) {
      failed(member, failed.reason(), turn);
    } else if (event instanceof ControllerEvent.ReplicaReconfigured reconfigured) {
      reconfigured(member, reconfigured.version(), turn);
    } else if (event instanceof ControllerEvent.ReconfigureFailed failed) {
      reconfigureFailed(member, failed, turn);
    } else if (event instanceof ControllerEvent.ReplicaDraining) {
      draining(member, turn);
    } else if (event instanceof ControllerEvent.ReplicaHealth health) {
      health(member, health, turn);
    } else if (event instanceof ControllerEvent.ReplicaSuspect suspect) {
      suspect(member, suspect, turn);
    } else if (event instanceof ControllerEvent.ReplicaStopped) {
      stopped(member, turn);
    }
  }

  private void onStranger(OfReplica event, Turn turn) {
    if (event instanceof ControllerEvent.ReplicaRunning) {
      String reason = "nobody wants it any more";
      turn.add(new StopReplica(epoch, event.replicaId(), STRANGERS_GRACE, reason));
    } else if (event instanceof ControllerEvent.ReplicaFailed
        || event instanceof ControllerEvent.ReplicaStopped) {
      over(event.replicaId());
    }
  }

  private void running(Member member, ReplicaInfo replica, Turn turn) {
    if (member.phase == ReplicaPhase.STOPPING && member.info == null) {
      // It had started when it was told to stop.
      member.commandedNanos = turn.nowNanos;
      turn.add(new StopReplica(epoch, member.id, member.grace, member.reason));
    } else if (member.phase == ReplicaPhase.STARTING) {
      member.info = replica;
      runs(member, turn);
    }
  }

  private void runs(Member member, Turn turn) {
    to(member, member.next == null ? ReplicaPhase.RUNNING : ReplicaPhase.UPDATING, "", turn);
    started(member);
  }

  private static void started(Member member) {
    Fleet fleet = member.fleet;
    fleet.progress = fleet.progress.started(member.target, fleet.target, fleet.othersServe());
  }

  private void reconfigured(Member member, DeploymentVersion version, Turn turn) {
    DeploymentTarget next = member.next;
    if (next == null || !next.version().equals(version)) {
      return; // an answer of earlier
    }
    member.target = next;
    member.next = null;
    if (member.phase == ReplicaPhase.UPDATING) {
      to(member, ReplicaPhase.RUNNING, "", turn);
      started(member);
    }
  }

  private void reconfigureFailed(
      Member member, ControllerEvent.ReconfigureFailed event, Turn turn) {
    if (member.phase != ReplicaPhase.UPDATING || !member.version().equals(event.version())) {
      return;
    }
    String reason = "reconfigure: " + event.reason();
    fail(member, Failure.RECONFIGURE, reason, turn);
    member.next = null;
    member.refused = true;
    to(member, ReplicaPhase.RUNNING, reason, turn);
  }

  private void draining(Member member, Turn turn) {
    if (member.isActive() || member.phase == ReplicaPhase.STOPPING) {
      if (member.isActive()) {
        member.grace =
            member.fleet.target.settings().get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S);
      }
      member.commandedNanos = turn.nowNanos;
      to(member, ReplicaPhase.DRAINING, member.reason, turn);
    }
  }

  private void health(Member member, ControllerEvent.ReplicaHealth event, Turn turn) {
    if (member.healthy == event.healthy()) {
      return;
    }
    boolean was = member.isSick();
    member.healthy = event.healthy();
    if (member.isActive() && was != member.isSick()) { // one whose start was not heard of, too
      member.reason = event.reason();
      if (member.isServing() && member.isSick()) {
        fail(member, Failure.HEALTH, event.reason(), turn);
      }
      turn.touch(member.fleet);
    }
  }

  private void suspect(Member member, ControllerEvent.ReplicaSuspect event, Turn turn) {
    if (member.isServing()) {
      Suspicion before = member.suspicion;
      member.suspicion =
          event.suspect() ? before.suspected(turn.nowNanos) : before.cleared(turn.nowNanos);
      if (!before.equals(member.suspicion)) {
        member.reason = member.isSick() ? member.reason : event.reason();
        turn.touch(member.fleet);
      }
    }
  }

  private static void waits(Member member, ControllerEvent.ReplicaWaits event) {
    if (member.phase == ReplicaPhase.STARTING) {
      member.reason = event.reason();
    }
  }

  private void failed(Member member, String reason, Turn turn) {
    if (member.info != null) {
      return; // it ran: told of it twice, or late
    }
    if (member.phase == ReplicaPhase.STARTING) {
      fail(member, Failure.START, reason, turn);
      member.fleet.remember(member, reason);
    }
    gone(member, reason, turn);
  }

  private void stopped(Member member, Turn turn) {
    String reason = member.reason;
    if (member.isActive()) {
      boolean ran = member.phase != ReplicaPhase.STARTING;
      reason = ran ? "it died" : "it died while it started";
      if (!member.isSick()) {
        fail(member, ran ? Failure.HEALTH : Failure.START, reason, turn);
      }
      member.fleet.remember(member, reason);
    }
    gone(member, reason, turn);
  }

  private void fail(Member member, Failure how, String reason, Turn turn) {
    Fleet fleet = member.fleet;
    fleet.progress =
        fleet.progress.failed(
            how,
            member.version(),
            fleet.target,
            fleet.othersServe(),
            reason,
            turn.nowNanos,
            chance.getAsDouble());
  }

  private void gone(Member member, String reason, Turn turn) {
    members.remove(member.id);
    member.fleet.members.remove(member.id);
    over(member.id);
    to(member, ReplicaPhase.STOPPED, reason, turn);
  }

  private void over(String replicaId) {
    ended.add(replicaId);
    if (ended.size() > MAX_ENDED) {
      ended.remove(ended.iterator().next());
    }
  }

  /** Takes what was complete by another controller. */
  void recall(Fleet fleet, DeploymentTarget complete, Turn turn) {
    fleet.kept = complete;
    if (!fleet.held && !fleet.deleting && fleet.progress.complete() == null) { // told late
      fleet.progress = fleet.progress.recalled(complete, fleet.target);
      turn.touch(fleet);
    }
  }

  /** Takes a replica that runs already and that another controller started. */
  void adopt(Fleet fleet, ControllerEvent.Inventory.Found found, Turn turn) {
    String id = found.info().replicaId();
    if (members.containsKey(id) || ended.contains(id)) {
      return;
    }
    Member member =
        new Member(fleet, id, found.target(), ReplicaPhase.RECOVERING, found.startedMs());
    boolean leaves =
        found.phase() == ReplicaPhase.DRAINING || found.phase() == ReplicaPhase.STOPPING;
    member.next = leaves ? null : found.next();
    member.healthy = found.healthy();
    member.refused = found.refused();
    member.commandedNanos = turn.nowNanos;
    fleet.members.put(id, member);
    members.put(id, member);
    announce(member, "", turn);
    turn.touch(fleet);
    switch (found.phase()) {
      case STARTING -> to(member, ReplicaPhase.STARTING, "", turn);
      case DRAINING, STOPPING -> {
        member.info = found.info();
        member.grace = found.target().settings().get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S);
        to(member, ReplicaPhase.DRAINING, "", turn);
      }
      default -> {
        member.info = found.info();
        member.commandedNanos -= Member.REPEAT_NANOS; // who was asked before may have answered
        runs(member, turn);
      }
    }
  }

  // --- waking ---

  private static long ownWakeNanos(Fleet fleet, long nowNanos) {
    long next = Long.MAX_VALUE;
    for (Member member : fleet.members.values()) {
      next = Math.min(next, member.repeatNanos());
      if (member.suspicion.isOut(nowNanos)) {
        next = Math.min(next, member.suspicion.untilNanos());
      }
    }
    return next;
  }

  private void wakeAt(Fleet fleet, long nanos) {
    if (fleet.wakeNanos != nanos) {
      waking.remove(fleet);
      fleet.wakeNanos = nanos;
      if (nanos != Long.MAX_VALUE) {
        waking.add(fleet);
      }
    }
  }

  long nextWakeNanos() {
    return waking.isEmpty() ? Long.MAX_VALUE : waking.first().wakeNanos;
  }

  void wake(Turn turn) {
    while (!waking.isEmpty() && waking.first().wakeNanos - turn.nowNanos <= 0) {
      Fleet due = waking.first();
      wakeAt(due, Long.MAX_VALUE);
      turn.touch(due);
    }
  }
}
