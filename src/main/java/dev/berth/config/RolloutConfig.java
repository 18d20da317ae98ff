package dev.berth.config;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What an entry of {@code deployments}, or code, says about starting and replacing replicas. Null
 * is unset.
 *
 * @param updateFraction share of the replicas replaced at a time, above 0, at most 1
 * @param surgePercent percent of the replicas that may run beyond their number, 0 to 100
 * @param maxStartFailures failed starts after which a version has failed, at least 1
 * @param startTimeout how long a start may take once it has begun
 * @param codeVersion name of the code, in place of what it is made of
 */
public record RolloutConfig(
    @Nullable Double updateFraction,
    @Nullable Double surgePercent,
    @Nullable Integer maxStartFailures,
    @Nullable Duration startTimeout,
    @Nullable String codeVersion) {

  static final Key<Double> ROLLING_UPDATE_PERCENTAGE =
      Key.override(
              "rolling_update_percentage",
              Types.numberAboveZero(1),
              Defaults.ROLLING_UPDATE_PERCENTAGE,
              "Share of the replicas, at least one, that is replaced at a time when a change needs"
                  + " new ones.")
          .orNull();
  static final Key<Double> MAX_SURGE_PERCENT =
      Key.override(
              "max_surge_percent",
              Types.number(0, 100),
              Defaults.MAX_SURGE_PERCENT,
              "Percent of the replicas, rounded up, that may run beyond their number while they are"
                  + " replaced, so that none is missing: new ones start first. 0 stops old ones"
                  + " first; it is Ray Serve's default, with which a single replica is gone until"
                  + " its successor runs.")
          .orNull();
  static final Key<Integer> MAX_CONSTRUCTOR_RETRY_COUNT =
      Key.override(
          "max_constructor_retry_count",
          Types.integer(1, 1_000_000, "starts"),
          Defaults.MAX_CONSTRUCTOR_RETRY_COUNT,
          "Failed starts of replicas of one version, and at most three for each replica wanted,"
              + " after which the deployment has failed. In Ray Serve only code says it.");
  static final Key<Duration> REPLICA_START_TIMEOUT_S =
      Key.optional(
          "replica_start_timeout_s",
          Types.seconds(),
          "How long the start of a replica may take: its handlers are made, started, reconfigured"
              + " and checked once. It has failed then, and its thread is interrupted. The wait for"
              + " a thread does not count. No bound unless said, as in Ray Serve.");
  static final Key<String> VERSION =
      Key.optional(
          "version",
          Types.text(),
          "Name of the code, in place of what it is made of: other code or arguments under the same"
              + " name start no new replicas, another name does. In Ray Serve only code says it.");

  /** Nothing said. After the keys, which it is checked against. */
  public static final RolloutConfig NONE = new RolloutConfig(null, null, null, null, null);

  /** Checks each value against its key. */
  public RolloutConfig {
    ROLLING_UPDATE_PERCENTAGE.requireIfSet(updateFraction);
    MAX_SURGE_PERCENT.requireIfSet(surgePercent);
    MAX_CONSTRUCTOR_RETRY_COUNT.requireIfSet(maxStartFailures);
    REPLICA_START_TIMEOUT_S.requireIfSet(startTimeout);
    VERSION.requireIfSet(codeVersion);
  }

  static RolloutConfig from(Values deployment, Values berth) {
    return new RolloutConfig(
        deployment.find(ROLLING_UPDATE_PERCENTAGE),
        deployment.find(MAX_SURGE_PERCENT),
        berth.find(MAX_CONSTRUCTOR_RETRY_COUNT),
        berth.find(REPLICA_START_TIMEOUT_S),
        berth.find(VERSION));
  }

  /** What is set here, and {@code lower}'s where nothing is. */
  RolloutConfig over(RolloutConfig lower) {
    return new RolloutConfig(
        updateFraction != null ? updateFraction : lower.updateFraction,
        surgePercent != null ? surgePercent : lower.surgePercent,
        maxStartFailures != null ? maxStartFailures : lower.maxStartFailures,
        startTimeout != null ? startTimeout : lower.startTimeout,
        codeVersion != null ? codeVersion : lower.codeVersion);
  }

  Rollout resolve() {
    return new Rollout(
        updateFraction != null ? updateFraction : Defaults.ROLLING_UPDATE_PERCENTAGE,
        surgePercent != null ? surgePercent : Defaults.MAX_SURGE_PERCENT,
        maxStartFailures != null ? maxStartFailures : Defaults.MAX_CONSTRUCTOR_RETRY_COUNT,
        startTimeout,
        codeVersion);
  }
}
