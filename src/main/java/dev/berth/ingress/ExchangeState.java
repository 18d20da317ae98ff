package dev.berth.ingress;

/**
 * State of a request.
 *
 * <pre>
 *   READING --body whole, or streaming--> CALLING --response--> LEAVING
 *           --no memory for its response--> WAITING --memory granted--> CALLING
 *   CALLING --streamed response--> RELAYING --end--> LEAVING
 *   CALLING, RELAYING --client left, disconnect disabled--> DETACHED --end--> LEAVING
 *   any --failure--> LEAVING: error response, or aborted if the head is already sent
 *   any --client left--> LEAVING: the call is cancelled, 499 is counted
 *   LEAVING --the socket has taken the last byte, or never will--> LEFT
 * </pre>
 */
enum ExchangeState {
  READING,
  WAITING,
  CALLING,
  RELAYING,
  DETACHED,
  LEAVING,
  LEFT;

  boolean mayBecome(ExchangeState next) {
    return switch (next) {
      case READING -> false;
      case WAITING -> this == READING;
      case CALLING -> this == READING || this == WAITING;
      case RELAYING -> this == CALLING;
      case DETACHED -> this == CALLING || this == RELAYING;
      case LEAVING -> this != LEAVING && this != LEFT;
      case LEFT -> this == LEAVING;
    };
  }
}
