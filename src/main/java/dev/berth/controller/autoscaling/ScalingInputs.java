package dev.berth.controller.autoscaling;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The inputs of one decision. Loads are in requests.
 *
 * @param sources at most {@link #MAX_SOURCES} reporting instances: unknown ones first, then those
 *     with the highest load
 * @param instances number of all reporting instances
 * @param unknown number of those that are silent or have not reported yet
 * @param total aggregated load of the look-back window
 * @param latest last reported load, including silent instances
 * @param panic mean load in the panic window; 0 without one
 * @param fleet the replicas
 * @param policy reply of a user-defined policy; null for the ratio to the target
 * @param changesNanos time at which the inputs change without a report; {@code Long.MAX_VALUE} for
 *     never
 */
public record ScalingInputs(
    List<LoadSource> sources,
    int instances,
    int unknown,
    double total,
    double latest,
    double panic,
    ReplicaCounts fleet,
    @Nullable PolicyAnswer policy,
    long changesNanos) {

  /** Maximum number of instances that a decision names. */
  public static final int MAX_SOURCES = 16;

  /**
   * The load of one instance.
   *
   * @param name of the instance
   * @param load last reported one
   * @param ageMs milliseconds since its last report, or since its registration
   * @param known freshness of the load
   */
  public record LoadSource(String name, double load, long ageMs, ReportFreshness known) {}

  /** The freshness of an instance's load. */
  public enum ReportFreshness {
    /** The instance reports. */
    REPORTED,
    /** The instance stopped reporting: its last load can start replicas, never stop any. */
    SILENT,
    /** The instance is registered and has not reported yet. */
    UNHEARD
  }

  public ScalingInputs {
    sources = List.copyOf(sources);
  }
}
