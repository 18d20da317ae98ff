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
    };
  }
}
