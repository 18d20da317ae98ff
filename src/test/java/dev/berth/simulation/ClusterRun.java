package dev.berth.simulation;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentId;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.fakes.Replicas;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.replica.Replica;
import dev.berth.routing.DeploymentRouter;
import dev.berth.view.LedgerView;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * What runs of several deployments share: instances, replicas on seats of theirs that are killed
 * and started again, and snapshots, which reach each instance late.
 */
abstract class ClusterRun implements SimulatedInstance.TickListener {
  /** Longer than any lease, and any memory of one. */
  private static final long REST_NANOS = millis(12_000);

  /** Seeds per seed with a second life; odd, as every second seed of legs is calm. */
  private static final int MEASURED_EACH = Integer.getInteger("simulation.measured", 11);

  /** Longer than a ledger remembers a router that sends it nothing. */
  private static final int FORGETS_SECONDS = 30;

  /**
   * Totals, places in sequences, and the failures in a row of a replica, which are its next
   * answer's to end: with {@link Footprint#GROWS} all that may grow from life to life.
   */
  private static final Set<String> GROWS =
      Set.of(
          "stream.StreamMemoryBudget.waits",
          "replica.PassiveHealth.answered",
          "replica.PassiveHealth.failed",
          "replica.PassiveHealth.inARow",
          "replica.ReplicaLoop.earliest",
          "replica.slots.RouterAttempts.forgotten",
          "replica.slots.RouterAttempts.newest",
          "replica.slots.RouterAttempts.newestThen",
          "routing.HandleCounters.collectedAnew",
          "routing.RouterLoop.requestIds");

  /** A replica to keep running. */
  static final class Seat {
    final DeploymentId deployment;
    final SimulatedInstance at;
    final int loop;
    final int max;
    @Nullable Replica current;

    Seat(DeploymentId deployment, SimulatedInstance at, int loop, int max) {
      this.deployment = deployment;
      this.at = at;
      this.loop = loop;
      this.max = max;
    }
  }

  final World world;
  final SplittableRandom random; // of what happens
  final List<SimulatedInstance> instances = new ArrayList<>();
  final List<Seat> seats = new ArrayList<>();
  final List<Replica> started = new ArrayList<>(); // those that are over included
  boolean over; // no more faults
  private long version;
  private int starts;

  ClusterRun(World world, SplittableRandom random) {
    this.world = world;
    this.random = random;
  }

  static long millis(long millis) {
    return SimulatedInstance.Settings.millis(millis);
  }

  /** What a replica runs. */
  abstract AsyncHandler handler(Seat seat);

  /** How long an instance takes to hear of a snapshot. */
  abstract long toldAfterNanos();

  /** Whether replicas of it are to run. */
  boolean wants(DeploymentId id) {
    return true;
  }

  /** Requests arrive, faults happen; it ends when all is at rest, and has been checked. */
  abstract void live();

  /** Objects of an instance that must not grow from life to life. */
  Object[] measured(SimulatedInstance at) {
    return new Object[] {at.plane};
  }

  /** What holds after every event. */
  void check() {}

  final void instances(int count, SimulatedBus bus, SimulatedInstance.Settings settings) {
    for (int number = 1; number <= count; number++) {
      instances.add(new SimulatedInstance(world, bus, "n" + number, settings));
    }
  }

  // --- replicas ---

  final void start(Seat seat) {
    if (!wants(seat.deployment) || seat.current != null) {
      return;
    }
    seat.at.start(
        seat.loop,
        Replicas.spec(
            seat.deployment + "#" + ++starts,
            seat.deployment,
            random.nextLong(),
            seat.max,
            context -> handler(seat)),
        replica -> {
          started.add(replica);
          if (wants(seat.deployment) && seat.current == null) { // else one was started meanwhile
            seat.current = replica;
            changed(seat.deployment);
          } else {
            replica.kill();
          }
        });
  }

  final void kill(Seat seat, long restartedNanos) {
    Replica dying = seat.current;
    if (dying == null) {
      return;
    }
    seat.current = null;
    world.note("killed", dying.replicaId());
    dying.kill();
    changed(seat.deployment);
    world.after(1 + random.nextLong(restartedNanos), "restart", () -> start(seat));
  }

  /** Other replicas of it run. */
  void changed(DeploymentId id) {
    publish(id);
  }

  final void publish(DeploymentId id) {
    List<RoutingSnapshot.SnapshotReplica> routes = new ArrayList<>();
    for (Seat seat : seats) {
      Replica current = seat.current;
      if (seat.deployment.equals(id) && current != null) {
        routes.add(new RoutingSnapshot.SnapshotReplica(Replicas.info(current), true));
      }
    }
    RoutingSnapshot.SnapshotVersion next = new RoutingSnapshot.SnapshotVersion(1, ++version);
    RoutingSnapshot snapshot = new RoutingSnapshot(id, next, true, routes);
    instances.forEach(
        each -> world.after(toldAfterNanos(), "snapshot", () -> each.routers.update(snapshot)));
  }

  /** Answers after a while; cancelled, at once. */
  static Future<Response> answer(
      SimulatedLoop loop, long takesNanos, String text, RequestContext context) {
    Promise<Response> answer = Promise.promise();
    loop.start(takesNanos, () -> answer.tryComplete(Response.text(text)));
    context.onCancel(() -> answer.tryComplete(Response.text("cancelled")));
    return answer.future();
  }

  // --- the end ---

  /** Runs a life and, in some seeds, a second one, after which no instance holds more. */
  final void lives() {
    live();
    if (world.seed % MEASURED_EACH == 3 % MEASURED_EACH) {
      Map<SimulatedInstance, Footprint> before = footprints();
      live();
      Set<String> grows = new HashSet<>(Footprint.GROWS);
      grows.addAll(GROWS);
      footprints()
          .forEach(
              (at, now) -> {
                Map<String, String> grown = now.grownSince(before.get(at), grows);
                world.failIf(!grown.isEmpty(), () -> at.node + ": grew in a life: " + grown);
              });
    }
  }

  private Map<SimulatedInstance, Footprint> footprints() {
    for (int second = 0; second < FORGETS_SECONDS; second++) {
      instances.forEach(each -> each.host.tick()); // looks at its replicas, as the node has it do
      world.runTo(world.elapsedNanos() + millis(1_000), this::check);
    }
    Map<SimulatedInstance, Footprint> made = new LinkedHashMap<>();
    instances.forEach(each -> made.put(each, Footprint.of(measured(each))));
    return made;
  }

  final void rest() {
    world.runTo(world.elapsedNanos() + REST_NANOS, this::check);
  }

  /** Nothing runs, waits, or is remembered. */
  void checkAtEnd() {
    for (Replica replica : started) {
      replica.slots().audit();
      LedgerView view = replica.view();
      boolean rests = view.running() + view.reserved() == 0;
      world.failIf(!rests || view.audit() != LedgerView.Audit.CLEAN, () -> "not at rest: " + view);
    }
    instances.forEach(SimulatedInstance::checkEmpty);
  }

  /** What their routers come to, all told. */
  final List<DeploymentRouter> routers() {
    return instances.stream().flatMap(each -> each.routers.all().stream()).toList();
  }
}
