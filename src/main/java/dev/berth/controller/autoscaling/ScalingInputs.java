package dev.berth.controller.autoscaling;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one decision was made from. Loads are in requests.
 *
 * @param sources the first {@link #MAX_SOURCES} of the instances that report, those that are not
 *     known first, the heaviest of the others next
 * @param instances all of them
 * @param unknown how many of them are silent, or have not reported yet
 * @param total the load in the look-back window, aggregated
 * @param latest the load as reported last, a silent instance's included
 * @param panic mean load in the panic window; 0 without one
 * @param fleet the replicas
 * @param policy what a policy of the user's own answered; null for the ratio to the target
 * @param changesNanos when these would be others though nothing is reported; {@code Long.MAX_VALUE}
 *     for never
 */
public record ScalingInputs(
    List<Source> sources,
    int instances,
    int unknown,
    double total,
    double latest,
    double panic,
    Fleet fleet,
    @Nullable PolicyAnswer policy,
    long changesNanos) {

  /** Instances that a decision names. */
  public static final int MAX_SOURCES = 16;

  /**
   * One instance.
   *
   * @param name of the instance
   * @param load it reported last
   * @param ageMs milliseconds since its last report, or since it is known of
   * @param known what its load is worth
   */
  public record Source(String name, double load, long ageMs, Knowledge known) {}

  /** What is known of an instance. */
  public enum Knowledge {
    /** It reports. */
    REPORTED,
    /** It reported and stopped: its last load stands for more replicas, never for fewer. */
    SILENT,
    /** It is there and has not reported yet. */
    UNHEARD
  }

  public ScalingInputs {
    sources = List.copyOf(sources);
  }
}
