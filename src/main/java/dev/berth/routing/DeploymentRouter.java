package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.metrics.HandleMetricSource;
import dev.berth.metrics.LatencyBuckets;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.ExplainedParent;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.explain.SeenCandidates;
import dev.berth.routing.ranking.CurrentRanker;
import dev.berth.routing.slots.BlockedLoops;
import dev.berth.routing.slots.Grant;
import dev.berth.routing.slots.InstanceBounds;
import dev.berth.routing.slots.LegGate;
import dev.berth.routing.slots.Pick;
import dev.berth.routing.slots.RemoteReplica;
import dev.berth.routing.slots.ReplicaSet;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.routing.slots.WaiterQueue;
import dev.berth.routing.slots.Waiting;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.ObjIntConsumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Which replica of one deployment, and when, for all event loops of this instance.
 *
 * <p>A request that finds no one waiting ranks the replicas and takes a slot of the first that
 * grants one: a CAS, no message. Else it joins the one queue that all loops share; {@link
 * WaiterQueue} hands free slots to the oldest. So a replica here is never over its slots and never
 * idle beside a waiter, whichever loop either is on.
 *
 * <p>The set of replicas is an immutable snapshot, swapped whole; changing it is rare and takes a
 * lock, which the hot path never does.
 */
public final class DeploymentRouter implements HandleMetricSource {
  /** How long a slot on its way to a waiter's loop is held; a loop blocked for longer loses it. */
  static final long HAND_OVER_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Retry-After is 1 to this many seconds. */
  private static final int MAX_RETRY_AFTER_SECONDS = 60;

  private final Routers routers;
  private final DeploymentId deployment;
  public final HandleCounters counters = new HandleCounters();
  final InstanceBounds bounds;
  final BlockedLoops blocked;

  /** Time requests waited until they had their replica, by loop; 0 when none waited. */
  public final List<LatencyBuckets> fulfillmentTimes; // each written on its loop

  /** Time from a selection's making to its dispatch, by loop. */
  public final List<LatencyBuckets> dispatchGaps; // likewise

  final WaiterQueue queue;

  /** Where those who collect several slots of it take turns ({@code berth_legs_waiting}). */
  public final LegGate legGate;

  /** Who ranks its replicas. */
  public final CurrentRanker ranker;

  private final ReplicaRanker.Ranking pumpRanking = new ReplicaRanker.Ranking(); // the pump's own
  private final RandomGenerator pumpRandom;
  volatile ReplicaSet replicas;
  private volatile RouterSettings settings;
  private final EndedRate endedRate = new EndedRate(); // for Retry-After
  private volatile Runnable wanted = () -> {}; // told when someone waits and there is no replica
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
    this.bounds = routers.bounds();
    this.blocked = routers.blocked;
    this.queue = new WaiterQueue(this::grantFor, blocked);
    this.legGate = new LegGate(bounds);
    this.ranker = new CurrentRanker(usual, this::publishAgain);
    this.pumpRandom = pumpRandom;
    this.replicas = ReplicaSet.empty(blocked, usual);
    this.fulfillmentTimes = LatencyBuckets.forEach(routers.loops());
    this.dispatchGaps = LatencyBuckets.forEach(routers.loops());
  }

  @Override
  public DeploymentId deployment() {
    return deployment;
  }

  // --- explaining ---

  /** Writes down what befalls a request that came in by HTTP, from when it arrived. */
  public RequestRecorder explained(
      RouterLoop loop, String requestId, String request, long arrivedNanos) {
    return new RequestRecorder(
        loop.explain, deployment, unranked(loop), requestId, null, null, request, arrivedNanos);
  }

  /**
   * Writes down what a handler asks of this deployment; null when its own request is not explained.
   *
   * @param request null when a replica is only chosen
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

  private Supplier<SeenCandidates> unranked(RouterLoop loop) {
    return () -> SeenCandidates.of(replicas, loop.index(), null, 0);
  }

  // --- waiting ---

  /** A slot for one who waits; the pump asks, one thread at a time. */
  private @Nullable Grant grantFor(Waiting owner) {
    ReplicaSet set = replicas;
    if (!set.available || owner.hopeless()) {
      return Grant.UNAVAILABLE;
    }
    Pick.rank(set, owner, pumpRanking, pumpRandom);
    return Pick.from(set, pumpRanking, owner, owner.holdNanos(), pumpRandom);
  }

  void pumpIfWaiting() {
    if (queue.hasTakers()) {
      queue.pump();
    }
  }

  /** Has {@code told} run, on any loop, when a request waits and there is no replica for it. */
  public void whenWanted(Runnable told) {
    wanted = told;
  }

  /** Someone waits. */
  void joined() {
    if (settings.autoscales() && replicas.eligible.length == 0) {
      wanted.run();
    }
  }

  // --- what is measured ---

  /** A request has its replica, after so long. On the loop. */
  void fulfilled(RouterLoop loop, long waitedNanos) {
    fulfillmentTimes.get(loop.index()).add(waitedNanos);
  }

  /** A selection was dispatched, so long after it was made. On the loop. */
  void dispatched(RouterLoop loop, long gapNanos) {
    counters.dispatched.increment();
    dispatchGaps.get(loop.index()).add(gapNanos);
  }

  /** A request for several slots lost what it held of them, and begins anew. */
  public void collectedAnew() {
    counters.collectedAnew.increment();
  }

  // --- the replicas ---

  public boolean available() {
    return replicas.available;
  }

  /** The replicas that take requests, as of now. */
  public List<RoutedReplica> routable() {
    return Arrays.stream(replicas.all).filter(RoutedReplica::routable).toList();
  }

  /** The replica at an address; null when none is known there. */
  @Nullable RoutedReplica at(ReplicaAddress address) {
    return Stream.of(replicas.all)
        .filter(replica -> replica.info.address().equals(address))
        .findFirst()
        .orElse(null);
  }

  /** Whether any replica takes requests, as of now; it may be full. */
  public boolean hasRoutableReplica() {
    return Arrays.stream(replicas.all).anyMatch(RoutedReplica::routable);
  }

  /** Whether nobody waits and so many slots are free, as of now. */
  public boolean hasFree(int slots) {
    return !queue.hasTakers() && replicas.hasFree(slots);
  }

  /**
   * A body of at most so many bytes is of no use to a replica before it is whole; 0 when some take
   * bodies as they arrive, or none is known.
   */
  public int wholeBodyBytes() {
    return replicas.wholeBodyBytes;
  }

  /**
   * Takes a newer snapshot; an older one, or the same, changes nothing. Known incarnations keep
   * their counts.
   */
  public synchronized void update(RoutingSnapshot snapshot) {
    ReplicaSet current = replicas;
    if (snapshot.version().compareTo(current.version) <= 0) {
      return;
    }
    Map<ReplicaAddress, RoutedReplica> before = new HashMap<>();
    List.of(current.all).forEach(replica -> before.put(replica.info.address(), replica));
    List<RoutedReplica> next = new ArrayList<>(snapshot.replicas().size());
    for (RoutingSnapshot.Route route : snapshot.replicas()) {
      RoutedReplica known = before.remove(route.replica().address());
      if (known == null) {
        known = routers.join(this, route);
      } else {
        known.route(route.routable());
      }
      if (known != null && !known.gone()) {
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

  private void publish(RoutingSnapshot.Version version, List<RoutedReplica> next) {
    ReplicaRanker ranks = ranker.now();
    next.forEach(replica -> replica.rankedBy(ranks));
    ReplicaSet set = new ReplicaSet(version, reach.serves(), next, blocked, routers.zone, ranks);
    next.forEach(replica -> replica.avoid(set.avoiding && replica.isOn(blocked)));
    replicas = set;
    routers.calls(this, set.anyRemote());
    queue.pump();
  }

  /** A replica is not there any more: out of this router's view at once, before any snapshot. */
  synchronized void lost(RoutedReplica replica) {
    lost(other -> other == replica);
  }

  /** Every replica that fits is not there any more. */
  synchronized void lost(Predicate<RoutedReplica> gone) {
    ReplicaSet current = replicas;
    List<RoutedReplica> next = new ArrayList<>(List.of(current.all));
    next.removeIf(gone);
    if (next.size() < current.all.length) {
      Stream.of(current.all).filter(gone).forEach(this::leave);
      publish(current.version, next);
    }
  }

  /** Its deployment is gone for good: no snapshot is newer than this. */
  synchronized void retire() {
    List.of(replicas.all).forEach(this::leave);
    reach.saw(false, true);
    publish(RoutingSnapshot.Version.LAST, List.of());
  }

  /**
   * A loop blocks, or runs again, or another instance is suspected or no more: who is eligible
   * changes, and who is passed over.
   */
  void placesChanged() {
    publishAgain();
    legGate.loopsChanged();
  }

  private synchronized void publishAgain() {
    ReplicaSet current = replicas;
    publish(current.version, List.of(current.all));
  }

  /** Refuses requests from {@code unavailable_timeout_s} on. */
  synchronized void lookWhetherReached(long now) {
    boolean comes = routers.isControlled() || settings.autoscales() && reach.hasNone();
    if (reach.record(comes || replicas.isReached(blocked), now, routers.unavailableNanos)) {
      publishAgain();
    }
  }

  /** What a typed refusal says of its replica, beyond being full. */
  void refusedBy(RoutedReplica replica, Refusal reason) {
    if (reason == Refusal.UNKNOWN_REPLICA || reason == Refusal.FOREIGN_EPOCH) {
      lost(replica);
    } else if (reason == Refusal.DRAINING) {
      closed(replica);
    }
  }

  /** What was sent to a replica surely did not leave. */
  void unsent(RoutedReplica replica) {
    if (replica.here()) {
      lost(replica);
    } else {
      replica.unanswered(); // its link takes nothing now: whether it is lost, others say
    }
  }

  private synchronized void closed(RoutedReplica replica) {
    if (replica.routable()) {
      replica.route(false);
      publishAgain();
    }
  }

  /** A slot was offered: to the oldest waiter, or back at once. */
  void offered(RemoteReplica replica, RemoteReplica.Offer offer) {
    if (!replica.isNewOffer(offer.attempt().counter())) {
      return; // declined, a repeat would release the lease that the first of it became
    }
    if (!queue.hasTakers() || !replica.routable()) {
      replica.decline(offer);
      return;
    }
    replica.offered(offer);
    queue.pump();
    if (!queue.hasTakers()) {
      replica.declineOffers();
    }
  }

  public RouterSettings settings() {
    return settings;
  }

  /** Changes the settings live; who waits already stays. */
  public void configure(RouterSettings next) {
    settings = next;
  }

  public BerthException backPressure(String bound) {
    RouterSettings now = settings;
    int retryAfter = now.retryAfterSeconds() < 0 ? retryAfter() : now.retryAfterSeconds();
    return new BerthException.BackPressure(
        "Request dropped due to backpressure (" + bound + ").",
        OptionalInt.of(retryAfter),
        OptionalInt.of(now.refusalStatus()));
  }

  /** No more may wait for answers on a loop. */
  public BerthException pendingFull(RouterLoop loop) {
    return backPressure("pending requests of this event loop: " + loop.pendingRequests());
  }

  /** Seconds in which the queue, as it is now, will have been served at the rate of late. */
  private int retryAfter() {
    double rate = endedRate.perSecond();
    if (rate <= 0) {
      return 1;
    }
    return (int) Math.max(1, Math.min(MAX_RETRY_AFTER_SECONDS, Math.ceil(queue.size() / rate)));
  }

  /** Called about twice a second by one loop. */
  void measure(long now) {
    if (replicas.isOutdated(blocked)) {
      placesChanged();
    }
    lookWhetherReached(now);
    endedRate.measure(counters.ended.sum(), queue.isEmpty(), now);
  }

  /** Called about every 25 ms by one loop while replicas are elsewhere. */
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

  // --- what operators see ---

  /** Requests running or reserved at each replica, as seen here: id and number. */
  public void forEachReplica(ObjIntConsumer<String> into) {
    for (RoutedReplica replica : replicas.all) {
      into.accept(replica.info.replicaId(), replica.ongoing());
    }
  }

  @Override
  public boolean autoscales() {
    return settings.autoscales();
  }

  /** Requests waiting for a slot on this instance ({@code serve_deployment_queued_queries}). */
  @Override
  public int queued() {
    return Math.max(0, queue.size());
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
  public long begun() {
    return counters.requests();
  }

  /** Slots handed from a completed request to a waiter in one step. */
  public long handOffs() {
    return queue.handOffs();
  }

  /** The version of the snapshot in use. */
  public RoutingSnapshot.Version version() {
    return replicas.version;
  }
}
