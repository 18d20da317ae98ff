package dev.berth.simulation;

import dev.berth.api.BerthException;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import java.util.Optional;

/** What must happen somewhere in the suite. */
enum Transition {
  // --- slots and leases, as the ledgers count them ---
  GRANTED,
  COMPLETED,
  RELEASED,
  EXPIRED,
  /** An attempt that came twice, or after its release. */
  ATTEMPT_REPEATED,
  HAND_OFF,

  // --- refusals, as they were sent ---
  REFUSED_FULL,
  REFUSED_DRAINING,
  REFUSED_EXPIRED,
  REFUSED_ALREADY_USED,
  REFUSED_RELEASED,
  REFUSED_REVOKED,
  REFUSED_FOREIGN_EPOCH,
  REFUSED_UNKNOWN_REPLICA,
  REFUSED_TOO_LATE,
  REFUSED_OVERLOADED,
  REFUSED_RECALLED,
  REFUSED_NOT_RUN,

  // --- routers ---
  QUEUED,
  GRANT_TO_WAITER,
  RETRY_AFTER_REFUSAL,
  LATE_ANSWER_DROPPED,
  DUPLICATE_ANSWER_DROPPED,
  SNAPSHOT_TAKEN,
  SNAPSHOT_TOO_OLD,
  LOOP_BLOCKED,
  LOOP_RUNS_AGAIN,
  /** A slot was taken while a replica on a blocked loop had to be avoided. */
  REPLICA_AVOIDED,
  /** A slot went past someone who waits on a blocked loop. */
  WAITER_PASSED_OVER,

  // --- what nothing was heard of ---
  RECALLED_RUNNING,
  RECALLED_UNKNOWN,
  ACCEPTED_CROSSED_ITS_RECALL,
  ANSWER_CROSSED_ITS_RECALL,
  CANCEL_REPEATED,
  CANCEL_NOT_REPEATED,

  // --- replicas ---
  DUPLICATE_REQUEST_DROPPED,
  REPLICA_DEADLINE,
  ZOMBIE,
  STARTED,
  DRAINED_IN_TIME,
  DRAIN_CUT_SHORT,
  KILLED,
  REPLICA_CLOSED,
  MAX_RAISED,
  MAX_LOWERED,
  OVER_A_LOWERED_MAX,
  RANKER_CHANGED_BESIDE_WAITERS,

  // --- batches, of the simulation that has them ---
  BATCH_STARTED,
  BATCH_FULL,
  BATCH_SEAT,
  BATCH_SEAT_TAKEN,
  BATCH_LOOSE,
  BATCH_OF_SEVERAL_NODES,
  BATCH_BESIDE_ANOTHER,

  // --- the bodies of requests ---
  BODY_STREAMED_WHOLE,
  BODY_GATHERED_WHOLE,
  BODY_CUT,
  BODY_READ_LATER,
  ANSWERED_BEFORE_ITS_BODY,
  SOURCE_FAILED,

  // --- what callers got ---
  ANSWERED_WITHOUT_DEADLINE,
  GIVEN_UP_WITHOUT_DEADLINE,
  RESPONSE,
  STREAM_COMPLETE,
  STREAM_CUT,
  SELECTION,
  SELECTION_CLOSED,
  SELECTION_EXPIRED,
  SELECTION_DISPATCHED,
  SECOND_DISPATCH_REFUSED,
  RENEWED,
  RENEWAL_REFUSED,
  BACK_PRESSURE,
  REPLICA_UNAVAILABLE,
  RESERVATION_EXPIRED,
  OUTCOME_UNKNOWN,
  CANCELLED,
  TIMEOUT,
  HANDLER_FAILED,
  PAYLOAD_TOO_LARGE,
  DEPLOYMENT_UNAVAILABLE;

  boolean isOfBatches() {
    return name().startsWith("BATCH_");
  }

  static Optional<Transition> ofMessage(BusMessage message) {
    return message instanceof BusMessage.CallRefused refused
        ? ofRefusal(refused.reason())
        : Optional.empty();
  }

  private static Optional<Transition> ofRefusal(Refusal reason) {
    return switch (reason) {
      case FULL -> Optional.of(REFUSED_FULL);
      case DRAINING -> Optional.of(REFUSED_DRAINING);
      case EXPIRED -> Optional.of(REFUSED_EXPIRED);
      case ALREADY_USED -> Optional.of(REFUSED_ALREADY_USED);
      case RELEASED -> Optional.of(REFUSED_RELEASED);
      case REVOKED -> Optional.of(REFUSED_REVOKED);
      case FOREIGN_EPOCH -> Optional.of(REFUSED_FOREIGN_EPOCH);
      case UNKNOWN_REPLICA -> Optional.of(REFUSED_UNKNOWN_REPLICA);
      case TOO_LATE -> Optional.of(REFUSED_TOO_LATE);
      case OVERLOADED -> Optional.of(REFUSED_OVERLOADED);
      case RECALLED -> Optional.of(REFUSED_RECALLED);
      case NOT_RUN -> Optional.of(REFUSED_NOT_RUN);
      case UNKNOWN_TOKEN, // of a lease forgotten: a bound that no run reaches
          OTHER_DEPLOYMENT, // of a keeper: no run reserves over HTTP
          UNREADABLE -> // all are of one version
          Optional.empty();
    };
  }

  static Transition ofFailure(BerthException failure) {
    return switch (failure.kind()) {
      case DEPLOYMENT_UNAVAILABLE -> DEPLOYMENT_UNAVAILABLE;
      case BACK_PRESSURE -> BACK_PRESSURE;
      case REPLICA_UNAVAILABLE -> REPLICA_UNAVAILABLE;
      case RESERVATION_EXPIRED -> RESERVATION_EXPIRED;
      case OUTCOME_UNKNOWN -> OUTCOME_UNKNOWN;
      case CANCELLED -> CANCELLED;
      case TIMEOUT -> TIMEOUT;
      case HANDLER_FAILED, NO_SUCH_METHOD, COST_TOO_LARGE -> HANDLER_FAILED;
      case PAYLOAD_TOO_LARGE -> PAYLOAD_TOO_LARGE;
    };
  }
}
