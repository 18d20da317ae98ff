package dev.berth.view;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A desired or earlier revision of an application, for operators.
 *
 * @param revision number among all changes of the desired state
 * @param deployedMs acceptance time in milliseconds since 1970; 0 if unknown
 * @param state of the revision now
 * @param message cause of a failure; empty otherwise
 * @param digest equal for equal entries with equal jar contents
 * @param routePrefix HTTP path prefix; null without HTTP
 * @param jars of its code, {@code NAME SHA-256}, in class path order
 * @param config entry of the application, a JSON object
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

  /** State of a revision. */
  public enum State {
    /** The revision is desired, and has run. */
    RUNS,
    /** The revision is desired, and has not run yet. */
    WANTED,
    /** The revision is desired, and has failed. */
    FAILED,
    /** The revision ran earlier, and serves in place of a failed one. */
    SERVES,
    /** The revision ran earlier. */
    RAN
  }
}
