package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Deployment;
import dev.berth.config.edge.CostOptions;
import dev.berth.config.keys.Settings;
import java.util.List;
import java.util.Objects;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CostOptionsTest {

  private static String file(String cost) {
    return "{applications: [{name: a, import_path: a.B, deployments: [{name: d, berth: {cost: %s}}]}]}"
        .formatted(cost);
  }

  /** The settings as another instance receives them. */
  private static Settings received(String cost) {
    return DeploymentConfig.fromMap(
        Yaml.read(file(cost))
            .applications()
            .get(0)
            .deployment(Deployment.of("d", replica -> null))
            .toMap());
  }

  @Test
  void memberOfTheBodyHasItsSizeAndDefault() {
    Settings cost =
        Objects.requireNonNull(
            received("{json_field: max_tokens, per_slot: 512, default: 2}")
                .find(DeploymentConfig.COST));
    assertThat(cost.get(CostOptions.JSON_FIELD)).isEqualTo("max_tokens");
    assertThat(cost.get(CostOptions.PER_SLOT)).isEqualTo(512);
    assertThat(cost.get(CostOptions.DEFAULT)).isEqualTo(2);
    assertThat(cost.find(CostOptions.HEADER)).isNull();
  }

  @Test
  void deploymentWithoutTheKeyHasNoCost() {
    assertThat(received("null").find(DeploymentConfig.COST)).isNull();
  }

  @Test
  void defaultAboveTheSlotsIsAProblem() {
    assertThat(
            Yaml.deploymentProblems(
                "max_ongoing_requests: 4", "berth: {cost: {header: X-Cost, default: 5}}"))
        .singleElement(InstanceOfAssertFactories.STRING)
        .endsWith("berth.cost.default: 5 (expected: at most max_ongoing_requests, 4)");
    Yaml.refused(
        () -> received("{header: X-Cost, default: 6}"),
        "default: 6 (expected: at most max_ongoing_requests, 5)");
    String upstreams =
        "applications: [{name: a, import_path: 'berth:proxy', deployments: [{name: d, berth: {"
            + "cost: {header: X-Cost, default: 9}, upstreams: [{url: 'http://h:1',"
            + " max_ongoing_requests: 15, owners: 2}, {url: 'http://h:2', max_ongoing_requests: 3}]}}]}]";
    assertThat(Yaml.problems("{" + upstreams + "}"))
        .singleElement(InstanceOfAssertFactories.STRING)
        .endsWith("berth.cost.default: 9 (expected: at most max_ongoing_requests, 8)");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{}|header: missing (expected: exactly one of header, body_bytes_per_slot and json_field)",
        "{default: 2}|header: missing (expected: exactly one of header, body_bytes_per_slot and"
            + " json_field)",
        "{header: X-Cost, json_field: n}|json_field: with header (expected: exactly one of header,"
            + " body_bytes_per_slot and json_field)",
        "{header: X-Cost, per_slot: 2}|per_slot: without json_field (expected: json_field too, or"
            + " leave it out)",
        "{body_bytes_per_slot: 9, default: 2}|default: with body_bytes_per_slot (expected: leave it"
            + " out: each body has a size)",
        "{body_bytes_per_slot: 0}|body_bytes_per_slot: 0 (expected: an integer >= 1)",
        "{header: 'X Cost'}|header: \"X Cost\" (expected: a name of a header)",
        "{header: X-Cost, default: 65536}|default: 65536 (expected: an integer from 1 to 65535)",
        "{headr: X-Cost}|headr: unknown key, did you mean header? (expected: one of header,"
            + " body_bytes_per_slot, json_field, per_slot, default)",
      })
  void settingThatDoesNotFitIsAProblem(String cost, String problem) {
    List<String> problems =
        Yaml.problems(file(cost)).stream()
            .map(each -> each.replaceFirst("^berth.yaml:\\d+:\\d+: .*\\.berth\\.cost\\.", ""))
            .toList();
    assertThat(problems).contains(problem);
  }
}
