package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.metrics.HandleMetricSource;
import dev.berth.metrics.LatencyBuckets;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.SlotDemand;
import dev.berth.protocol.port.ExplainedParent;
import dev.berth.routing.explain.CandidateSnapshot;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.ranking.CurrentRanker;
import dev.berth.routing.slots.BatchForming;
import dev.berth.routing.slots.GangGate;
import dev.berth.routing.slots.InstanceQueueLimits;
import dev.berth.routing.slots.RemoteReplica;
import dev.berth.routing.slots.ReplicaSet;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.routing.slots.RoutingExclusions;
import dev.berth.routing.slots.SlotSource;
import dev.berth.routing.slots.WaiterOwner;
import dev.berth.routing.slots.WaiterQueue;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.ObjIntConsumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Routes the requests of one deployment to its replicas, for all event loops of this instance.
 *
 * <p><b>Acquire.</b> A request that finds the queue empty ranks the replicas and acquires a slot of
 * the first that grants one: a CAS, no message. Otherwise the request joins the one queue that all
 * loops share; {@link WaiterQueue} grants free slots to the oldest waiter. A local replica is thus
 * never over its slots and never idle beside a waiter, on any loop.
 *
 * <p><b>State.</b> The set of replicas is an immutable snapshot, swapped whole. A change is rare
 * and takes a lock, which the hot path never does. The class has over 500 lines, because all of its
 * changes of the set run under that one lock.
 */
public final class DeploymentRouter implements HandleMetricSource {
  /**
   * Hold time of a granted slot until its waiter's loop uses it; a loop blocked for longer loses
   * it.
   */
  static final long HAND_OVER_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Maximum of {@code Retry-After} in seconds; the minimum is 1. */
  private static final int MAX_RETRY_AFTER_SECONDS = 60;

  private final Routers routers;
  private final DeploymentId deployment;
  public final HandleCounters counters = new HandleCounters();
  final InstanceQueueLimits bounds;
  final RoutingExclusions blocked;

  /** Time from the first wait of a request until it has its replica, by loop; 0 without a wait. */
  public final List<LatencyBuckets> fulfillmentTimes; // each written on its loop only

  /** Time from the creation of a selection to its dispatch, by loop. */
  public final List<LatencyBuckets> dispatchGaps; // each written on its loop only

  /** Duration of the health checks of the deployment's replicas on this instance. */
  public final LatencyBuckets healthCheckTimes = new LatencyBuckets(); // written under its lock

  private final BatchForming forming;
  final WaiterQueue queue;

  /** Gate that admits one collector of several slots at a time ({@code berth_legs_waiting}). */
  public final GangGate legGate;

  /** The ranker of the deployment's replicas. */
  public final CurrentRanker ranker;

  volatile ReplicaSet replicas;
  private volatile RouterSettings settings;
  private volatile @Nullable QueueFullText queueFull;
  volatile ProxyRules proxying = ProxyRules.NONE;
  private final CompletionRate endedRate = new CompletionRate(); // input of Retry-After
  private volatile Runnable wanted = () -> {}; // runs when a request waits without a replica
  final ReachWatch reach;

  DeploymentRouter(
      Routers routers,
      DeploymentId deployment,
      RouterSettings settings,
      ReplicaRanker usual,
      RandomGenerator pumpRandom) {
    this.routers = routers;
    this.deployment = deployment;
    this.settings = settings;
    this.reach = new ReachWatch(deployment);
    this.bounds = routers.bounds;
    this.blocked = routers.blocked;
    BooleanSupplier hasFallback = () -> fallbackFor(null, null) != null;
    SlotSource source =
        new SlotSource(
            () -> replicas,
            hasFallback,
            pumpRandom,
            routers.loop(0).ports.nanoClock(),
            () -> this.settings.maxOvertakeNanos());
    this.forming = new BatchForming(source, () -> this.settings.batching(), this::wakeIn);
    this.queue = new WaiterQueue(source, blocked, forming);
    this.legGate = new GangGate(bounds);
    this.ranker = new CurrentRanker(usual, this::publishAgain);
    this.replicas = ReplicaSet.empty(blocked, usual);
    this.fulfillmentTimes = LatencyBuckets.forEach(routers.loops());
    this.dispatchGaps = LatencyBuckets.forEach(routers.loops());
  }

  @Override
  public DeploymentId deployment() {
    return deployment;
  }

  // --- explaining ---

  /** Returns a recorder for a request that arrived by HTTP, starting at its arrival. */
  public RequestRecorder explained(
      RouterLoop loop, String requestId, String request, long arrivedNanos) {
    return new RequestRecorder(
        loop.explain, deployment, unranked(loop), requestId, null, null, request, arrivedNanos);
  }

  /**
   * Returns a recorder for a handler's call to this deployment; null if the handler's own request
   * is not explained, or has reached its limit of explained calls.
   *
   * @param request null if the handler only chooses a replica
   */
  @Nullable RequestRecorder explained(
      RouterLoop loop, RequestContext parent, @Nullable Request request, String methodName) {
    if (!(parent instanceof ExplainedParent explained) || !explained.tryExplainCall()) {
      return null;
    }
    return new RequestRecorder(
        loop.explain,
        deployment,
        unranked(loop),
        parent.requestId(),
        parent.deployment(),
        explained,
        request == null ? "" : RequestRecorder.name(request, methodName),
        loop.now());
  }

  /** Returns a source of the present replicas, for a recorder. */
  public Supplier<CandidateSnapshot> unranked(RouterLoop loop) {
    return () -> CandidateSnapshot.of(replicas, loop.index(), null, 0);
  }

  // --- waiting ---

  /** Returns the first fallback with slots for a request, or for any, without its past attempts. */
  @Nullable DeploymentRouter fallbackFor(
      @Nullable WaiterOwner request, @Nullable PastAttempts past) {
    for (DeploymentId id : proxying.fallback()) {
      DeploymentRouter next = routers.find(id);
      if (next != null
          && !PastAttempts.contain(past, next)
          && next.available()
          && next.replicas.anyFor(request, true)
          && (request == null || !next.replicas.areAllBelow(request.cost(), request))) {
        return next;
      }
    }
    return null;
  }

  /** Pumps at the end of a window of a batch, on a loop that is not blocked. Any thread. */
  private void wakeIn(long nanos) {
    RouterLoop on = routers.runningLoop();
    long end = on.now() + nanos; // the loop may run the task late
    on.run(() -> on.ports.timer().start(Math.max(0, end - on.now()), this::windowEnded));
  }

  private void windowEnded() {
    forming.onWake();
    queue.pump(); // also arms the timer for the next window
  }

  void pumpIfWaiting() {
    if (queue.hasTakers()) {
      queue.pump();
    }
  }

  /**
   * Sets the callback for a request that waits while no replica is eligible. It runs on any loop,
   * and only if the deployment is autoscaled.
   */
  public void whenWanted(Runnable told) {
    wanted = told;
  }

  /** Runs the callback of {@link #whenWanted} for a new waiter, if it applies. */
  void onWaiterJoined() {
    routers.probesFor(deployment);
    if (settings.autoscales() && replicas.eligible.length == 0) {
      wanted.run();
    }
  }

  // --- measurements ---

  /** Records the wait of a request that has its replica. Call on {@code loop}. */
  void fulfilled(RouterLoop loop, long waitedNanos) {
    fulfillmentTimes.get(loop.index()).add(waitedNanos);
  }

  /** Records a dispatch, and the time since its selection was created. Call on {@code loop}. */
  void dispatched(RouterLoop loop, long gapNanos) {
    counters.dispatched.increment();
    dispatchGaps.get(loop.index()).add(gapNanos);
  }

  // --- replicas ---

  public boolean available() {
    return replicas.available;
  }

  /** Returns the replicas that accept requests now; they may be full. */
  public List<RoutedReplica> routable() {
    return Arrays.stream(replicas.all).filter(RoutedReplica::routable).toList();
  }

  /** Returns the replica at an address; null if none is known there. */
  @Nullable RoutedReplica at(ReplicaAddress address) {
    return Stream.of(replicas.all)
        .filter(replica -> replica.info.address().equals(address))
        .findFirst()
        .orElse(null);
  }

  /** Returns whether no waiter can take a slot and at least {@code slots} slots are free now. */
  public boolean hasFree(int slots) {
    return !queue.hasTakers() && replicas.hasFree(slots);
  }

  /**
   * Returns the size in bytes up to which every replica gathers a body before its handler runs; 0
   * if some replica accepts bodies as they arrive, or none is known.
   */
  public int wholeBodyBytes() {
    return replicas.wholeBodyBytes;
  }

  /**
   * Applies a newer snapshot; an older or equal one has no effect. Known incarnations retain their
   * counts.
   */
  public synchronized void update(RoutingSnapshot snapshot) {
    ReplicaSet current = replicas;
    if (snapshot.version().compareTo(current.version) <= 0) {
      return;
    }
    Map<ReplicaAddress, RoutedReplica> before = new HashMap<>();
    List.of(current.all).forEach(replica -> before.put(replica.info.address(), replica));
    List<RoutedReplica> next = new ArrayList<>(snapshot.replicas().size());
    for (RoutingSnapshot.SnapshotReplica route : snapshot.replicas()) {
      RoutedReplica known = before.remove(route.replica().address());
      if (known == null) {
        known = routers.join(this, route);
      } else {
        known.route(route.routable());
      }
      if (known != null && !known.isRemoved()) {
        next.add(known);
      }
    }
    before.values().forEach(this::leave);
    reach.saw(snapshot.available(), snapshot.replicas().isEmpty());
    publish(snapshot.version(), next);
  }

  private void leave(RoutedReplica replica) {
    replica.leave();
    routers.forget(replica);
  }

  private void publish(RoutingSnapshot.SnapshotVersion version, List<RoutedReplica> next) {
    ReplicaRanker ranks = ranker.now();
    next.forEach(replica -> replica.rankedBy(ranks));
    ReplicaSet set = new ReplicaSet(version, reach.serves(), next, blocked, routers.zone, ranks);
    next.forEach(replica -> replica.avoid(set.avoiding && replica.isOn(blocked)));
    replicas = set;
    routers.calls(this, set.anyRemote());
    queue.pump();
  }

  /** Removes a lost replica from this router at once, before any snapshot does. */
  synchronized void removeLost(RoutedReplica replica) {
    removeLost(other -> other == replica);
  }

  /** Removes every matching replica as lost. */
  synchronized void removeLost(Predicate<RoutedReplica> gone) {
    ReplicaSet current = replicas;
    List<RoutedReplica> next = new ArrayList<>(List.of(current.all));
    next.removeIf(gone);
    if (next.size() < current.all.length) {
      Stream.of(current.all).filter(gone).forEach(this::leave);
      publish(current.version, next);
    }
  }

  /** Retires the router of a removed deployment; later snapshots have no effect. */
  synchronized void retire() {
    List.of(replicas.all).forEach(this::leave);
    reach.saw(false, true);
    publish(RoutingSnapshot.SnapshotVersion.LAST, List.of());
  }

  /**
   * Recomputes the eligible replicas and the skipped collectors. Called when a loop blocks or
   * recovers, or another instance becomes suspected or recovers.
   */
  void placesChanged() {
    forming.onWake(); // the loop of its timer may be blocked
    publishAgain();
    legGate.loopsChanged();
  }

  private synchronized void publishAgain() {
    ReplicaSet current = replicas;
    publish(current.version, List.of(current.all));
  }

  /**
   * Refuses requests after {@code unavailable_timeout_s} without a reachable replica or a
   * controller.
   */
  synchronized void lookWhetherReached(long now) {
    boolean comes = routers.isControlled() || settings.autoscales() && reach.hasNone();
    if (reach.record(comes || replicas.isReached(blocked), now, routers.unavailableNanos)) {
      publishAgain();
    }
  }

  /**
   * Handles a typed refusal that means more than a full replica: an unknown or fenced replica is
   * removed, a draining one is closed.
   */
  void refusedBy(RoutedReplica replica, Refusal reason) {
    if (reason == Refusal.UNKNOWN_REPLICA || reason == Refusal.FOREIGN_EPOCH) {
      removeLost(replica);
    } else if (reason == Refusal.DRAINING) {
      stopRoutingTo(replica);
    }
  }

  /** Handles a message to a replica that certainly was not sent. */
  void unsent(RoutedReplica replica) {
    if (replica.here()) {
      removeLost(replica);
    } else {
      replica.unanswered(); // its link is full or down; membership reports a loss
    }
  }

  private synchronized void stopRoutingTo(RoutedReplica replica) {
    if (replica.routable()) {
      replica.route(false);
      publishAgain();
    }
  }

  /** Grants offered slots to the oldest waiters, and declines the others at once. */
  void offered(RemoteReplica replica, BusMessage.SlotOffer offer, long untilNanos) {
    if (!replica.isNewOffer(offer.attempt().counter() / SlotDemand.MAX_LEASES)) {
      return; // a duplicate: to decline it would release the leases that the first copy became
    }
    boolean fits = offer.cost() == 1 || queue.slotsNeeded() > queue.size();
    boolean isWanted = queue.hasTakers() && replica.routable() && fits;
    for (int i = 0; i < offer.tokens().size(); i++) {
      RemoteReplica.Offer one =
          new RemoteReplica.Offer(
              offer.attempt().plus(i), offer.tokens().get(i), offer.cost(), untilNanos);
      if (isWanted) {
        replica.offered(one);
      } else {
        replica.decline(one);
      }
    }
    if (isWanted) {
      queue.pump(); // once, so that the slots of a batch go to one batch
      if (!queue.hasTakers()) {
        replica.declineOffers();
      }
    }
  }

  public RouterSettings settings() {
    return settings;
  }

  /** Changes the settings live; current waiters stay queued. */
  public void configure(RouterSettings next) {
    settings = next;
    pumpIfWaiting(); // the rules of batches may differ
  }

  /** Returns the rules of a deployment whose replicas are remote servers. */
  public ProxyRules proxying() {
    return proxying;
  }

  /** Changes those rules live. */
  public void configure(ProxyRules next) {
    proxying = next;
    pumpIfWaiting();
  }

  /** The text of a refusal for one limit on queued requests. */
  private record QueueFullText(int max, String text) {}

  public BerthException backPressure(String bound) {
    return backPressure(bound, -1);
  }

  /** Returns a refusal with the delay in seconds that replicas stated; -1 for none. */
  BerthException backPressure(String bound, int stated) {
    return refusal(refusalText(bound), stated);
  }

  private static String refusalText(String bound) {
    return "Request dropped due to backpressure (" + bound + ").";
  }

  private BerthException refusal(String text, int stated) {
    RouterSettings now = settings;
    int configured = now.retryAfterSeconds();
    int retryAfter = stated >= 0 ? stated : configured < 0 ? retryAfter() : configured;
    return new BerthException.BackPressure(
        text, OptionalInt.of(retryAfter), OptionalInt.of(now.refusalStatus()));
  }

  /** Returns the refusal of a request that would be above {@code max} queued ones. Thread-safe. */
  BerthException queueFull(int max) {
    QueueFullText last = queueFull; // cached: an overloaded router refuses far more than it runs
    if (last == null || last.max != max) {
      last = new QueueFullText(max, refusalText("max_queued_requests: " + max));
      queueFull = last;
    }
    return refusal(last.text, -1);
  }

  /** Returns the refusal of a request on a loop whose pending table is full. */
  public BerthException pendingFull(RouterLoop loop) {
    return backPressure("pending requests of this event loop: " + loop.pendingRequests());
  }

  /** Returns the seconds that the present queue needs at the recent completion rate. */
  private int retryAfter() {
    double rate = endedRate.perSecond();
    double seconds = rate <= 0 ? 1 : Math.ceil(queue.slotsNeeded() / rate);
    return (int) Math.max(1, Math.min(MAX_RETRY_AFTER_SECONDS, seconds));
  }

  /** Updates the rate and reachability. Called about twice a second by one loop. */
  void measure(long now) {
    if (replicas.isOutdated(blocked)) {
      placesChanged();
    }
    lookWhetherReached(now);
    if (proxying.proxies()) {
      replicas.relaxLimits(queue.isEmpty());
      pumpIfWaiting(); // a fallback may have opened, or a limit have room
    }
    endedRate.measure(counters.ended.sum(), queue.isEmpty(), now);
  }

  /**
   * Lets waiters probe remote replicas. Called about every 25 ms by one loop while requests wait
   * and replicas are remote.
   */
  void probe(long now, RandomGenerator random) {
    if (!queue.hasTakers()) {
      return;
    }
    boolean probing = false;
    for (RoutedReplica replica : replicas.eligible) {
      probing |= replica.probeIfDue(now, random);
    }
    if (probing) {
      queue.pump();
    }
  }

  // --- status ---

  /**
   * Passes the id of each replica and its running or reserved requests, as seen by this instance.
   */
  public void forEachReplica(ObjIntConsumer<String> into) {
    for (RoutedReplica replica : replicas.all) {
      into.accept(replica.info.replicaId(), replica.ongoing());
    }
  }

  @Override
  public boolean autoscales() {
    return settings.autoscales();
  }

  /**
   * Returns the requests waiting for slots on this instance ({@code
   * serve_deployment_queued_queries}).
   */
  public int queuedRequests() {
    return Math.max(0, queue.size());
  }

  /** Returns the slots that the waiting requests need. */
  @Override
  public int queued() {
    return Math.max(0, queue.slotsNeeded());
  }

  @Override
  public int running() {
    return counters.running();
  }

  @Override
  public int reserved() {
    return counters.reserved();
  }

  @Override
  public long begunCount() {
    return counters.requests();
  }

  /** Returns the number of slots that a completion re-granted to a waiter in one CAS. */
  public long handOffs() {
    return queue.handOffs();
  }

  /** Returns the version of the snapshot in use. */
  public RoutingSnapshot.SnapshotVersion version() {
    return replicas.version;
  }
}
