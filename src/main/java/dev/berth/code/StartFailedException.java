package dev.berth.code;

import dev.berth.protocol.UserFailure;
import org.jspecify.annotations.Nullable;

/**
 * The instance could not start because of what it was told to run. The message is one line and says
 * it all; the stack of user code that failed was logged where it failed.
 */
public final class StartFailedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public StartFailedException(String message) {
    super(oneLine(message), null, false, false);
  }

  /** A failure in one line: its class and message, and those of what caused it. */
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

  /** As people are told: what says so itself without its class. */
  public static String why(Throwable failure) {
    return failure instanceof StartFailedException
        ? String.valueOf(failure.getMessage())
        : describe(failure);
  }

  private static String oneLine(String text) {
    return text.replaceAll("\\s+", " ").strip();
  }
}
