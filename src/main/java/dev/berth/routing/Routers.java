package dev.berth.routing;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.InstancePorts;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.routing.explain.ExplainPorts;
import dev.berth.routing.ranking.PowerOfTwoRanker;
import dev.berth.routing.slots.BlockedLoops;
import dev.berth.routing.slots.InstanceBounds;
import dev.berth.routing.slots.LocalReplica;
import dev.berth.routing.slots.RemoteReplica;
import dev.berth.routing.slots.RoutedReplica;
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
 * All routers of one instance: a {@link DeploymentRouter} for each deployment it calls, a {@link
 * RouterLoop} for each of its event loops, and what they share.
 */
public final class Routers {
  /** Just longer than what {@link EndedRate} counts over: each look of a round is of use. */
  private static final int TICKS_PER_ROUND =
      (int) (EndedRate.INTERVAL_NANOS / DeadlineRing.TICK_NANOS) + 1;

  private record Remote(DeploymentRouter router, RemoteReplica replica) {}

  private record Watch(Consumer<DeploymentId> made, Consumer<DeploymentId> forgotten) {
    static final Watch NONE = new Watch(made -> {}, forgotten -> {});
  }

  private final String node;
  final @Nullable String zone;
  private final ReplicaDirectory directory;
  private final InstanceBounds bounds;
  final ExplainPorts explain;
  private final RouterLoop[] loops;
  final BlockedLoops blocked;
  final long unavailableNanos;
  private volatile boolean controlled = true;
  private final ReplicaRanker usual = new PowerOfTwoRanker();
  private final RandomGenerator random; // of loop 0's tick, and the seed of the pumps'
  private final ConcurrentHashMap<DeploymentId, DeploymentRouter> byDeployment =
      new ConcurrentHashMap<>();
  final ConcurrentHashMap<ReplicaAddress, Remote> remotes = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<DeploymentId, DeploymentRouter> calling =
      new ConcurrentHashMap<>(); // other instances; by id, so that a run has its order again
  private volatile Watch watch = Watch.NONE;
  volatile Consumer<BusMessage.AskReservation> keeper = ask -> {};

  // Loop 0's: a round over all routers.
  private Iterator<DeploymentRouter> round = Collections.emptyIterator();
  private int roundTick = TICKS_PER_ROUND;
  private int share;

  /**
   * @param directory finds the slots of this instance's replicas
   * @param bounds what all of them may hold together
   * @param limits of each loop
   */
  public Routers(
      InstancePorts ports,
      ReplicaDirectory directory,
      ExplainPorts explain,
      InstanceBounds bounds,
      LoopLimits limits) {
    this.explain = explain;
    this.node = ports.node();
    this.zone = ports.zone();
    this.directory = directory;
    this.bounds = bounds;
    this.random = ports.random();
    this.unavailableNanos = limits.unavailableNanos();
    this.loops = new RouterLoop[ports.loops().size()];
    this.blocked = new BlockedLoops(loops.length);
    for (int index = 0; index < loops.length; index++) {
      loops[index] = new RouterLoop(this, ports, index, limits);
    }
  }

  public int loops() {
    return loops.length;
  }

  /** The routers' share of an event loop. */
  public RouterLoop loop(int index) {
    return loops[index];
  }

  public InstanceBounds bounds() {
    return bounds;
  }

  /** The router of a deployment, made when first asked for. Any thread. */
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
    return made;
  }

  /** Who answers what other instances ask of reservations. On the loop that is asked. */
  public void whenAsked(Consumer<BusMessage.AskReservation> keeps) {
    keeper = keeps;
  }

  private synchronized long seed() {
    return random.nextLong();
  }

  /**
   * Who is told of each router that is made, those that exist included, and of each that is
   * forgotten. On whichever thread that happens, possibly twice for the same.
   */
  public void watch(Consumer<DeploymentId> made, Consumer<DeploymentId> forgotten) {
    watch = new Watch(made, forgotten);
    byDeployment.keySet().forEach(made);
  }

  /** A deployment is gone: who waits for it is told, and so is who asks its router yet. */
  public void forget(DeploymentId deployment) {
    DeploymentRouter gone = byDeployment.remove(deployment);
    if (gone != null) {
      gone.retire();
      watch.forgotten.accept(deployment);
    }
  }

  /** The router of a deployment, if there is one. */
  public @Nullable DeploymentRouter find(DeploymentId deployment) {
    return byDeployment.get(deployment);
  }

  /** Every router now. */
  public Collection<DeploymentRouter> all() {
    return byDeployment.values();
  }

  /** Passes a snapshot to its router; nothing when no one calls that deployment here. */
  public void update(RoutingSnapshot snapshot) {
    DeploymentRouter router = byDeployment.get(snapshot.deployment());
    if (router != null) {
      router.update(snapshot);
    }
  }

  /**
   * Called about every 25 ms on loop 0, beside that loop's own tick. Routers are looked at in
   * turns, so that thousands of idle ones cost a tick little, but for those that may have to ask
   * elsewhere.
   */
  public void tick() {
    long now = loops[0].now();
    for (DeploymentRouter router : calling.values()) {
      router.probe(now, loops[0].ports.random());
    }
    if (++roundTick >= TICKS_PER_ROUND) {
      roundTick = 0;
      round = byDeployment.values().iterator();
      share = byDeployment.size() / TICKS_PER_ROUND + 1;
    }
    for (int i = 0; i < share && round.hasNext(); i++) {
      round.next().measure(now);
    }
  }

  /** Whether replicas of that router are elsewhere. Under the router's lock. */
  void calls(DeploymentRouter router, boolean elsewhere) {
    if (elsewhere) {
      calling.put(router.deployment(), router);
    } else {
      calling.remove(router.deployment(), router);
    }
  }

  // --- loops ---

  /**
   * An event loop of this instance takes no tasks, or does so again. Replicas whose handlers run on
   * a blocked one get nothing new while a deployment has others, and who waits there is passed
   * over. Not on the loop itself; cheap, but for the sets of replicas that are made anew.
   */
  public void loopBlocked(int loop, boolean isBlocked) {
    if (blocked.set(loop, isBlocked)) {
      byDeployment.values().forEach(DeploymentRouter::placesChanged);
    }
  }

  /**
   * Records whether this instance hears a controller, as one without a cluster does. Any thread.
   */
  public void controlled(boolean isControlled) {
    controlled = isControlled;
    long now = loops[0].now();
    byDeployment.values().forEach(router -> router.lookWhetherReached(now));
  }

  boolean isControlled() {
    return controlled;
  }

  // --- replicas ---

  @Nullable RoutedReplica join(DeploymentRouter router, RoutingSnapshot.Route route) {
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
      remotes.put(address, new Remote(router, remote));
      return remote;
    }
    Slots slots = directory.slotsOf(address);
    if (slots == null) {
      return null; // stopped since the snapshot was made
    }
    LocalReplica local =
        new LocalReplica(route.replica(), route.routable(), slots, router.queue, loops.length);
    directory.observe(address, (SlotObserver) local);
    return local;
  }

  void forget(RoutedReplica left) {
    remotes.remove(left.info.address());
  }

  void reported(ReplicaAddress target, long load) {
    Remote remote = remotes.get(target);
    if (remote != null && remote.replica.reported(load)) {
      remote.router.pumpIfWaiting();
    }
  }

  void offered(BusMessage.SlotOffer offer, long now) {
    Remote remote = remotes.get(offer.target());
    if (remote == null || offer.acceptMicros() == 0) {
      loops[0].release(offer.target(), offer.attempt());
      return;
    }
    remote.replica.reported(offer.load());
    remote.router.offered(
        remote.replica,
        new RemoteReplica.Offer(
            offer.attempt(), offer.token(), now + offer.acceptMicros() * 1_000));
  }

  /**
   * Whether an instance is suspected to be dead: while it is, its replicas get nothing new while a
   * deployment has others. What waits for them waits on. Any thread.
   */
  public void suspected(String suspect, boolean isSuspected) {
    if (blocked.suspect(suspect, isSuspected)) {
      byDeployment.values().forEach(DeploymentRouter::placesChanged);
    }
  }

  /**
   * What a loop here sent to an instance, or the answers, may be lost, though it lives: fails what
   * waits for them, and tells it so when it can be told. Leases there are kept. Any thread.
   */
  public void linkBroken(String peer, int loop) {
    RouterLoop from = loops[loop];
    from.post(() -> from.lost(address -> address.node().equals(peer), false)); // behind refusals
  }

  /**
   * An instance left or died: fails what waits for it and forgets its replicas. Where a replica
   * dies alone, its instance answers for it. Any thread.
   */
  public void nodeLost(String lost) {
    suspected(lost, false);
    Predicate<ReplicaAddress> gone = address -> address.node().equals(lost);
    for (DeploymentRouter router : byDeployment.values()) {
      router.lost(replica -> gone.test(replica.info.address()));
    }
    for (RouterLoop loop : loops) {
      loop.run(() -> loop.lost(gone, true));
    }
  }
}
