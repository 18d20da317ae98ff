package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Deployment;
import dev.berth.api.Deployment.BatchRules;
import dev.berth.config.batching.BatchingOptions;
import dev.berth.config.keys.Settings;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code berth.batching}: Ray Serve's defaults, and slots that are enough for the batches. */
class BatchingOptionsTest {
  private static final Deployment PLAIN = Deployment.of("cart", replica -> null);
  private static final Deployment BATCHES = PLAIN.withBatching(BatchRules.DEFAULTS);

  private static Settings effective(Deployment code, String... lines) {
    String deployment =
        """
        applications:
          - import_path: com.acme.Shop
            deployments:
              - name: cart
        """
            + String.join(
                "", List.of(lines).stream().map(line -> "        " + line + "\n").toList());
    Settings said = Yaml.read(deployment).applications().get(0).deployment(code);
    return DeploymentConfig.fromMap(said.toMap()); // as another instance receives them
  }

  private static Settings batching(Settings of) {
    return Objects.requireNonNull(of.find(DeploymentConfig.BATCHING));
  }

  @Test
  void theDefaultsAreThoseOfRay() {
    Settings batching = batching(effective(PLAIN, "berth: {batching: {}}"));

    assertThat(batching.get(BatchingOptions.MAX_BATCH_SIZE)).isEqualTo(10);
    assertThat(batching.get(BatchingOptions.BATCH_WAIT_TIMEOUT_S)).isEqualTo(Duration.ofMillis(10));
    assertThat(batching.get(BatchingOptions.MAX_CONCURRENT_BATCHES)).isEqualTo(1);
    assertThat(batching.get(BatchingOptions.EAGER)).isFalse();
    assertThat(batching.find(BatchingOptions.MAX_BATCH_ITEMS)).isNull();
    assertThat(effective(PLAIN).find(DeploymentConfig.BATCHING)).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "max_batch_size: 0",
        "max_batch_size: 1.1",
        "batch_wait_timeout_s: -0.1",
        "batch_wait_timeout_s: a",
        "max_concurrent_batches: 0",
        "max_batch_items: 0",
        "preferred_batch_sizes: [0]",
        "preferred_batch_sizes: [4, 9], max_batch_size: 8",
        "same: [a b]",
        "same: ['']",
        "batch_size_fn: f"
      })
  void invalidValuesAreRefusedByTheirKey(String entry) { // test_decorator_validation
    assertThat(Yaml.problems(() -> effective(PLAIN, "berth: {batching: {%s}}".formatted(entry))))
        .singleElement(InstanceOfAssertFactories.STRING)
        .contains(entry.substring(0, entry.indexOf(':')));
  }

  @Test
  void omittedSlotsAreEnoughForTheBatches() {
    assertThat(effective(BATCHES).get(DeploymentConfig.MAX_ONGOING_REQUESTS)).isEqualTo(10);
    assertThat(
            effective(PLAIN, "berth: {batching: {max_batch_size: 16, max_concurrent_batches: 2}}")
                .get(DeploymentConfig.MAX_ONGOING_REQUESTS))
        .isEqualTo(32);
    assertThat(effective(PLAIN).get(DeploymentConfig.MAX_ONGOING_REQUESTS)).isEqualTo(5);
    assertThat(BATCHES.maxOngoingRequests()).isEqualTo(10);
  }

  @Test
  void tooFewSlotsAreRefusedWithBothNumbers() {
    Yaml.refused(
        () -> effective(BATCHES, "max_ongoing_requests: 9"),
        "max_ongoing_requests: 9 (expected: at least max_batch_size x max_concurrent_batches, 10)");
    assertThat(
            Yaml.deploymentProblems(
                "max_ongoing_requests: 16", "berth: {batching: {max_batch_size: 17}}"))
        .singleElement(InstanceOfAssertFactories.STRING)
        .contains("deployments[0].max_ongoing_requests: 16 (expected: at least max_batch_size x")
        .endsWith("max_concurrent_batches, 17)");
    assertThat(
            Yaml.deploymentProblems(
                "max_ongoing_requests: 2", "berth: {batching: {max_concurrent_batches: 3}}"))
        .as("the code may set max_batch_size")
        .isEmpty();
    Yaml.refused(
        () -> effective(BATCHES.withMaxOngoingRequests(5)),
        "max_ongoing_requests: 5 (expected: at least max_batch_size x max_concurrent_batches, 10)");
  }

  @Test
  void theStatusShowsTheEffectiveRules() {
    assertThat(DeploymentConfig.ofRay(effective(BATCHES)))
        .extractingByKey("batching", InstanceOfAssertFactories.MAP)
        .containsEntry("max_batch_size", 10);
    assertThat(DeploymentConfig.ofRay(effective(PLAIN))).doesNotContainKey("batching");
  }

  @Test
  void theFileReplacesSingleKeysOfTheCode() {
    Deployment code = PLAIN.withBatching(new BatchRules(32, Duration.ofMillis(3), 2));

    Settings batching = batching(effective(code, "berth: {batching: {max_batch_size: 8}}"));

    assertThat(batching.get(BatchingOptions.MAX_BATCH_SIZE)).isEqualTo(8);
    assertThat(batching.get(BatchingOptions.BATCH_WAIT_TIMEOUT_S)).isEqualTo(Duration.ofMillis(3));
    assertThat(batching.get(BatchingOptions.MAX_CONCURRENT_BATCHES)).isEqualTo(2);
  }
}
