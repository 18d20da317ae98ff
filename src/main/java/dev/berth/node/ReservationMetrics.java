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
    meters.addGauge(
        "berth_reservations_held", "Slots held by tokens, that can be used now.", table::held);
    meters.addGauge(
        "berth_reservations_asked",
        "Reservations held or waited for, which max_held_total bounds.",
        table::permitsTaken);
    meters.addGauge(
        "berth_reservations_asked_limit",
        "Most reservations held or waited for.",
        () -> table.limits().maxHeld());
    meters.addGauge(
        "berth_reservations_caller_limit",
        "Most reservations held or waited for by one caller.",
        () -> table.limits().maxHeldPerCaller());
    meters.addGauge(
        "berth_reservation_callers",
        "Callers that hold or wait for a reservation.",
        table::callers);
    meters.addGauge(
        "berth_reservations_remembered", "Ended reservations remembered.", table::remembered);
    meters.addGauge(
        "berth_reservations_remembered_limit",
        "Most ended reservations remembered.",
        () -> table.limits().maxEnded());
    meters.addGauge("berth_idempotency_keys", "Idempotency keys remembered.", table::keys);
    meters.addGauge(
        "berth_idempotency_keys_limit",
        "Most idempotency keys remembered.",
        () -> table.limits().maxKeys());
    meters.addCounter(
        "berth_idempotency_keys_forgotten",
        "Idempotency keys forgotten before their time, for want of room.",
        table::keysForgotten);
    ReservationCounters counters = table.counters();
    meters.addCounter("berth_reservations_made", "Reservations made.", counters::made);
    ended(meters, "used", counters::used);
    ended(meters, "released", counters::released);
    ended(meters, "expired", counters::expired);
    ended(meters, "replica_gone", counters::lost);
    for (Problem problem : Problem.values()) {
      meters.addCounter(
          "berth_reservations_refused",
          "Reserves, renewals, releases and uses that were refused, by why.",
          () -> counters.refusedBy(problem),
          "reason",
          problem.name().toLowerCase(Locale.ROOT));
    }
  }

  private static void ended(Meters meters, String how, java.util.function.DoubleSupplier count) {
    meters.addCounter(
        "berth_reservations_ended", "Reservations that ended, by how.", count, "how", how);
  }
}
