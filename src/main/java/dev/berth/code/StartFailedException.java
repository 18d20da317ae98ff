package dev.berth.code;

import dev.berth.protocol.UserFailure;
import org.jspecify.annotations.Nullable;

/**
 * Failure of an instance or application to start because of its configuration or code. The message
 * is a complete description in one line. The stack trace of failed user code was logged where it
 * failed.
 */
public final class StartFailedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public StartFailedException(String message) {
    super(oneLine(message), null, false, false);
  }

  /**
   * Returns a description of a failure in one line: its class and message, and those of its causes.
   */
  public static String describe(Throwable failure) {
    StringBuilder text = new StringBuilder();
    @Nullable Throwable each = UserFailure.legible(failure);
    for (int depth = 0; each != null && depth < 4; depth++, each = each.getCause()) {
      text.append(depth == 0 ? "" : "; caused by ").append(each.getClass().getSimpleName());
      if (each.getMessage() != null) {
        text.append(": ").append(each.getMessage());
      }
    }
    return oneLine(text.toString());
  }

  /**
   * Returns a description for users. Omits the class of a {@link StartFailedException}, whose
   * message is complete.
   */
  public static String why(Throwable failure) {
    return failure instanceof StartFailedException
        ? String.valueOf(failure.getMessage())
        : describe(failure);
  }

  private static String oneLine(String text) {
    return text.replaceAll("\\s+", " ").strip();
  }
}
