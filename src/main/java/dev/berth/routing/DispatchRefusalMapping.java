package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.routing.slots.RoutedReplica;

/** Maps a replica's refusal of a dispatch, whose slot was held there, to a failure. */
final class DispatchRefusalMapping {
  private DispatchRefusalMapping() {}

  /** Returns the failure for a handler that chose the replica. */
  static BerthException asFailure(Refusal refusal, RoutedReplica replica) {
    String id = replica.info.replicaId();
    return asProblem(refusal) == ReservationProblem.REPLICA_GONE
        ? new BerthException.ReplicaUnavailable(
            "replica " + id + " refused the request: " + refusal)
        : new BerthException.ReservationExpired(
            "the reservation at " + id + " is no longer valid: " + refusal);
  }

  /** Returns the problem for a client that reserved the slot by a token. */
  static ReservationProblem asProblem(Refusal refusal) {
    return switch (refusal) {
      case EXPIRED -> ReservationProblem.EXPIRED;
      case RELEASED, REVOKED -> ReservationProblem.RELEASED;
      case ALREADY_USED -> ReservationProblem.ALREADY_USED;
      case UNKNOWN_TOKEN -> ReservationProblem.UNKNOWN_TOKEN;
      case FULL,
          OVERLOADED,
          TOO_LATE,
          RECALLED,
          DRAINING,
          FOREIGN_EPOCH,
          UNKNOWN_REPLICA,
          UNREADABLE,
          NOT_RUN ->
          ReservationProblem.REPLICA_GONE;
      case OTHER_DEPLOYMENT -> ReservationProblem.OTHER_DEPLOYMENT;
    };
  }

  /** Returns the problem of a request that a reservation's owner, or the link to it, refused. */
  static ReservationProblem asReservation(Refusal refusal) {
    return refusal == Refusal.TOO_LATE || refusal == Refusal.UNREADABLE
        ? ReservationProblem.KEEPER_UNREACHED
        : asProblem(refusal);
  }
}
