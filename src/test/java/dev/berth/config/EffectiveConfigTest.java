package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.keys.Settings;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;

class EffectiveConfigTest {

  private static Settings settings(String... lines) {
    return Yaml.deployment(lines);
  }

  @Test
  void whatRayServeHasAKeyForIsToldUnderItsName() {
    assertThat(new JsonObject(DeploymentConfig.ofRay(settings("user_config: {a: null}"))).encode())
        .isEqualTo(
            "{\"name\":\"cart\",\"num_replicas\":1,\"max_ongoing_requests\":5,"
                + "\"max_queued_requests\":-1,\"backpressure_config\":{\"status_code\":503},"
                + "\"user_config\":{\"a\":null},\"graceful_shutdown_timeout_s\":20,"
                + "\"health_check_period_s\":10,\"health_check_timeout_s\":30,"
                + "\"logging_config\":{\"encoding\":\"TEXT\",\"log_level\":\"INFO\","
                + "\"enable_access_log\":false},\"rolling_update_percentage\":0.2,"
                + "\"max_surge_percent\":20}");
  }

  @Test
  void aNumberOfReplicasThatRayServeDoesNotKnowIsLeftOut() {
    assertThat(DeploymentConfig.ofRay(DeploymentConfig.withReplicas(settings(), 0)))
        .doesNotContainKey("num_replicas");
  }
}
