package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.routing.slots.RoutedReplica;

/** Maps a replica's refusal of a dispatch, whose slot was held there, to a failure. */
final class DispatchRefusalMapping {
  private DispatchRefusalMapping() {}

  /** Returns the failure for a handler that chose the replica. */
  static BerthException asFailure(Refusal refusal, RoutedReplica replica) {
    String id = replica.info.replicaId();
    return asProblem(refusal) == Problem.REPLICA_GONE
        ? new BerthException.ReplicaUnavailable(
            "replica " + id + " refused the request: " + refusal)
        : new BerthException.ReservationExpired(
            "the reservation at " + id + " is no longer valid: " + refusal);
  }

  /** Returns the problem for a client that reserved the slot by a token. */
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

  /** Returns the problem of a request that a reservation's owner, or the link to it, refused. */
  static Problem asReservation(Refusal refusal) {
    return refusal == Refusal.TOO_LATE || refusal == Refusal.UNREADABLE
        ? Problem.KEEPER_UNREACHED
        : asProblem(refusal);
  }
}
