package dev.berth.routing;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.protocol.port.TickTimer;
import dev.berth.routing.explain.ExplainPorts;
import dev.berth.routing.ranking.PowerOfTwoRanker;
import dev.berth.routing.slots.InstanceQueueLimits;
import dev.berth.routing.slots.LocalReplica;
import dev.berth.routing.slots.RemoteReplica;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.routing.slots.RoutingExclusions;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * All routers of one instance: a {@link DeploymentRouter} for each deployment that it calls, a
 * {@link RouterLoop} for each event loop, and their shared state.
 */
public final class Routers {
  /**
   * Ticks of one round, just longer than the interval of {@link CompletionRate}: each measurement
   * counts.
   */
  private static final int TICKS_PER_ROUND =
      (int) (CompletionRate.INTERVAL_NANOS / TickTimer.TICK_NANOS) + 1;

  private record RemoteReplicaEntry(DeploymentRouter router, RemoteReplica replica) {}

  private record RouterListeners(Consumer<DeploymentId> made, Consumer<DeploymentId> forgotten) {
    static final RouterListeners NONE = new RouterListeners(made -> {}, forgotten -> {});
  }

  private final String node;
  final @Nullable String zone;
  private final ReplicaDirectory directory;
  public final InstanceQueueLimits bounds;
  final ExplainPorts explain;
  private final RouterLoop[] loops;
  final RoutingExclusions blocked;
  final long unavailableNanos;
  private volatile boolean controlled = true;
  private final ReplicaRanker usual = new PowerOfTwoRanker();
  private final RandomGenerator random; // of loop 0's tick; also seeds the pumps' generators
  private final ConcurrentHashMap<DeploymentId, DeploymentRouter> byDeployment =
      new ConcurrentHashMap<>();
  final ConcurrentHashMap<ReplicaAddress, RemoteReplicaEntry> remotes = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<DeploymentId, DeploymentRouter> calling =
      // with remote replicas; keyed by id, so that a replayed run has the same order
      new ConcurrentHashMap<>();
  private volatile RouterListeners watch = RouterListeners.NONE;
  volatile Consumer<BusMessage.AskReservation> keeper = ask -> {};

  // State of loop 0: a round over all routers.
  private Iterator<DeploymentRouter> round = Collections.emptyIterator();
  private int roundTick = TICKS_PER_ROUND;
  private int share;
  private long tickedNanos;
  private volatile boolean probing; // requests of deployments with remote replicas wait

  /**
   * @param directory finds the slots of this instance's replicas
   * @param bounds limits shared by all routers
   * @param limits limits of each loop
   */
  public Routers(
      InstanceDependencies ports,
      ReplicaDirectory directory,
      ExplainPorts explain,
      InstanceQueueLimits bounds,
      LoopLimits limits) {
    this.explain = explain;
    this.node = ports.node();
    this.zone = ports.zone();
    this.directory = directory;
    this.bounds = bounds;
    this.random = ports.random();
    this.unavailableNanos = limits.unavailableNanos();
    this.loops = new RouterLoop[ports.loops().size()];
    this.blocked = new RoutingExclusions(loops.length);
    for (int index = 0; index < loops.length; index++) {
      loops[index] = new RouterLoop(this, ports, index, limits);
    }
  }

  public int loops() {
    return loops.length;
  }

  /** Returns the routing state of an event loop. */
  public RouterLoop loop(int index) {
    return loops[index];
  }

  /** Returns the first loop that is not blocked; the first one if all are. Thread-safe. */
  RouterLoop runningLoop() {
    for (RouterLoop each : loops) {
      if (!blocked.contains(each.index())) {
        return each;
      }
    }
    return loops[0];
  }

  /** Returns the router of a deployment, created on first use. Thread-safe. */
  public DeploymentRouter router(DeploymentId deployment, RouterSettings settings) {
    DeploymentRouter known = byDeployment.get(deployment);
    if (known != null) {
      return known;
    }
    DeploymentRouter made =
        byDeployment.computeIfAbsent(
            deployment,
            id ->
                new DeploymentRouter(
                    this, id, settings, usual, new java.util.SplittableRandom(seed())));
    watch.made.accept(deployment);
    loops[0].run(loops[0].ports.ticks().deadlines::need); // measures it from now on
    return made;
  }

  /**
   * Sets the handler of reservation requests from other instances; runs on the loop that receives
   * them.
   */
  public void whenAsked(Consumer<BusMessage.AskReservation> keeps) {
    keeper = keeps;
  }

  private synchronized long seed() {
    return random.nextLong();
  }

  /**
   * Sets the listeners for created and forgotten routers; existing routers are reported as created.
   * The listeners run on the thread of the event, possibly twice for one deployment.
   */
  public void watch(Consumer<DeploymentId> made, Consumer<DeploymentId> forgotten) {
    watch = new RouterListeners(made, forgotten);
    byDeployment.keySet().forEach(made);
  }

  /**
   * Retires the router of a removed deployment. Its waiters fail, as do later requests to this
   * router.
   */
  public void forget(DeploymentId deployment) {
    DeploymentRouter gone = byDeployment.remove(deployment);
    if (gone != null) {
      gone.retire();
      watch.forgotten.accept(deployment);
    }
  }

  /** Returns the router of a deployment; null if there is none. */
  public @Nullable DeploymentRouter find(DeploymentId deployment) {
    return byDeployment.get(deployment);
  }

  /** Returns all routers. */
  public Collection<DeploymentRouter> all() {
    return byDeployment.values();
  }

  /** Passes a snapshot to its router; no effect if this instance does not call that deployment. */
  public void update(RoutingSnapshot snapshot) {
    DeploymentRouter router = byDeployment.get(snapshot.deployment());
    if (router != null) {
      router.update(snapshot);
    }
  }

  /**
   * Probes and measures. Called on loop 0, about every 25 ms unless {@link #untilTick} permits
   * more. Routers are measured in turns, so that thousands of idle routers cost each tick little;
   * routers with remote replicas are probed in every tick.
   */
  public void tick() {
    long now = loops[0].now();
    for (DeploymentRouter router : calling.values()) {
      router.probe(now, loops[0].ports.random());
    }
    long ticks = Math.round((now - tickedNanos) / (double) TickTimer.TICK_NANOS);
    int passed = (int) Math.max(1, Math.min(ticks, TICKS_PER_ROUND));
    tickedNanos = now;
    roundTick += passed;
    if (roundTick >= TICKS_PER_ROUND) {
      roundTick = 0;
      round = byDeployment.values().iterator();
      share = byDeployment.size() / TICKS_PER_ROUND + 1;
    }
    for (int i = share * passed; i > 0 && round.hasNext(); i--) {
      round.next().measure(now);
    }
  }

  /** Returns the nanoseconds until the next tick is needed; 0 while requests may probe replicas. */
  public long untilTick() {
    probing = false; // before the look, so that a request that waits after it wakes this loop
    probing = calling.values().stream().anyMatch(router -> !router.queue.isEmpty());
    return probing ? 0 : byDeployment.isEmpty() ? TickTimer.NEVER : TickTimer.IDLE_NANOS;
  }

  /** Ensures that loop 0 probes the remote replicas of a deployment, if it has any. Thread-safe. */
  void probesFor(DeploymentId deployment) {
    if (!probing && calling.containsKey(deployment)) {
      loops[0].run(loops[0].ports.ticks().deadlines::need);
    }
  }

  /** Records whether a router has remote replicas. Call under the router's lock. */
  void calls(DeploymentRouter router, boolean elsewhere) {
    if (elsewhere) {
      calling.put(router.deployment(), router);
      probesFor(router.deployment()); // for requests that wait already
    } else {
      calling.remove(router.deployment(), router);
    }
  }

  // --- loops ---

  /**
   * Records that an event loop of this instance is blocked, or runs again. While a deployment has
   * other replicas, those on a blocked loop receive no new requests, and waiters of that loop are
   * skipped. Not called on that loop. Cheap, except that the sets of replicas are created again.
   */
  public void loopBlocked(int loop, boolean isBlocked) {
    if (blocked.set(loop, isBlocked)) {
      byDeployment.values().forEach(DeploymentRouter::placesChanged);
    }
  }

  /** Records whether this instance has a controller; always true without a cluster. Thread-safe. */
  public void controlled(boolean isControlled) {
    controlled = isControlled;
    long now = loops[0].now();
    byDeployment.values().forEach(router -> router.lookWhetherReached(now));
  }

  boolean isControlled() {
    return controlled;
  }

  // --- replicas ---

  @Nullable RoutedReplica join(DeploymentRouter router, RoutingSnapshot.SnapshotReplica route) {
    ReplicaAddress address = route.replica().address();
    if (!address.node().equals(node)) {
      LongSupplier clock = loops[0].ports.nanoClock();
      RemoteReplica remote =
          new RemoteReplica(
              route.replica(),
              route.routable(),
              clock,
              attempt -> loops[0].release(address, attempt),
              router::placesChanged);
      remotes.put(address, new RemoteReplicaEntry(router, remote));
      return remote;
    }
    Slots slots = directory.slotsOf(address);
    if (slots == null) {
      return null; // stopped since the snapshot was created
    }
    LocalReplica local =
        new LocalReplica(
            route.replica(),
            route.routable(),
            slots,
            directory.batchesOf(address),
            router.queue,
            loops.length);
    directory.observe(address, (SlotObserver) local);
    return local;
  }

  void forget(RoutedReplica left) {
    remotes.remove(left.info.address());
  }

  void onLoadReport(ReplicaAddress target, long load) {
    RemoteReplicaEntry remote = remotes.get(target);
    if (remote != null && remote.replica.recordLoadReport(load)) {
      remote.router.pumpIfWaiting();
    }
  }

  void offered(BusMessage.SlotOffer offer, long now) {
    RemoteReplicaEntry remote = remotes.get(offer.target());
    if (remote == null || offer.acceptMicros() == 0) {
      for (int i = 0; i < offer.tokens().size(); i++) {
        loops[0].release(offer.target(), offer.attempt().plus(i));
      }
      return;
    }
    remote.replica.recordLoadReport(offer.load());
    remote.router.offered(remote.replica, offer, now + offer.acceptMicros() * 1_000);
  }

  /**
   * Records whether an instance is suspected to be dead. While a deployment has other replicas,
   * those of a suspected instance receive no new requests. Operations that await replies continue
   * to wait. Thread-safe.
   */
  public void suspected(String suspect, boolean isSuspected) {
    if (blocked.suspect(suspect, isSuspected)) {
      byDeployment.values().forEach(DeploymentRouter::placesChanged);
    }
  }

  /**
   * Handles a broken link to an instance that is still alive: messages of a loop, or their replies,
   * may be lost. Fails the operations that await replies, and cancels them there once the link
   * works again. Leases there persist. Thread-safe.
   */
  public void linkBroken(String peer, int loop) {
    RouterLoop from = loops[loop];
    from.post(
        () -> from.onRepliesLost(address -> address.node().equals(peer), false)); // after refusals
  }

  /**
   * Handles an instance that left or died: fails the operations that await its replies, and removes
   * its replicas. If only a replica dies, its instance replies in its place. Thread-safe.
   */
  public void nodeLost(String lost) {
    suspected(lost, false);
    Predicate<ReplicaAddress> gone = address -> address.node().equals(lost);
    for (DeploymentRouter router : byDeployment.values()) {
      router.removeLost(replica -> gone.test(replica.info.address()));
    }
    for (RouterLoop loop : loops) {
      loop.run(() -> loop.onRepliesLost(gone, true));
    }
  }
}
