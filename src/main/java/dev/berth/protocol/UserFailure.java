package dev.berth.protocol;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A failure of user code, which may fail again when it is asked what it is. */
public final class UserFailure {
  /** Causes, and what they suppressed, that are told of one failure. */
  public static final int MOST_CAUSES = 64;

  private UserFailure() {}

  /**
   * The failure, when it can be told and logged; else one that says of which class it is and why it
   * cannot.
   */
  public static Throwable legible(Throwable failure) {
    try {
      read(failure, Collections.newSetFromMap(new IdentityHashMap<>()));
      return failure;
    } catch (Throwable second) {
      return new IllegalStateException(
          failure.getClass().getName() + ", not to be told: " + second.getClass().getName());
    }
  }

  /** Asks for all that a log asks for. */
  private static void read(@Nullable Throwable failure, Set<Throwable> known) {
    if (failure == null || !known.add(failure)) {
      return;
    }
    if (known.size() > MOST_CAUSES) {
      throw new IllegalStateException("causes: more (expected: at most " + MOST_CAUSES + ")");
    }
    String.valueOf(failure.getMessage()).concat(failure.toString());
    failure.getStackTrace();
    for (Throwable suppressed : failure.getSuppressed()) {
      read(suppressed, known);
    }
    read(failure.getCause(), known);
  }
}
