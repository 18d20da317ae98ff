package dev.berth.routing.reserve;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.AskReservation;
import dev.berth.protocol.BusMessage.ReservationRenewed;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.routing.LeasedSelection;
import dev.berth.routing.RouterLoop;
import io.vertx.core.Future;
import java.util.Objects;

/**
 * Handles requests of other instances for the reservations of a table. A requester repeats its
 * request after a lost reply.
 */
record ReservationOwnerEndpoint(ReservationTable table, RouterLoop loop) {

  /** Handles a request. Confined to the loop. */
  void onRequest(AskReservation ask) {
    if (ask.acceptMicros() != 0) { // else its repeat follows
      answer(ask)
          .otherwise(why -> toRefusalReply(ask, asRefusal(((ReservationException) why).problem())))
          .onSuccess(told -> loop.answer(ask.source(), told));
    }
  }

  private Future<BusMessage.Answer> answer(AskReservation ask) {
    try {
      return switch (ask.wish()) {
        case USE -> Future.succeededFuture(give(ask));
        case RENEW ->
            table.renewHere(ask.deployment(), ask.token()).map(now -> toRenewalReply(ask, now));
        case RELEASE ->
            table
                .releaseHere(ask.deployment(), ask.token())
                .map(released -> toRefusalReply(ask, Refusal.RELEASED));
      };
    } catch (ReservationException refused) {
      return Future.failedFuture(refused);
    }
  }

  /** Transfers the slot to that request; a duplicate of the request receives the same reply. */
  private SlotReserved give(AskReservation ask) {
    TokenEntry entry = table.entry(ask.token());
    SlotReserved before = entry == null ? null : entry.givenTo(ask.attempt(), loop.now());
    if (before != null) {
      return before;
    }
    LeasedSelection selection = table.open(entry, ask.deployment());
    SlotReserved slot = selection.giveTo(ask.attempt(), ask.callId());
    if (slot == null) {
      throw table.refuse(table.lostTo(Objects.requireNonNull(selection.endReason()), entry));
    }
    table.counters.recordEnd(ReservationProblem.ALREADY_USED);
    entry.givenTo(ask.attempt(), slot, loop.now());
    return slot;
  }

  private static BusMessage.Answer toRenewalReply(AskReservation ask, Reservation now) {
    return new ReservationRenewed(
        ask.callId(),
        now.replicaId(),
        now.nodeId(),
        now.host(),
        now.port(),
        now.ttlNanos() / 1_000);
  }

  private static BusMessage.Answer toRefusalReply(AskReservation ask, Refusal why) {
    return new BusMessage.CallRefused(ask.callId(), why, LoadReport.NONE);
  }

  private static Refusal asRefusal(ReservationProblem problem) {
    return switch (problem) {
      case EXPIRED -> Refusal.EXPIRED;
      case RELEASED -> Refusal.RELEASED;
      case ALREADY_USED -> Refusal.ALREADY_USED;
      case OTHER_DEPLOYMENT -> Refusal.OTHER_DEPLOYMENT;
      case UNKNOWN_TOKEN -> Refusal.UNKNOWN_TOKEN;
      default -> Refusal.UNKNOWN_REPLICA; // replica and slot are lost
    };
  }
}
