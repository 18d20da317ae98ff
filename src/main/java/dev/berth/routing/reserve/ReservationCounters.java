package dev.berth.routing.reserve;

import dev.berth.protocol.port.Reservations.Problem;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** What a {@link ReservationTable} counts. Any thread. */
public final class ReservationCounters {
  final LongAdder made = new LongAdder();
  final LongAdder used = new LongAdder();
  final LongAdder released = new LongAdder();
  final LongAdder expired = new LongAdder();
  final LongAdder lost = new LongAdder();
  private final Map<Problem, LongAdder> refused = new EnumMap<>(Problem.class);

  ReservationCounters() {
    for (Problem problem : Problem.values()) {
      refused.put(problem, new LongAdder());
    }
  }

  void refused(Problem problem) {
    adder(problem).increment();
  }

  private LongAdder adder(Problem problem) {
    return java.util.Objects.requireNonNull(refused.get(problem));
  }

  public long made() {
    return made.sum();
  }

  /** Ended by a request that ran on them. */
  public long used() {
    return used.sum();
  }

  public long released() {
    return released.sum();
  }

  public long expired() {
    return expired.sum();
  }

  /** Ended by a request that found their replica gone. */
  public long lost() {
    return lost.sum();
  }

  /** Reserves, renewals, releases and uses that came to nothing, by why. */
  public long refusedBy(Problem problem) {
    return adder(problem).sum();
  }
}
