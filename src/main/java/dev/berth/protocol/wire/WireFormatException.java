package dev.berth.protocol.wire;

import org.jspecify.annotations.Nullable;

/**
 * Bytes that are not a message of this protocol, or a message that has no wire form. What is around
 * the message is whole: whoever read it may go on with the next. Stackless.
 */
public final class WireFormatException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What of it cannot be read. */
  public enum What {
    /** It is of another version. */
    VERSION,
    /** There is no message of its number in this version. */
    TYPE,
    /** A field or a length is not as it has to be. */
    FIELD
  }

  private final What what;

  WireFormatException(String message) {
    this(What.FIELD, message, null);
  }

  WireFormatException(What what, String message, @Nullable Throwable cause) {
    super(message, cause, false, false);
    this.what = what;
  }

  public What what() {
    return what;
  }
}
