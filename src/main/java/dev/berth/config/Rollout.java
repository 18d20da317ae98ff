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

  /** What holds when neither file nor code says anything. */
  public static Rollout defaults() {
    return RolloutConfig.NONE.resolve();
  }

  /** Checks each value against its key. */
  public Rollout {
    RolloutConfig.ROLLING_UPDATE_PERCENTAGE.require(updateFraction);
    RolloutConfig.MAX_SURGE_PERCENT.require(surgePercent);
    RolloutConfig.MAX_CONSTRUCTOR_RETRY_COUNT.require(maxStartFailures);
    RolloutConfig.REPLICA_START_TIMEOUT_S.requireIfSet(startTimeout);
    RolloutConfig.VERSION.requireIfSet(codeVersion);
  }
}
