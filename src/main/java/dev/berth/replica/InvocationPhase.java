package dev.berth.replica;

/**
 * Phase of a request's handler.
 *
 * <pre>
 *   GATHERING --body complete, or to be streamed--> HANDLING --settled--> ANSWERING
 *   ANSWERING --whole response or failure--> ENDED (slot freed, then the response is sent)
 *             --streamed response, and its producer is done--> SENDING --last frame sent--> ENDED
 *             --of an upstream--> the slot is freed on SENDING
 *   any --cancel--> unchanged, but cancelled: no response is sent
 *       --handler settled and its producer done, if it was called--> ENDED
 *       --cancel_grace_s--> counted as a zombie until then
 * </pre>
 */
enum InvocationPhase {
  GATHERING,
  HANDLING,
  ANSWERING,
  SENDING,
  ENDED;

  boolean mayBecome(InvocationPhase next) {
    return switch (next) {
      case GATHERING -> false;
      case HANDLING -> this == GATHERING;
      case ANSWERING -> this == GATHERING || this == HANDLING;
      case SENDING -> this == ANSWERING;
      case ENDED -> this != ENDED;
    };
  }
}
