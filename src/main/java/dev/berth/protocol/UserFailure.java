package dev.berth.protocol;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Access to failures of user code, whose own methods may throw. */
public final class UserFailure {
  /** Maximum number of causes and suppressed failures of one failure. */
  public static final int MAX_CAUSES = 64;

  private UserFailure() {}

  /**
   * Returns the failure if it can be reported and logged; else a replacement that names the
   * failure's class and the class of the error that its methods threw.
   */
  public static Throwable legible(Throwable failure) {
    try {
      read(failure, Collections.newSetFromMap(new IdentityHashMap<>()));
      return failure;
    } catch (Throwable second) {
      return new IllegalStateException(
          failure.getClass().getName() + ", without a message: " + second.getClass().getName());
    }
  }

  /** Calls each method that a logger calls. */
  private static void read(@Nullable Throwable failure, Set<Throwable> known) {
    if (failure == null || !known.add(failure)) {
      return;
    }
    if (known.size() > MAX_CAUSES) {
      throw new IllegalStateException("causes: more (expected: at most " + MAX_CAUSES + ")");
    }
    String.valueOf(failure.getMessage()).concat(failure.toString());
    failure.getStackTrace();
    for (Throwable suppressed : failure.getSuppressed()) {
      read(suppressed, known);
    }
    read(failure.getCause(), known);
  }
}
