package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.RequestContext;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.routing.slots.Grant;
import dev.berth.routing.slots.RemoteReplica;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.routing.slots.SlotsProbe;
import dev.berth.routing.slots.Waiter;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Looks into requests under way, for the simulation: what their router does not tell users. */
public final class RoutingProbe {
  /** How long younger requests overtake a larger one. */
  public static final long OVERTAKE_NANOS = Duration.ofSeconds(1).toNanos();

  /** Settings of a deployment of which nothing is said. */
  public static final RouterSettings DEFAULTS =
      new RouterSettings(
          -1,
          Duration.ofSeconds(60).toNanos(),
          Duration.ofSeconds(10).toNanos(),
          Duration.ofSeconds(300).toNanos(),
          503,
          -1,
          Long.MAX_VALUE,
          OVERTAKE_NANOS,
          false,
          null);

  private RoutingProbe() {}

  /** Settings that refuse as Ray Serve does: with 503. */
  public static RouterSettings settings(
      int maxQueued, long queueTimeoutNanos, long ttlNanos, long maxTtlNanos) {
    return new RouterSettings(
        maxQueued,
        queueTimeoutNanos,
        ttlNanos,
        maxTtlNanos,
        503,
        -1,
        Long.MAX_VALUE,
        OVERTAKE_NANOS,
        false,
        null);
  }

  /** The settings, with another bound of the queue. */
  public static RouterSettings withMaxQueued(RouterSettings of, int max) {
    return with(of, max, of.refusalStatus(), of.retryAfterSeconds(), of.autoscales());
  }

  /** The settings, with another time for which younger requests overtake a larger one. */
  public static RouterSettings overtaking(RouterSettings of, long nanos) {
    return with(of, nanos, of.batching());
  }

  /** Since when a waiting request has been overtaken; {@link Long#MIN_VALUE} while it was not. */
  public static long overtakenNanos(Object request) {
    return SlotsProbe.overtakenNanos(
        java.util.Objects.requireNonNull(((SlotRequest) request).waiter));
  }

  /** The settings, with other rules of batches. */
  public static RouterSettings batching(RouterSettings of, @Nullable BatchSettings rules) {
    return with(of, of.maxOvertakeNanos(), rules);
  }

  private static RouterSettings with(
      RouterSettings of, long overtakeNanos, @Nullable BatchSettings rules) {
    return new RouterSettings(
        of.maxQueued(),
        of.queueTimeoutNanos(),
        of.reservationTtlNanos(),
        of.maxReservationTtlNanos(),
        of.refusalStatus(),
        of.retryAfterSeconds(),
        of.requestTimeoutNanos(),
        overtakeNanos,
        of.autoscales(),
        rules);
  }

  /** The key with which a request waits for its batch; null if it runs alone. */
  public static @Nullable String batchKey(Object request) {
    Waiter waiter = ((SlotRequest) request).waiter;
    return waiter == null ? null : SlotsProbe.batchKey(waiter);
  }

  /** Returns whether a request may go to a replica, which may have refused to run it before. */
  public static boolean accepts(DeploymentRouter router, Object request, ReplicaInfo replica) {
    return Arrays.stream(router.replicas.all)
        .filter(each -> each.info.replicaId().equals(replica.replicaId()))
        .allMatch(((SlotRequest) request)::accepts);
  }

  /** Returns the end of the window of a waiting request that joins a batch. */
  public static long windowEndNanos(Object request) {
    return SlotsProbe.windowEndNanos(Objects.requireNonNull(((SlotRequest) request).waiter));
  }

  /** Returns whether a grant has a seat in a batch. */
  public static boolean isSeated(Runnable grant) {
    Grant carried = ((SlotRequest) grant).grant;
    return carried != null && carried.batch() != null;
  }

  /** Returns whether a replica is set aside for an earlier request than that of a place. */
  public static boolean isSetAside(DeploymentRouter router, String replicaId, long place) {
    return SlotsProbe.isSetAside(router.queue, replicaId, place);
  }

  /** Number of slots of a request. */
  public static int cost(Object request) {
    return ((SlotRequest) request).cost();
  }

  /** The settings of a deployment that autoscales. */
  public static RouterSettings autoscaling(RouterSettings of) {
    return with(of, of.maxQueued(), of.refusalStatus(), of.retryAfterSeconds(), true);
  }

  /** The settings, which refuse with another status, and tell when to come back. */
  public static RouterSettings refusing(RouterSettings of, int status, int retryAfterSeconds) {
    return with(of, of.maxQueued(), status, retryAfterSeconds, of.autoscales());
  }

  private static RouterSettings with(
      RouterSettings of, int max, int status, int retryAfterSeconds, boolean autoscales) {
    return new RouterSettings(
        max,
        of.queueTimeoutNanos(),
        of.reservationTtlNanos(),
        of.maxReservationTtlNanos(),
        status,
        retryAfterSeconds,
        of.requestTimeoutNanos(),
        of.maxOvertakeNanos(),
        autoscales,
        of.batching());
  }

  /** A choose that waits, begun as a handle does. */
  public static ChooseOperation choose(
      DeploymentRouter router,
      RouterLoop loop,
      long deadlineNanos,
      long ttlNanos,
      String requestId,
      @Nullable RequestContext parent,
      SelectionObserver observer) {
    return choose(router, loop, deadlineNanos, ttlNanos, requestId, parent, observer, 1);
  }

  /** The same, of several slots. */
  public static ChooseOperation choose(
      DeploymentRouter router,
      RouterLoop loop,
      long deadlineNanos,
      long ttlNanos,
      String requestId,
      @Nullable RequestContext parent,
      SelectionObserver observer,
      int cost) {
    GangMember leg =
        new GangMember(
            router, ttlNanos, requestId, "", "", parent, deadlineNanos, Long.MAX_VALUE, cost);
    long ttl = Math.min(ttlNanos, router.settings().maxReservationTtlNanos());
    ChooseOperation choice = new ChooseOperation(leg, loop, deadlineNanos, ttl, true, observer);
    choice.start();
    return choice;
  }

  /** Without a deadline, for no one, and told to who asks. */
  public static ChooseOperation choose(
      DeploymentRouter router,
      RouterLoop loop,
      long ttlNanos,
      Consumer<ReplicaSelection> chosen,
      Consumer<BerthException> failed) {
    SelectionObserver observer =
        new SelectionObserver() {
          @Override
          public void onSelection(ReplicaSelection selection) {
            chosen.accept(selection);
          }

          @Override
          public void onFailure(BerthException failure) {
            failed.accept(failure);
          }
        };
    return choose(router, loop, SlotRequest.NO_DEADLINE, ttlNanos, "", null, observer);
  }

  /** For an answer that must not come. */
  static void unexpected(Object answer) {
    throw new AssertionError("told: " + answer + " (expected: nothing)");
  }

  /** Whether a task handed to a loop is a slot on its way to a call or a choose. */
  public static boolean isGrant(Runnable task) {
    return task instanceof SlotRequest;
  }

  /** Whether a message was sent for this call or choose, and not answered. */
  public static boolean isSent(Object request) {
    return ((SlotRequest) request).pendingId != PendingTable.FULL;
  }

  /** The replica it was sent to; empty when there is none. */
  public static String target(Object request) {
    RoutedReplica replica = ((SlotRequest) request).replica;
    return replica == null ? "" : replica.info.replicaId();
  }

  /** Whether it stands in the queue. */
  public static boolean isWaiting(Object request) {
    Waiter waiter = ((SlotRequest) request).waiter;
    return waiter != null && SlotsProbe.isWaiting(waiter);
  }

  /** The replica whose slot a grant carries; null when it carries none. */
  public static @Nullable ReplicaInfo granted(Runnable grant) {
    Grant carried = ((SlotRequest) grant).grant;
    return carried == null || carried.replica() == null ? null : carried.replica().info;
  }

  /** How long the slot that a grant carries is held for it if its loop never takes it. */
  public static long heldForNanos(Runnable grant, long nowNanos) {
    Grant carried = ((SlotRequest) grant).grant;
    return carried == null || carried.lease() == null
        ? 0
        : carried.lease().deadlineNanos() - nowNanos;
  }

  /** The event loop it came in on, an index. */
  public static int loop(Object request) {
    return ((SlotRequest) request).loopIndex();
  }

  /** Requests that wait on an event loop. */
  public static int waitingOn(DeploymentRouter router, int loop) {
    return SlotsProbe.waitingOn(router.queue, loop);
  }

  /** The replicas that can hold the first overdue request that came before a place. */
  public static List<String> overdueAt(DeploymentRouter router, long place) {
    List<RoutedReplica> routable =
        Arrays.stream(router.replicas.all).filter(RoutedReplica::routable).toList();
    return SlotsProbe.overdueAt(router.queue, place, routable).stream()
        .map(each -> each.info.replicaId())
        .toList();
  }

  /** The replicas that a router may use, and that have so many slots as far as it knows. */
  public static List<String> holding(DeploymentRouter router, int cost) {
    return Arrays.stream(router.replicas.all)
        .filter(replica -> replica.routable() && replica.maxOngoing() >= cost)
        .map(replica -> replica.info.replicaId())
        .toList();
  }

  /** The replicas a router may use, whatever loop they are on. */
  public static List<ReplicaInfo> routable(DeploymentRouter router) {
    return Arrays.stream(router.replicas.all)
        .filter(RoutedReplica::routable)
        .map(replica -> replica.info)
        .toList();
  }

  /** Of these, those that did not say last that their loop is blocked. */
  public static List<ReplicaInfo> routableAndWell(DeploymentRouter router) {
    return Arrays.stream(router.replicas.all)
        .filter(replica -> replica.routable() && !SlotsProbe.saidBlocked(replica))
        .map(replica -> replica.info)
        .toList();
  }

  /** Its place in the order of the queue; 0 when it never waited. */
  public static long place(Object request) {
    return ((SlotRequest) request).sequence;
  }

  /** Requests this router counts as its own at replicas elsewhere. */
  public static int ownElsewhere(DeploymentRouter router) {
    int own = 0;
    for (RoutedReplica replica : router.replicas.all) {
      own += replica instanceof RemoteReplica remote ? SlotsProbe.own(remote) : 0;
    }
    return own;
  }

  /** The replicas elsewhere, as a router estimates them. */
  static List<RemoteReplica> remoteReplicas(DeploymentRouter router) {
    return Arrays.stream(router.replicas.all)
        .filter(RemoteReplica.class::isInstance)
        .map(RemoteReplica.class::cast)
        .toList();
  }

  /** Whether it has had its answer, to the last piece. */
  public static boolean isDone(Object request) {
    return ((SlotRequest) request).done;
  }

  /** Whether a loop waits for the answer of a request, by its id. */
  public static boolean waitsFor(RouterLoop loop, String requestId) {
    boolean[] found = {false};
    loop.pending.forEach(
        request ->
            found[0] |=
                request instanceof RoutedCall call
                    && !call.done
                    && call.requestId.equals(requestId));
    return found[0];
  }

  /** Replicas of other instances that an instance's routers take reports of. */
  static int knownElsewhere(Routers routers) {
    return routers.remotes.size();
  }

  /** Requests counted as sent and not as over: exact, where the gauge is clamped at 0. */
  public static long notOver(DeploymentRouter router) {
    HandleCounters counters = router.counters;
    return counters.sent.sum() - counters.turnedAway.sum() - counters.ended.sum();
  }

  /** Requests that are over, of those that a replica had. */
  static long over(DeploymentRouter router) {
    return router.counters.ended.sum();
  }

  /** Attempts a loop remembers as held. */
  public static int heldAttempts(RouterLoop loop) {
    return loop.heldAttempts.size();
  }
}
