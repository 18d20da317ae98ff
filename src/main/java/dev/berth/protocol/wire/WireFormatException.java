package dev.berth.protocol.wire;

import org.jspecify.annotations.Nullable;

/**
 * Bytes that are not a message of this protocol, or a message that has no wire form. What is around
 * the message is whole: whoever read it may go on with the next. Stackless.
 */
public final class WireFormatException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  WireFormatException(String message) {
    this(message, null);
  }

  WireFormatException(String message, @Nullable Throwable cause) {
    super(message, cause, false, false);
  }
}
