package dev.berth.config;

import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a deployment runs with, under the names of the file, as JSON values.
 *
 * <p>Source: Ray Serve's DeploymentSchema, which its command line reads the answer with: a key it
 * does not know, or a number of replicas of 0, would not pass.
 */
public final class EffectiveConfig {

  private EffectiveConfig() {}

  /** What Ray Serve has a name for, and nothing else. No replicas, no number of them. */
  public static Map<String, @Nullable Object> ofRay(DeploymentSettings settings) {
    Map<String, @Nullable Object> values = new LinkedHashMap<>();
    put(values, DeploymentConfig.NAME, settings.name());
    if (settings.numReplicas() > 0) {
      put(values, DeploymentConfig.NUM_REPLICAS, settings.numReplicas());
    }
    put(values, DeploymentConfig.MAX_ONGOING_REQUESTS, settings.maxOngoingRequests());
    put(values, DeploymentConfig.MAX_QUEUED_REQUESTS, settings.maxQueuedRequests());
    put(values, DeploymentConfig.BACKPRESSURE_CONFIG, backpressure(settings.backpressure()));
    put(values, DeploymentConfig.USER_CONFIG, settings.userConfig());
    put(values, DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S, settings.gracefulShutdownTimeout());
    put(values, DeploymentConfig.HEALTH_CHECK_PERIOD_S, settings.healthCheckPeriod());
    put(values, DeploymentConfig.HEALTH_CHECK_TIMEOUT_S, settings.healthCheckTimeout());
    put(values, DeploymentConfig.LOGGING_CONFIG, logging(settings.logging()));
    Rollout rollout = settings.rollout();
    put(values, Rollout.ROLLING_UPDATE_PERCENTAGE, rollout.updateFraction());
    put(values, Rollout.MAX_SURGE_PERCENT, number(rollout.surgePercent()));
    return Collections.unmodifiableMap(values);
  }

  private static Map<String, @Nullable Object> backpressure(Backpressure backpressure) {
    Map<String, @Nullable Object> values = new LinkedHashMap<>();
    put(values, Backpressure.STATUS_CODE, backpressure.statusCode());
    Duration retryAfter = backpressure.retryAfter();
    if (retryAfter != null) {
      put(values, Backpressure.RETRY_AFTER_S, retryAfter);
    }
    return values;
  }

  private static Map<String, @Nullable Object> logging(LoggingOptions logging) {
    Map<String, @Nullable Object> values = new LinkedHashMap<>();
    put(values, LoggingOptions.ENCODING, logging.encoding().name());
    put(values, LoggingOptions.LOG_LEVEL, logging.level().name());
    put(values, LoggingOptions.ENABLE_ACCESS_LOG, logging.accessLog());
    return values;
  }

  private static void put(Map<String, @Nullable Object> values, Key<?> key, Object value) {
    values.put(key.name(), value instanceof Duration time ? number(time.toNanos() / 1e9) : value);
  }

  /** As people write it: 20 and not 20.0. */
  private static Number number(double value) {
    boolean whole = value == Math.rint(value) && Math.abs(value) < 1L << 53;
    return whole ? (Number) (long) value : (Number) value;
  }
}
