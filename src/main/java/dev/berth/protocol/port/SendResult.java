package dev.berth.protocol.port;

/**
 * The result of {@link BusSender#send}. All but {@link Kind#SENT} guarantee that the message does
 * not arrive.
 *
 * @param reason why a message is {@link Kind#UNFIT}; else empty
 */
public record SendResult(Kind kind, String reason) {
  /** The four results. */
  public enum Kind {
    /** The transport has taken it. */
    SENT,
    /** The transport takes nothing now. A later send may succeed. */
    NOT_NOW,
    /** The receiver is not known, or no longer. */
    GONE,
    /** The message has no wire form. Another send fails in the same way, to any node. */
    UNFIT
  }

  public static final SendResult SENT = new SendResult(Kind.SENT, "");
  public static final SendResult NOT_NOW = new SendResult(Kind.NOT_NOW, "");
  public static final SendResult GONE = new SendResult(Kind.GONE, "");

  /** The result for a message that cannot be encoded. */
  public static SendResult unfit(Throwable why) {
    return new SendResult(Kind.UNFIT, String.valueOf(why.getMessage()));
  }

  /** Returns whether the transport has taken it. */
  public boolean isSent() {
    return kind == Kind.SENT;
  }
}
