package dev.berth.protocol.wire;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when bytes are not a message of this protocol, or a message has no wire form. The
 * surrounding bytes are intact, so the reader may continue with the next message. Without a stack
 * trace.
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
