package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.Yaml;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InstanceLimitsTest {
  private static final String CLUSTER =
      "berth: {cluster: {name: prod, node: n1, role: control, control: ['n1@127.0.0.1:7420'],"
          + " bind: 127.0.0.1, insecure: true, detection: {interval_ms: 20, timeout_ms: %d}}}";

  @ParameterizedTest
  @CsvSource({"0, 3000", "1000, 1000", "3000, 3000", "20000, 3000"})
  void nothingIsTakenUpByWhoWouldBeSuspectedMeanwhile(long timeoutMs, long acceptMs) {
    String file = timeoutMs == 0 ? "applications: []" : CLUSTER.formatted(timeoutMs);
    assertThat(InstanceLimits.of(Yaml.read(file).settings()).loop().acceptNanos())
        .isEqualTo(Duration.ofMillis(acceptMs).toNanos());
  }
}
