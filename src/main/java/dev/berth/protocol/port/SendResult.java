package dev.berth.protocol.port;

/**
 * The result of {@link BusSender#send}. All kinds except {@link SendResultKind#SENT} guarantee that
 * the message does not arrive.
 *
 * @param reason why a message is {@link SendResultKind#UNFIT}; else empty
 */
public record SendResult(SendResultKind kind, String reason) {
  public enum SendResultKind {
    /** The transport accepted the message. */
    SENT,
    /** The transport accepts no message now. A later send may succeed. */
    NOT_NOW,
    /** The receiver is unknown or was removed. */
    GONE,
    /** The message has no wire form. Any other send, to any node, fails in the same way. */
    UNFIT
  }

  public static final SendResult SENT = new SendResult(SendResultKind.SENT, "");
  public static final SendResult NOT_NOW = new SendResult(SendResultKind.NOT_NOW, "");
  public static final SendResult GONE = new SendResult(SendResultKind.GONE, "");

  /** Returns the result for a message that cannot be encoded. */
  public static SendResult unfit(Throwable why) {
    return new SendResult(SendResultKind.UNFIT, String.valueOf(why.getMessage()));
  }

  /** Returns whether the transport accepted the message. */
  public boolean isSent() {
    return kind == SendResultKind.SENT;
  }
}
