package dev.berth.routing.reserve;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import dev.berth.protocol.port.Reservations.ReservationCall;
import dev.berth.protocol.port.Reservations.ReservationCaller;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.protocol.port.Reservations.ReservationRequest;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.GangMember;
import dev.berth.routing.LeasedSelection;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.SlotRequest;
import dev.berth.routing.legs.GangReservation;
import dev.berth.routing.legs.LegsObserver;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A request of one caller for slots, and all that wait for its result: the caller, and its repeats
 * under the same idempotency key.
 *
 * <pre>
 *   ASKING --slots held--> HELD      tokens created, the result delivered
 *          --failure--> FAILED       permits returned, the key removed, the failure delivered
 *          --no caller waits--> the choose is cancelled, and so FAILED
 *   HELD   --no caller received the result, and no key--> its slots are released
 * </pre>
 *
 * Thread-safe. The number of waiting callers and the result are guarded by this, and no foreign
 * code runs under that lock.
 */
final class PendingReservation implements LegsObserver {
  private static final int RETRY_AFTER_SECONDS = 1;

  private final ReservationTable table;
  final String caller;
  final @Nullable String key;
  private final List<GangMember> legs;
  private final boolean named;
  private final long untilNanos;
  private final Promise<List<TokenEntry>> answer = Promise.promise();
  private int waiting = 1;
  private boolean settled;
  private volatile boolean unwanted; // set before the result
  private volatile Runnable cancel = () -> {}; // set after the start
  private List<TokenEntry> entries = List.of();

  /**
   * @param named whether a failure names its leg, because the caller sent a list
   * @param untilNanos time at which the request is given up in any case
   */
  PendingReservation(
      ReservationTable table,
      ReservationCaller caller,
      List<GangMember> legs,
      boolean named,
      long untilNanos) {
    this.table = table;
    this.caller = caller.name();
    this.key = caller.idempotencyKey();
    this.legs = legs;
    this.named = named;
    this.untilNanos = untilNanos;
  }

  /** The future of one waiting caller, and the action on its departure. */
  record AwaitedReservation<T>(Future<T> answer, AtomicReference<Runnable> leave)
      implements ReservationCall<T> {
    @Override
    public void abandon() {
      leave.getAndSet(() -> {}).run(); // at most once
    }
  }

  /** Returns the parameters of a requested reservation, for its router. */
  static GangMember leg(DeploymentRouter router, ReservationRequest wish) {
    long ttl =
        Math.min(
            wish.ttlNanos() > 0 ? wish.ttlNanos() : router.settings().reservationTtlNanos(),
            router.settings().maxReservationTtlNanos());
    return new GangMember(
        router,
        ttl,
        "",
        "",
        wish.sessionId(),
        null,
        SlotRequest.NO_DEADLINE,
        Long.MAX_VALUE,
        wish.cost());
  }

  /** Adds a waiting caller. Returns false if all others have left, so that no result will come. */
  synchronized boolean join() {
    if (unwanted) {
      return false;
    }
    waiting++;
    return true;
  }

  Future<List<TokenEntry>> answer() {
    return answer.future();
  }

  /** Returns the number of slots. */
  int permits() {
    return legs.size();
  }

  /**
   * Starts to acquire the slots.
   *
   * @param waits whether to wait if no slot is free
   */
  void start(RouterLoop loop, long deadlineNanos, boolean waits) {
    cancel = GangReservation.start(loop, legs, deadlineNanos, waits, this);
    if (unwanted) { // since before the cancel was set
      cancel.run();
    }
  }

  /** Removes a waiting caller that left before the result, or did not receive it. */
  void leave() {
    List<TokenEntry> left = List.of();
    synchronized (this) {
      if (--waiting > 0) {
        return;
      }
      if (!settled) {
        unwanted = true;
      } else if (key == null) {
        left = entries;
      }
    }
    if (unwanted) {
      cancel.run();
    }
    left.forEach(table::giveBack);
  }

  /** Creates the tokens of the held slots and delivers the result. */
  @Override
  public void onSelections(List<ReplicaSelection> selections) {
    boolean first = settle();
    if (!first || unwanted) {
      selections.forEach(ReplicaSelection::close);
      if (first) {
        over(abandoned());
      }
      return;
    }
    List<TokenEntry> made =
        selections.stream().map(each -> table.add(caller, (LeasedSelection) each)).toList();
    boolean gone;
    synchronized (this) {
      entries = made;
      gone = waiting == 0 && key == null; // all left meanwhile
    }
    if (gone) {
      made.forEach(table::giveBack);
    }
    table.removePending(this);
    answer.complete(made);
  }

  @Override
  public void onFailure(BerthException failure, int leg) {
    ReservationException refused = asProblem(legs.get(Math.max(0, leg)).router(), failure);
    fail(named ? named(leg, refused) : refused);
  }

  /** Returns the same failure with the leg that caused it. */
  static ReservationException named(int leg, ReservationException refused) {
    return leg == NO_LEG
        ? refused
        : new ReservationException(
            refused.problem(),
            "legs[" + leg + "]: " + refused.getMessage(),
            refused.retryAfterSeconds(),
            refused.statusCode());
  }

  private void fail(ReservationException failure) {
    if (settle()) {
      over(failure);
    }
  }

  /**
   * Marks the result as decided; returns false if it was decided before. The mark fixes {@code
   * unwanted}.
   */
  private synchronized boolean settle() {
    boolean first = !settled;
    settled = true;
    return first;
  }

  /** Fails a request that has no permits yet. */
  void reject(ReservationException failure) {
    settle();
    answer.fail(failure);
  }

  /**
   * Gives up a request whose loop is too late to end it; slots that it still acquires are released
   * then.
   */
  void expireIfPast(long now) {
    if (untilNanos - now > 0) {
      return;
    }
    giveUp(
        new ReservationException(
            ReservationProblem.FULL, "No slot was found in time.", RETRY_AFTER_SECONDS, -1));
  }

  /**
   * Ends the request in any state; slots that a pending choose still acquires are released then.
   */
  void giveUp(ReservationException why) {
    fail(why);
    cancel.run();
  }

  private void over(ReservationException failure) {
    table.endedWithout(this);
    answer.fail(failure);
  }

  private static ReservationException abandoned() {
    return new ReservationException(
        ReservationProblem.ABANDONED, "The caller left while it waited.", -1, -1);
  }

  /** Returns the problem that a failed choose means to the caller. */
  static ReservationException asProblem(DeploymentRouter router, BerthException failure) {
    BerthException told = failure;
    if (failure instanceof BerthException.Timeout) {
      told = router.backPressure("wait_timeout_s reached while waiting for a slot");
    }
    String why = String.valueOf(told.getMessage());
    if (told instanceof BerthException.BackPressure full) {
      return new ReservationException(
          ReservationProblem.FULL,
          why,
          full.retryAfterSeconds().orElse(RETRY_AFTER_SECONDS),
          full.statusCode().orElse(-1));
    }
    return switch (told.kind()) {
      case CANCELLED -> abandoned();
      case COST_TOO_LARGE -> new ReservationException(ReservationProblem.MALFORMED, why, -1, -1);
      case REPLICA_UNAVAILABLE ->
          new ReservationException(ReservationProblem.REPLICA_GONE, why, -1, -1);
      default ->
          new ReservationException(ReservationProblem.UNAVAILABLE, why, -1, -1); // no handler ran
    };
  }
}
