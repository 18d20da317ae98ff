package dev.berth.config;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How replicas of one version start, and replace those of another: every value set but where null
 * is said.
 *
 * @param updateFraction {@code rolling_update_percentage}: share of the replicas replaced at a
 *     time, above 0, at most 1
 * @param surgePercent {@code max_surge_percent}: percent of the replicas that may run beyond their
 *     number meanwhile, 0 to 100; 0 stops old ones first
 * @param maxStartFailures {@code berth.max_constructor_retry_count}: failed starts after which a
 *     version has failed, at least 1
 * @param startTimeout {@code berth.replica_start_timeout_s}: how long a start may take once it has
 *     begun; null for as long as it likes
 * @param codeVersion {@code berth.version}: name of the code, in place of what it is made of; null
 *     when there is none
 */
public record Rollout(
    double updateFraction,
    double surgePercent,
    int maxStartFailures,
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

  /** What holds when neither file nor code says anything. */
  public static Rollout defaults() {
    return DeploymentSettings.defaults("any").rollout();
  }

  /** Checks each value against its key. */
  public Rollout {
    ROLLING_UPDATE_PERCENTAGE.require(updateFraction);
    MAX_SURGE_PERCENT.require(surgePercent);
    MAX_CONSTRUCTOR_RETRY_COUNT.require(maxStartFailures);
    REPLICA_START_TIMEOUT_S.requireIfSet(startTimeout);
    VERSION.requireIfSet(codeVersion);
  }
}
