package dev.berth.simulation;

import dev.berth.api.HandlerFactory;
import dev.berth.fakes.Replicas;
import dev.berth.metrics.LatencyBuckets;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaLimits;
import dev.berth.replica.ReplicaSpec;
import dev.berth.routing.RoutingProbe;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Starts, drains, kills and restarts replicas, changes their slots, and publishes snapshots, which
 * reach each instance late, some in the wrong order.
 */
final class SimulatedController {
  private static final long REPUBLISH_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long DETECT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** A replica to keep running, incarnation after incarnation. */
  static final class Seat {
    final int number;
    SimulatedInstance instance;
    final int loop;
    int place; // among restarts: those planned before a crash are void
    @Nullable Incarnation current;

    Seat(int number, SimulatedInstance instance, int loop) {
      this.number = number;
      this.instance = instance;
      this.loop = loop;
    }
  }

  /** One start of a replica, kept until its ledger is empty. */
  static final class Incarnation {
    final Seat seat;
    final Replica replica;
    boolean routable = true;
    boolean stopped;
    long drainDueNanos = Long.MAX_VALUE; // elapsed time by which the drain must be over
    long stalledAtDrainNanos;
    int ceiling; // ongoing was allowed to be this when the max was lowered
    long grantedAtDrain = -1;
    int zombies; // when last looked at
    boolean wasOverMax;
    long grantedBefore;

    Incarnation(Seat seat, Replica replica) {
      this.seat = seat;
      this.replica = replica;
      this.ceiling = replica.slots().maxOngoing();
    }

    SimulatedLoop loop() {
      return seat.instance.loops.get(seat.loop);
    }
  }

  final List<Seat> seats = new ArrayList<>();
  final List<Incarnation> incarnations = new ArrayList<>(); // not yet empty
  private final Simulation on;
  private final SplittableRandom random;
  private final Map<RoutingSnapshot.SnapshotVersion, RoutingSnapshot> published = new HashMap<>();
  private long version;
  private long partedNanos = Long.MIN_VALUE / 2;
  private int starts;
  private boolean failedToDeploy;
  private boolean steady; // no more restarts are needed

  SimulatedController(Simulation on) {
    this.on = on;
    this.random = on.world.randomness();
    seats.add(new Seat(0, on.instances.get(0), 0));
    seats.add(new Seat(1, on.instances.get(0), 1));
    for (int other = 1; other < Math.min(3, on.instances.size()); other++) { // a fourth has none
      seats.add(new Seat(1 + other, on.instances.get(other), (1 + other) % 2));
    }
  }

  void start() {
    seats.forEach(this::start);
    republish();
  }

  /** From now on nothing changes but what is under way. */
  void settle() {
    steady = true;
    seats.stream().filter(seat -> seat.current != null).forEach(this::open);
    if (failedToDeploy) {
      deployAgain();
    }
  }

  private void republish() {
    on.world.idle(
        REPUBLISH_NANOS,
        () -> {
          publish();
          republish();
        });
  }

  // --- replicas ---

  private void start(Seat seat) {
    String id = "app#model#" + seat.number + "." + ++starts;
    SimulatedLoop loop = seat.instance.loops.get(seat.loop);
    ReplicaSpec spec =
        on.batching
            ? spec(
                id,
                4 + random.nextInt(13),
                context -> new SimulatedBatchHandler(on, id, loop),
                on.batches.limits(seat.instance))
            : spec(id, 1 + random.nextInt(4), context -> new SimulatedHandler(on, id, loop), null);
    seat.instance.start(
        seat.loop,
        spec,
        replica -> {
          on.world.note("started", id);
          on.coverage.seen(Transition.STARTED);
          Incarnation incarnation = new Incarnation(seat, replica);
          seat.current = incarnation;
          incarnations.add(incarnation);
          on.batches.started(incarnation);
          publish();
        });
  }

  private ReplicaSpec spec(
      String id, int slots, HandlerFactory factory, @Nullable ReplicaLimits limits) {
    return new ReplicaSpec(
        id,
        SimulatedInstance.Settings.DEPLOYMENT,
        random.nextLong(),
        slots,
        Map.of(),
        factory,
        limits,
        Replicas.HEALTH_CHECKS,
        new LatencyBuckets(),
        false,
        null,
        "");
  }

  private void restart(Seat seat) {
    seat.current = null;
    publish();
    int planned = ++seat.place;
    on.world.after(
        1 + random.nextLong(millis(60)),
        "restart",
        () -> {
          if (planned == seat.place) {
            start(seat);
          }
        });
  }

  /** Drains a replica and starts another in its place; false when there is none to drain. */
  boolean drain(Seat seat) {
    Incarnation draining = seat.current;
    if (draining == null || !draining.routable) {
      return false;
    }
    long grace = millis(on.orderly ? 5_000 : random.nextBoolean() ? 50 : 1_500);
    draining.routable = false;
    draining.drainDueNanos = on.world.elapsedNanos() + grace;
    draining.stalledAtDrainNanos = draining.loop().stalledNanos();
    on.world.note("draining", draining.replica.replicaId());
    draining
        .replica
        .shutDown(Duration.ofNanos(grace))
        .onComplete(
            (none, failure) -> {
              draining.stopped = true;
              boolean inTime = draining.replica.slots().ongoing() == 0;
              on.coverage.seen(inTime ? Transition.DRAINED_IN_TIME : Transition.DRAIN_CUT_SHORT);
              on.world.note("stopped", draining.replica.replicaId());
              restart(seat);
            });
    draining.grantedAtDrain = draining.replica.view().granted();
    publish(); // the drain bit first, the snapshot second
    return true;
  }

  boolean kill(Seat seat) {
    Incarnation killed = seat.current;
    if (killed == null || !killed.routable) {
      return false;
    }
    killed.routable = false;
    killed.stopped = true;
    on.world.note("killed", killed.replica.replicaId());
    on.coverage.seen(Transition.KILLED);
    killed.replica.kill();
    killed.grantedAtDrain = killed.replica.view().granted();
    restart(seat);
    return true;
  }

  /** Raises or lowers a replica's slots live; whether they were lowered below what runs. */
  boolean changeMax(Seat seat) {
    Incarnation changed = seat.current;
    if (changed == null || !changed.routable) {
      return false;
    }
    int before = changed.replica.slots().maxOngoing();
    int after =
        on.upstreams && random.nextInt(2) == 0 ? 0 : 1 + random.nextInt(on.batching ? 16 : 5);
    if (after == before) {
      return false;
    }
    on.world.note("max", changed.replica.replicaId() + " " + before + " -> " + after);
    if (after == 0) {
      on.coverage.seen(Transition.REPLICA_CLOSED);
    }
    on.coverage.seen(after > before ? Transition.MAX_RAISED : Transition.MAX_LOWERED);
    changed.ceiling = Math.max(after, changed.replica.slots().ongoing());
    changed.replica.setMaxOngoing(after);
    return after < before;
  }

  private void open(Seat seat) {
    Replica replica = seat.current.replica;
    replica.setMaxOngoing(Math.max(1, replica.slots().maxOngoing()));
  }

  // --- instances ---

  /** When an instance was last told that the other one left. */
  long partedNanos() {
    return partedNanos;
  }

  /** Whether a request has to do with the other instance: its replica is there, or could be. */
  boolean isAmongLost(Op op) {
    if (op.phase() == Phase.QUEUE) {
      return RoutingProbe.routable(op.at.router).stream()
          .anyMatch(replica -> !replica.address().node().equals(op.at.node));
    }
    return incarnations.stream()
        .anyMatch(
            each -> each.seat.instance != op.at && each.replica.replicaId().equals(op.replica()));
  }

  private SimulatedInstance any() {
    int count = on.instances.size();
    return on.instances.get(count == 2 ? 0 : random.nextInt(count));
  }

  /** Another instance; of two it is not drawn. */
  private SimulatedInstance otherThan(SimulatedInstance one) {
    int count = on.instances.size();
    int step = count == 2 ? 1 : 1 + random.nextInt(count - 1);
    return on.instances.get((on.instances.indexOf(one) + step) % count);
  }

  /** Each instance is told that the other one left; the next snapshots bring it back. */
  void nodesLost() {
    partedNanos = on.world.elapsedNanos();
    on.world.note("nodes lost", "");
    SimulatedInstance first = any();
    SimulatedInstance second = otherThan(first);
    first.lose(second.node);
    second.lose(first.node);
  }

  /** What either sent to the other and heard nothing of is given up; leases are kept. */
  void linkBroken() {
    on.world.note("link broken", "");
    SimulatedInstance first = any();
    SimulatedInstance second = otherThan(first);
    for (int loop = 0; loop < first.loops.size(); loop++) {
      first.routers.linkBroken(second.node, loop);
      second.routers.linkBroken(first.node, loop);
    }
  }

  /** One instance suspects the other, until it does not. */
  void suspected() {
    SimulatedInstance at = on.instances.get(random.nextInt(on.instances.size()));
    String other = otherThan(at).node;
    on.world.note("suspected", other + " at " + at.node);
    at.suspect(other, true);
    on.world.after(1 + random.nextLong(millis(300)), "healed", () -> at.suspect(other, false));
  }

  /** An instance dies; the other notices in time, or only by its return. */
  void crash(SimulatedInstance dying, List<SimulatedInstance> survivors, boolean noticed) {
    on.world.note("crashed", dying.node);
    dying.crash();
    on.bus.crash(dying.node);
    incarnations.removeIf(incarnation -> incarnation.seat.instance == dying);
    for (Seat seat : seats) {
      if (seat.instance == dying) {
        seat.current = null;
        seat.place++;
      }
    }
    publish();
    on.world.after(
        1 + random.nextLong(DETECT_NANOS),
        "noticed",
        () -> {
          if (on.instances.stream().noneMatch(instance -> instance == dying)) {
            return; // it is back
          }
          on.bus.noticed(dying.node);
          partedNanos = on.world.elapsedNanos();
          if (noticed) {
            survivors.forEach(each -> each.lose(dying.node));
          }
        });
  }

  /** The instance is back, with empty memory. */
  void returned(SimulatedInstance fresh) {
    on.world.note("returned", fresh.node);
    on.bus.noticed(fresh.node);
    for (Seat seat : seats) {
      if (seat.instance.node.equals(fresh.node)) {
        seat.instance = fresh;
        start(seat);
      }
    }
    publish();
  }

  // --- snapshots ---

  /** The deployment is reported as failed for a while. */
  void failToDeploy() {
    if (!failedToDeploy) {
      failedToDeploy = true;
      publish();
      on.world.after(millis(20) + random.nextLong(millis(60)), "deploy", this::deployAgain);
    }
  }

  private void deployAgain() {
    failedToDeploy = false;
    publish();
  }

  /** Publishes what is now, to each instance after a delay of its own. */
  private void publish() {
    List<RoutingSnapshot.SnapshotReplica> routes = new ArrayList<>();
    for (Seat seat : seats) {
      Incarnation current = seat.current;
      if (current != null) {
        routes.add(
            new RoutingSnapshot.SnapshotReplica(Replicas.info(current.replica), current.routable));
      }
    }
    RoutingSnapshot snapshot =
        new RoutingSnapshot(
            SimulatedInstance.Settings.DEPLOYMENT,
            new RoutingSnapshot.SnapshotVersion(1, ++version),
            !failedToDeploy,
            routes);
    published.put(snapshot.version(), snapshot);
    for (SimulatedInstance instance : on.instances) {
      on.world.after(
          1 + random.nextLong(millis(steady ? 2 : 40)),
          "snapshot",
          () -> {
            if (instance.crashed()) {
              return;
            }
            boolean newer = snapshot.version().compareTo(instance.router.version()) > 0;
            on.coverage.seen(newer ? Transition.SNAPSHOT_TAKEN : Transition.SNAPSHOT_TOO_OLD);
            instance.routers.update(snapshot);
          });
    }
  }

  /** Whether the snapshot in use at an instance names an incarnation as routable. */
  boolean isRoutableAt(SimulatedInstance instance, Incarnation incarnation) {
    RoutingSnapshot inUse = published.get(instance.router.version());
    if (inUse == null || !inUse.available()) {
      return false;
    }
    for (RoutingSnapshot.SnapshotReplica route : inUse.replicas()) {
      if (route.routable() && route.replica().replicaId().equals(incarnation.replica.replicaId())) {
        return !incarnation.stopped;
      }
    }
    return false;
  }

  private static long millis(long millis) {
    return SimulatedInstance.Settings.millis(millis);
  }
}
