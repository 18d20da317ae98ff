package dev.berth.view;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One revision of an application that is wanted, or ran earlier, for operators.
 *
 * @param revision of all changes to what is wanted, this one's number
 * @param deployedMs when it was accepted, in milliseconds since 1970; 0 when that is not known
 * @param state its part now
 * @param message why it failed; empty otherwise
 * @param digest equal for entries that say the same, with jars that hold the same
 * @param routePrefix where it answers; null for an application without HTTP
 * @param jars its code, {@code NAME SHA-256}, in the order of the class path
 * @param config its entry, a JSON object
 */
public record RevisionDetails(
    long revision,
    long deployedMs,
    State state,
    String message,
    String digest,
    @Nullable String routePrefix,
    List<String> jars,
    String config) {

  /** What is with it now. */
  public enum State {
    /** It is wanted, and has run. */
    RUNS,
    /** It is wanted, and has not run yet. */
    WANTED,
    /** It is wanted and has failed. */
    FAILED,
    /** It ran earlier, and serves in place of one that failed. */
    SERVES,
    /** It ran earlier. */
    RAN
  }

  public RevisionDetails {
    jars = List.copyOf(jars);
  }
}
