package dev.berth.ingress;

/**
 * How far a request is.
 *
 * <pre>
 *   READING --body whole, or begun--> CALLING --response--> LEAVING
 *           --no room for its answer--> WAITING --room--> CALLING
 *   CALLING --streamed response--> RELAYING --end--> LEAVING
 *   CALLING, RELAYING --client gone, and wants it to go on--> DETACHED --end--> LEAVING
 *   any --failure--> LEAVING: answered with its status, or cut short once the head is out
 *   any --client gone--> LEAVING: the call is cancelled, 499 is counted
 *   LEAVING --the socket has taken the last of it, or never will--> LEFT
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
