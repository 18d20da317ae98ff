package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.routing.slots.RoutedReplica;

/** What it means that a replica did not take the request for which a slot was held there. */
final class RefusedDispatch {
  private RefusedDispatch() {}

  /** To a handler that chose the replica. */
  static BerthException asFailure(Refusal refusal, RoutedReplica replica) {
    String id = replica.info.replicaId();
    return asProblem(refusal) == Problem.REPLICA_GONE
        ? new BerthException.ReplicaUnavailable(
            "replica " + id + " did not take the request: " + refusal)
        : new BerthException.ReservationExpired(
            "the reservation at " + id + " no longer holds: " + refusal);
  }

  /** To who reserved the slot by a token. */
  static Problem asProblem(Refusal refusal) {
    return switch (refusal) {
      case EXPIRED -> Problem.EXPIRED;
      case RELEASED, REVOKED -> Problem.RELEASED;
      case ALREADY_USED -> Problem.ALREADY_USED;
      case UNKNOWN_TOKEN -> Problem.UNKNOWN_TOKEN;
      case FULL,
          OVERLOADED,
          TOO_LATE,
          RECALLED,
          DRAINING,
          FOREIGN_EPOCH,
          UNKNOWN_REPLICA,
          UNREADABLE ->
          Problem.REPLICA_GONE;
      case OTHER_DEPLOYMENT -> Problem.OTHER_DEPLOYMENT;
    };
  }

  /** What it means that the keeper of a reservation, or the way there, refused what was asked. */
  static Problem asReservation(Refusal refusal) {
    return refusal == Refusal.TOO_LATE || refusal == Refusal.UNREADABLE
        ? Problem.KEEPER_UNREACHED
        : asProblem(refusal);
  }
}
