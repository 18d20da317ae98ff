package dev.berth.routing.reserve;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import dev.berth.protocol.port.Reservations.Asked;
import dev.berth.protocol.port.Reservations.Caller;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.Wish;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.HeldSelection;
import dev.berth.routing.Leg;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.SlotRequest;
import dev.berth.routing.legs.LegsObserver;
import dev.berth.routing.legs.RoutedLegs;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Slots asked for by one caller, and all who wait for that answer: the caller, and its repeats
 * under the same idempotency key.
 *
 * <pre>
 *   ASKING --slots held--> HELD      tokens made, the answer told
 *          --failure--> FAILED       permits given back, the key forgotten, the failure told
 *          --all who wait have gone--> the choose is cancelled, and so FAILED
 *   HELD   --all have gone unanswered, and no key--> its slots are released
 * </pre>
 *
 * Any thread; who waits and what it came to is guarded by this, and nothing foreign runs under it.
 */
final class ReservationAsk implements LegsObserver {
  private static final int RETRY_AFTER_SECONDS = 1;

  private final ReservationTable table;
  final String caller;
  final @Nullable String key;
  private final List<Leg> legs;
  private final boolean named;
  private final long untilNanos;
  private final Promise<List<TokenEntry>> answer = Promise.promise();
  private int waiting = 1;
  private boolean settled;
  private volatile boolean unwanted; // before it was settled
  private volatile Runnable cancel = () -> {}; // once it has started
  private List<TokenEntry> entries = List.of();

  /**
   * @param named whether a failure says whose it is: they were asked for in a list
   * @param untilNanos when it is over, whatever comes of it
   */
  ReservationAsk(
      ReservationTable table, Caller caller, List<Leg> legs, boolean named, long untilNanos) {
    this.table = table;
    this.caller = caller.name();
    this.key = caller.idempotencyKey();
    this.legs = legs;
    this.named = named;
    this.untilNanos = untilNanos;
  }

  /** What an asker waits for, and what it means that it goes. */
  record Told<T>(Future<T> answer, AtomicReference<Runnable> leave) implements Asked<T> {
    @Override
    public void abandon() {
      leave.getAndSet(() -> {}).run(); // once
    }
  }

  /** A wish as its router takes it. */
  static Leg leg(DeploymentRouter router, Wish wish) {
    long ttl =
        Math.min(
            wish.ttlNanos() > 0 ? wish.ttlNanos() : router.settings().reservationTtlNanos(),
            router.settings().maxReservationTtlNanos());
    return new Leg(
        router, ttl, "", "", wish.sessionId(), null, SlotRequest.NO_DEADLINE, Long.MAX_VALUE);
  }

  /** One more waits for the answer; false when there will be none, since all others have gone. */
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

  /** How many slots. */
  int permits() {
    return legs.size();
  }

  /**
   * Looks for them.
   *
   * @param waits whether to wait where no slot is free
   */
  void start(RouterLoop loop, long deadlineNanos, boolean waits) {
    cancel = RoutedLegs.start(loop, legs, deadlineNanos, waits, this);
    if (unwanted) { // since before it could be cancelled
      cancel.run();
    }
  }

  /** One of those who wait has gone, before the answer or without receiving it. */
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

  /** The slots are held. */
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
        selections.stream().map(each -> table.add(caller, (HeldSelection) each)).toList();
    boolean gone;
    synchronized (this) {
      entries = made;
      gone = waiting == 0 && key == null; // all left in between
    }
    if (gone) {
      made.forEach(table::giveBack);
    }
    table.asked(this);
    answer.complete(made);
  }

  @Override
  public void onFailure(BerthException failure, int leg) {
    ReservationException refused = asProblem(legs.get(Math.max(0, leg)).router(), failure);
    failed(named ? named(leg, refused) : refused);
  }

  /** The same, saying which of them it was. */
  static ReservationException named(int leg, ReservationException refused) {
    return leg == NO_LEG
        ? refused
        : new ReservationException(
            refused.problem(),
            "legs[" + leg + "]: " + refused.getMessage(),
            refused.retryAfterSeconds(),
            refused.statusCode());
  }

  private void failed(ReservationException failure) {
    if (settle()) {
      over(failure);
    }
  }

  /** It has come to something; false when it had before. From then on it stays wanted or not. */
  private synchronized boolean settle() {
    boolean first = !settled;
    settled = true;
    return first;
  }

  /** Before its permits were taken. */
  void refused(ReservationException failure) {
    settle();
    answer.fail(failure);
  }

  /** Gives up one whose loop does not come to answer; what it may still hold is released then. */
  void expireIfPast(long now) {
    if (untilNanos - now > 0) {
      return;
    }
    giveUp(
        new ReservationException(
            Problem.FULL, "No slot was found in time.", RETRY_AFTER_SECONDS, -1));
  }

  /** Ends it, wherever it stands; what its way may still find is given back then. */
  void giveUp(ReservationException why) {
    failed(why);
    cancel.run();
  }

  private void over(ReservationException failure) {
    table.endedWithout(this);
    answer.fail(failure);
  }

  private static ReservationException abandoned() {
    return new ReservationException(Problem.ABANDONED, "The caller went while it waited.", -1, -1);
  }

  /** What a failed choose means to the caller. */
  static ReservationException asProblem(DeploymentRouter router, BerthException failure) {
    BerthException told = failure;
    if (failure instanceof BerthException.Timeout) {
      told = router.backPressure("wait_timeout_s reached while waiting for a slot");
    }
    String why = String.valueOf(told.getMessage());
    if (told instanceof BerthException.BackPressure full) {
      return new ReservationException(
          Problem.FULL,
          why,
          full.retryAfterSeconds().orElse(RETRY_AFTER_SECONDS),
          full.statusCode().orElse(-1));
    }
    return switch (told.kind()) {
      case CANCELLED -> abandoned();
      case REPLICA_UNAVAILABLE -> new ReservationException(Problem.REPLICA_GONE, why, -1, -1);
      default -> new ReservationException(Problem.UNAVAILABLE, why, -1, -1); // nothing ran
    };
  }
}
