package dev.berth.routing.reserve;

import dev.berth.protocol.port.Reservations.Problem;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/** What a {@link ReservationTable} counts. Any thread. */
public final class ReservationCounters {
  final LongAdder made = new LongAdder();
  private final LongAdder[] ended = adders(); // by Problem
  private final LongAdder[] refused = adders();

  ReservationCounters() {}

  private static LongAdder[] adders() {
    return Stream.generate(LongAdder::new).limit(Problem.values().length).toArray(LongAdder[]::new);
  }

  void ended(Problem how) {
    ended[how.ordinal()].increment();
  }

  void refused(Problem why) {
    refused[why.ordinal()].increment();
  }

  public long made() {
    return made.sum();
  }

  /**
   * Ended by a release, by their expiry, or by a request that ran on them ({@link
   * Problem#ALREADY_USED}) or found their replica gone.
   */
  public long endedBy(Problem how) {
    return ended[how.ordinal()].sum();
  }

  /** Reserves, renewals, releases and uses that came to nothing, by why. */
  public long refusedBy(Problem why) {
    return refused[why.ordinal()].sum();
  }
}
