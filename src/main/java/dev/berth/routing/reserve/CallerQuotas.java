package dev.berth.routing.reserve;

import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Permits for the slots that each caller holds or awaits. They limit the share of each caller, and
 * the total of the instance. Thread-safe.
 */
final class CallerQuotas {
  private final ReservationLimits limits;
  private final ConcurrentHashMap<String, Integer> byCaller = new ConcurrentHashMap<>();
  final AtomicInteger taken = new AtomicInteger(); // slots held or awaited

  CallerQuotas(ReservationLimits limits) {
    this.limits = limits;
  }

  /** Takes permits. Returns null on success; otherwise the limit that was reached. */
  @Nullable ReservationException tryTake(String caller, int wanted) {
    if (taken.addAndGet(wanted) > limits.maxHeld()) {
      taken.addAndGet(-wanted);
      return full(ReservationProblem.INSTANCE_LIMIT, "max_held_total: " + limits.maxHeld(), "");
    }
    if (byCaller.merge(caller, wanted, Integer::sum) > limits.maxHeldPerCaller()) {
      give(caller, wanted);
      return full(
          ReservationProblem.CALLER_LIMIT,
          "max_held_per_caller: " + limits.maxHeldPerCaller(),
          " by " + caller);
    }
    return null;
  }

  void give(String caller, int count) {
    byCaller.computeIfPresent(caller, (name, had) -> had == count ? null : had - count);
    taken.addAndGet(-count);
  }

  private static ReservationException full(ReservationProblem limit, String bound, String by) {
    return new ReservationException(limit, bound + " reservations are held or waiting" + by, 1, -1);
  }

  /** Returns the number of callers that hold or await a slot. */
  int callers() {
    return byCaller.size();
  }
}
