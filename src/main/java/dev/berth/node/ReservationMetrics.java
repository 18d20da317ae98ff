package dev.berth.node;

import dev.berth.metrics.Meters;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.routing.reserve.ReservationCounters;
import dev.berth.routing.reserve.ReservationTable;
import java.util.Locale;

/** What is shown of the slots that are held by tokens; never a token, nor who holds it. */
final class ReservationMetrics {
  private ReservationMetrics() {}

  static void show(ReservationTable table, Meters meters) {
    meters.addGauge("berth_reservations_held", table::held);
    meters.addGauge("berth_reservations_asked", table::permitsTaken);
    meters.addGauge("berth_reservations_asked_limit", () -> table.limits().maxHeld());
    meters.addGauge("berth_reservations_caller_limit", () -> table.limits().maxHeldPerCaller());
    meters.addGauge("berth_reservation_callers", table::callers);
    meters.addGauge("berth_reservations_remembered", table::remembered);
    meters.addGauge("berth_reservations_remembered_limit", () -> table.limits().maxEnded());
    meters.addGauge("berth_idempotency_keys", table::keys);
    meters.addGauge("berth_idempotency_keys_limit", () -> table.limits().maxKeys());
    meters.addCounter("berth_idempotency_keys_forgotten", table::keysForgotten);
    ReservationCounters counters = table.counters();
    meters.addCounter("berth_reservations_made", counters::made);
    ended(meters, "used", () -> counters.endedBy(Problem.ALREADY_USED));
    ended(meters, "released", () -> counters.endedBy(Problem.RELEASED));
    ended(meters, "expired", () -> counters.endedBy(Problem.EXPIRED));
    ended(meters, "replica_gone", () -> counters.endedBy(Problem.REPLICA_GONE));
    for (Problem problem : Problem.values()) {
      meters.addCounter(
          "berth_reservations_refused",
          () -> counters.refusedBy(problem),
          "reason",
          problem.name().toLowerCase(Locale.ROOT));
    }
  }

  private static void ended(Meters meters, String how, java.util.function.DoubleSupplier count) {
    meters.addCounter("berth_reservations_ended", count, "how", how);
  }
}
