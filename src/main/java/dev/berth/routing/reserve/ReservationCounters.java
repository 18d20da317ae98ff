package dev.berth.routing.reserve;

import dev.berth.protocol.port.Reservations.ReservationProblem;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/** Counters of a {@link ReservationTable}. Thread-safe. */
public final class ReservationCounters {
  public final LongAdder made = new LongAdder();
  private final LongAdder[] ended = adders(); // indexed by Problem
  private final LongAdder[] refused = adders();

  ReservationCounters() {}

  private static LongAdder[] adders() {
    return Stream.generate(LongAdder::new)
        .limit(ReservationProblem.values().length)
        .toArray(LongAdder[]::new);
  }

  void recordEnd(ReservationProblem how) {
    ended[how.ordinal()].increment();
  }

  void recordRefusal(ReservationProblem why) {
    refused[why.ordinal()].increment();
  }

  /**
   * Returns the reservations that ended this way: by a release, by expiry, by a request that used
   * them ({@link ReservationProblem#ALREADY_USED}), or by the loss of their replica.
   */
  public long endedBy(ReservationProblem how) {
    return ended[how.ordinal()].sum();
  }

  /** Returns the reserves, renewals, releases and uses that failed for this reason. */
  public long refusedBy(ReservationProblem why) {
    return refused[why.ordinal()].sum();
  }
}
