package dev.berth.routing.reserve;

import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.protocol.port.Reservations;
import dev.berth.routing.CallObserver;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.GangMember;
import dev.berth.routing.LeasedSelection;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.Routers;
import dev.berth.routing.SlotRequest;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Selections held for external callers, each under a token: the holder of the token owns the slot.
 *
 * <pre>
 *   reserve --a slot is held--> HELD --use--> its request runs
 *                                    --release, expiry, replica removed--> ended
 *   ended: retained for its time to live, at least 60 s, so that its token reports how it ended
 * </pre>
 *
 * The state of a reservation is that of its selection, whose one CAS decides between use, release
 * and expiry. This table only finds the selection by its token, and counts. Thread-safe. A
 * reservation takes its permits before it acquires a slot, and returns them with the slot. It has
 * over 500 lines, because each end of a reservation returns its permits and its entry here.
 */
public final class ReservationTable implements Reservations {
  private static final long REMEMBER_NANOS = TimeUnit.SECONDS.toNanos(60);

  /**
   * Maximum time, in nanoseconds, for requests to remote replicas by a reserve that does not wait.
   */
  private static final long ASK_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Delay after its deadline at which a request that its loop has not ended is given up. */
  private static final long LATE_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final Routers routers;
  public final ReservationLimits limits;
  private final LongSupplier nanoClock;
  private final LongSupplier secrets;
  public final ReservationCounters counters = new ReservationCounters();
  private final ConcurrentHashMap<String, TokenEntry> tokens = new ConcurrentHashMap<>();
  private final Set<PendingReservation> asking = ConcurrentHashMap.newKeySet();
  private final Set<TokenEntry> held = ConcurrentHashMap.newKeySet();
  // size of held; its own size() is slow
  private final AtomicInteger heldCount = new AtomicInteger();
  private final ConcurrentLinkedQueue<TokenEntry> ended = new ConcurrentLinkedQueue<>();
  private final AtomicInteger endedCount = new AtomicInteger();
  private final CallerQuotas permits;
  private final IdempotencyKeys<PendingReservation> keys; // guarded by itself
  private final AtomicInteger nextLoop = new AtomicInteger();
  private volatile boolean draining;
  private ReservationOwners keepers = ReservationOwners.NONE; // set before the loops start

  /**
   * @param nanoClock the routers' clock
   * @param secrets returns 64 unguessable bits per call, on any thread
   */
  public ReservationTable(
      Routers routers, ReservationLimits limits, LongSupplier nanoClock, LongSupplier secrets) {
    this.routers = routers;
    this.limits = limits;
    this.nanoClock = nanoClock;
    this.secrets = secrets;
    this.permits = new CallerQuotas(limits);
    this.keys =
        new IdempotencyKeys<>(limits.maxKeys(), limits.maxKeysPerCaller(), limits.keyNanos());
  }

  /** Connects the table to those of other instances. Call before any loop starts. */
  public void among(ReservationOwners others) {
    keepers = others;
    routers.whenAsked(new ReservationOwnerEndpoint(this, routers.loop(0))::onRequest);
  }

  // --- reserving ---

  @Override
  public ReservationCall<Reservation> reserve(ReservationRequest wish, ReservationCaller caller) {
    RequestedReservations one = new RequestedReservations(List.of(wish), wish.waitNanos(), false);
    return reserve(one, caller, list -> now(list.get(0)));
  }

  @Override
  public ReservationCall<List<Reservation>> reserveAll(
      List<ReservationRequest> wishes, long waitNanos, ReservationCaller caller) {
    RequestedReservations all = new RequestedReservations(wishes, waitNanos, true);
    return reserve(all, caller, list -> list.stream().map(this::now).toList());
  }

  /**
   * Requests a slot for each wish, once for all repeats with the same key.
   *
   * @param shown maps the held slots to the caller's result
   */
  private <T> ReservationCall<T> reserve(
      RequestedReservations wanted, ReservationCaller caller, Function<List<TokenEntry>, T> shown) {
    List<GangMember> legs = new ArrayList<>(wanted.wishes.size());
    for (ReservationRequest wish : wanted.wishes) {
      DeploymentRouter router = routers.find(wish.deployment());
      if (router == null) {
        String text = "deployment: " + wish.deployment() + " is unknown here";
        ReservationException unknown = refusal(ReservationProblem.UNKNOWN_DEPLOYMENT, text);
        return refusedAtOnce(
            wanted.named ? PendingReservation.named(legs.size(), unknown) : unknown);
      }
      legs.add(PendingReservation.leg(router, wish));
    }
    if (draining) {
      return refusedAtOnce(drains());
    }
    long now = nanoClock.getAsLong();
    long until = now + wanted.waitNanos + LATE_NANOS;
    PendingReservation ask = new PendingReservation(this, caller, legs, wanted.named, until);
    String key = ask.key;
    if (key != null) {
      synchronized (keys) {
        var known = keys.find(ask.caller, key, now);
        if (known != null && !known.wish().equals(wanted)) {
          return refusedAtOnce(ReservationException.of(ReservationProblem.KEY_REUSED));
        }
        if (known != null && known.asked().join()) {
          return answer(known.asked(), shown);
        }
        keys.put(ask.caller, key, wanted, ask, now);
      }
    }
    start(ask, wanted.waitNanos);
    return answer(ask, shown);
  }

  /**
   * The request that a repeat under the same key must equal.
   *
   * @param named whether a failure names its leg, because the caller sent a list
   */
  private record RequestedReservations(
      List<ReservationRequest> wishes, long waitNanos, boolean named) {
    RequestedReservations {
      wishes = List.copyOf(wishes);
      if (wishes.isEmpty()) {
        throw new IllegalArgumentException("wishes: none (expected: at least one)");
      }
    }
  }

  private void start(PendingReservation ask, long waitNanos) {
    ReservationException refused = permits.tryTake(ask.caller, ask.permits());
    if (refused != null) {
      forgetKey(ask);
      ask.reject(refused);
      return;
    }
    asking.add(ask);
    if (draining) { // set since the first check: drain() may have missed this one
      ask.giveUp(drains());
      return;
    }
    boolean waits = waitNanos > 0; // slots are held by the deadline, or the request has failed
    ask.start(pickLoop(), nanoClock.getAsLong() + (waits ? waitNanos : ASK_NANOS), waits);
  }

  private <T> ReservationCall<T> answer(
      PendingReservation ask, Function<List<TokenEntry>, T> shown) {
    Future<T> told = counted(ask.answer().map(shown));
    return new PendingReservation.AwaitedReservation<>(told, new AtomicReference<>(ask::leave));
  }

  private <T> ReservationCall<T> refusedAtOnce(ReservationException why) {
    counters.recordRefusal(why.problem());
    return new PendingReservation.AwaitedReservation<>(
        Future.failedFuture(why), new AtomicReference<>(() -> {}));
  }

  /** Returns the loops in turn, as each serves a share; a blocked loop only if all are blocked. */
  RouterLoop pickLoop() {
    int count = routers.loops();
    int first = Math.floorMod(nextLoop.getAndIncrement(), count);
    return IntStream.range(first, first + count)
        .mapToObj(index -> routers.loop(index % count))
        .filter(loop -> !loop.isBlocked())
        .findFirst()
        .orElse(routers.loop(first));
  }

  // --- results of requests ---

  TokenEntry add(String caller, LeasedSelection selection) {
    String token = keepers.newToken(selection.deployment(), secrets);
    TokenEntry entry = new TokenEntry(token, caller, selection);
    tokens.put(entry.token, entry);
    held.add(entry);
    heldCount.incrementAndGet();
    counters.made.increment();
    selection.whenLeft(() -> onSelectionEnded(entry, selection));
    return entry;
  }

  /** Records the end of a selection. */
  private void onSelectionEnded(TokenEntry entry, LeasedSelection selection) {
    ReservationProblem how = Objects.requireNonNull(selection.endReason());
    long now = nanoClock.getAsLong();
    if (!entry.end(how, now + Math.max(entry.ttlNanos, REMEMBER_NANOS))) {
      return;
    }
    if (how != ReservationProblem.ALREADY_USED) { // else its outcome is not known yet
      counters.recordEnd(how);
    }
    held.remove(entry);
    heldCount.decrementAndGet();
    permits.give(entry.caller, 1);
    ended.add(entry);
    if (endedCount.incrementAndGet() > limits.maxEnded()) {
      forget(ended.peek());
    }
  }

  private void forget(@Nullable TokenEntry oldest) {
    if (oldest != null && ended.remove(oldest)) {
      endedCount.decrementAndGet();
      tokens.remove(oldest.token);
    }
  }

  /** Forgets a request whose result was delivered. */
  void removePending(PendingReservation ask) {
    asking.remove(ask);
  }

  /** Returns the permits and the key of a failed request. */
  void endedWithout(PendingReservation ask) {
    asking.remove(ask);
    forgetKey(ask);
    permits.give(ask.caller, ask.permits());
  }

  private void forgetKey(PendingReservation ask) {
    if (ask.key != null) {
      keys.remove(ask.caller, ask.key, ask);
    }
  }

  void giveBack(TokenEntry entry) {
    LeasedSelection selection = entry.selection();
    if (selection != null) {
      selection.close();
    }
  }

  // --- tokens ---

  @Override
  public Future<Reservation> renew(DeploymentId deployment, String token) {
    return callOnOwner(
        token,
        () -> renewHere(deployment, token),
        keeper -> ReservationOwners.renew(pickLoop(), keeper, deployment, token));
  }

  private <T> Future<T> callOnOwner(
      String token, Supplier<Future<T>> here, Function<String, Future<T>> elsewhere) {
    try {
      String keeper = keeperOf(token);
      return keeper == null ? here.get() : counted(elsewhere.apply(keeper));
    } catch (ReservationException refused) {
      return Future.failedFuture(refused);
    }
  }

  Future<Reservation> renewHere(DeploymentId deployment, String token) {
    TokenEntry entry = tokens.get(token);
    LeasedSelection selection = open(entry, deployment);
    return selection
        .renew()
        .map(
            renewed -> {
              Reservation now = renewed ? entry.reservation() : null;
              if (now != null) {
                return now;
              }
              selection.expireIfPast(nanoClock.getAsLong());
              throw refuse(
                  Objects.requireNonNullElse(entry.endReason(), ReservationProblem.REPLICA_GONE));
            });
  }

  @Override
  public Future<Void> release(DeploymentId deployment, String token) {
    return callOnOwner(
        token,
        () -> releaseHere(deployment, token),
        keeper -> ReservationOwners.release(pickLoop(), keeper, deployment, token));
  }

  Future<Void> releaseHere(DeploymentId deployment, String token) {
    TokenEntry entry = tokens.get(token);
    ReservationProblem problem = problemOf(entry, deployment);
    if (entry == null || problem == ReservationProblem.OTHER_DEPLOYMENT) {
      return Future.failedFuture(refuse(Objects.requireNonNull(problem)));
    }
    LeasedSelection selection = entry.selection();
    Future<Void> released = selection == null ? Future.succeededFuture() : selection.close();
    ReservationProblem ended = selection == null ? entry.endReason() : selection.endReason();
    return ended == ReservationProblem.ALREADY_USED ? Future.failedFuture(refuse(ended)) : released;
  }

  /** Returns the deployment of a token, also after its end; null if it is unknown. Thread-safe. */
  public @Nullable DeploymentId deploymentOf(String token) {
    TokenEntry entry = tokens.get(token);
    return entry == null ? ReservationOwners.deploymentOf(token, routers) : entry.deployment;
  }

  /**
   * Returns the bus name of the instance that owns a token's reservation; null if it is this one,
   * or no instance is known. Thread-safe.
   *
   * @throws ReservationException if that instance is lost
   */
  public @Nullable String keeperOf(String token) {
    return tokens.containsKey(token) ? null : keepers.of(token);
  }

  /**
   * Fetches a reservation from another instance, to run a request on its slot. Call on the loop of
   * the request.
   *
   * @return the slot; fails with a {@link ReservationException}, and the request did not run
   */
  public Future<LeasedSelection> fetch(
      String keeper, String token, DeploymentRouter router, RouterLoop loop, CallObserver owner) {
    GangMember leg =
        PendingReservation.leg(
            router, new ReservationRequest(router.deployment(), 0, 0, owner.sessionId()));
    return counted(ReservationOwners.use(loop, keeper, token, leg, owner.deadlineNanos()));
  }

  private <T> Future<T> counted(Future<T> asked) {
    return asked.onFailure(why -> counters.recordRefusal(((ReservationException) why).problem()));
  }

  /**
   * Runs a request on a token's slot. Call on the loop of the request, which may differ from the
   * loop of the choose.
   *
   * @return the call, for its cancellation; null if the owner received a failure at once
   * @throws ReservationException if the token is not usable; the request did not run and the owner
   *     receives no result
   */
  public @Nullable RoutedCall use(
      String token, DeploymentRouter router, RouterLoop loop, Request request, CallObserver owner) {
    TokenEntry entry = tokens.get(token);
    LeasedSelection selection = open(entry, router.deployment());
    if (loop.isPast(owner.deadlineNanos())) {
      owner.onFailure(SlotRequest.timeout()); // the reservation stays
      return null;
    }
    if (loop.isFull()) {
      owner.onFailure(router.pendingFull(loop));
      return null;
    }
    ReservationProblem lost = selection.take();
    if (lost != null) {
      throw refuse(lostTo(lost, entry));
    }
    counters.recordEnd(ReservationProblem.ALREADY_USED);
    RoutedCall call = selection.newCall(loop, request, owner);
    call.dispatchTaken();
    return call;
  }

  /** Corrects the recorded end of a reservation that a request took but could not run on. */
  ReservationProblem lostTo(ReservationProblem lost, TokenEntry entry) {
    if (lost != ReservationProblem.ALREADY_USED
        && entry.endReason() == ReservationProblem.ALREADY_USED) {
      entry.endedInstead(lost);
      counters.recordEnd(lost);
    }
    return lost;
  }

  @Nullable TokenEntry entry(String token) {
    return tokens.get(token);
  }

  /** Returns the open selection of an entry; throws the reason if there is none. */
  LeasedSelection open(@Nullable TokenEntry entry, DeploymentId deployment) {
    ReservationProblem problem = problemOf(entry, deployment);
    LeasedSelection selection = entry == null ? null : entry.selection();
    if (selection == null || problem != null) {
      throw refuse(problem == null ? ReservationProblem.EXPIRED : problem);
    }
    return selection;
  }

  private @Nullable ReservationProblem problemOf(
      @Nullable TokenEntry entry, DeploymentId deployment) {
    if (entry == null) {
      return ReservationProblem.UNKNOWN_TOKEN;
    }
    return entry.deployment.equals(deployment)
        ? entry.endReason()
        : ReservationProblem.OTHER_DEPLOYMENT;
  }

  private Reservation now(TokenEntry entry) {
    Reservation reservation = entry.reservation();
    if (reservation == null) {
      throw ReservationException.of(
          Objects.requireNonNullElse(entry.endReason(), ReservationProblem.EXPIRED));
    }
    return reservation;
  }

  ReservationException refuse(ReservationProblem problem) {
    counters.recordRefusal(problem);
    return ReservationException.of(problem);
  }

  private static ReservationException refusal(ReservationProblem problem, String text) {
    return new ReservationException(problem, text, -1, -1);
  }

  // --- time ---

  /**
   * Ends expired requests and reservations, even if their loop is blocked, and drops old records.
   */
  public void sweep() {
    long now = nanoClock.getAsLong();
    asking.forEach(ask -> ask.expireIfPast(now));
    for (TokenEntry entry : held) {
      LeasedSelection selection = entry.selection();
      if (selection != null) {
        selection.expireIfPast(now);
      }
    }
    for (TokenEntry oldest = ended.peek();
        oldest != null && oldest.forgettable(now);
        oldest = ended.peek()) {
      forget(oldest);
    }
    keys.sweep(now);
  }

  /**
   * Refuses new reservations and fails waiting requests; held reservations may still be used,
   * renewed and released.
   */
  public void drain() {
    draining = true;
    asking.forEach(ask -> ask.giveUp(drains()));
  }

  private static ReservationException drains() {
    return refusal(ReservationProblem.UNAVAILABLE, "This node is being drained.");
  }

  /** Releases all held slots, because no client can use them any longer. */
  public void releaseAll() {
    held.forEach(this::giveBack);
  }

  // --- status ---

  /** Returns the number of reservations that can be used now. */
  public int heldCount() {
    return heldCount.get();
  }

  /** Returns the number of slots held or awaited. */
  public int permitsTaken() {
    return permits.taken.get();
  }

  /** Returns the number of ended reservations that are retained. */
  public int remembered() {
    return endedCount.get();
  }

  /** Returns the number of callers that hold or await a slot. */
  public int callers() {
    return permits.callers();
  }

  public int keys() {
    return keys.size();
  }

  /** Returns the number of keys dropped before their expiry because a limit was reached. */
  public long keysForgotten() {
    return keys.forgotten();
  }
}
