package dev.berth.desired;

import static dev.berth.fakes.Submits.submit;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigReader;
import dev.berth.config.TrafficOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerEvent.Declared;
import dev.berth.controller.ControllerEvent.EndpointSplit;
import dev.berth.fakes.LogLines;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Weights that operators give, of applications and of endpoints. */
class TrafficSplitsTest extends ServeControlRig {
  private static final String ENTRY =
      "{name: a, route_prefix: /a, import_path: x.A, external_scaler_enabled: true,"
          + " berth: {match: [{header: x, deployment: v1}],"
          + " traffic: [{deployment: v1, weight: 1}]}}";
  private static final String ENDPOINTS =
      "{route_prefix: /all, traffic: [{application: a, deployment: v1, weight: 1}]}";

  private static final Map<String, Double> SPLIT = Map.of("v1", 90.0, "v2", 10.0);

  @BeforeEach
  void deployed() {
    controls.deployments = Set.of("v1", "v2");
    start(ENDPOINTS);
    deployRan("a", ENTRY);
    controls.told.clear();
  }

  private void start(String endpoints) {
    String text = "{applications: [], berth: {endpoints: [" + endpoints + "]}}";
    start(ConfigReader.read("file", folder, text), new JournalLog(kept()));
  }

  private Map<String, Double> weights() {
    Map<String, Double> weights = new TreeMap<>();
    for (Settings side :
        built("a", revision("a")).get(ApplicationConfig.BERTH).get(TrafficOptions.TRAFFIC)) {
      weights.put(side.get(TrafficOptions.DEPLOYMENT), side.get(TrafficOptions.WEIGHT));
    }
    return weights;
  }

  @Test
  void weightsAreARevisionThatKeepsWhatElseIsSaidAndWhatWasScaled() {
    ok(commands().scale("a", "v2", 3));
    controls.told.clear();

    assertThat(ok(commands().split("a", SPLIT))).isEqualTo(2);
    assertThat(controls.told)
        .singleElement()
        .isInstanceOfSatisfying(
            Declared.class, each -> assertThat(each.application().revision()).isEqualTo(2));
    assertThat(weights()).isEqualTo(SPLIT);
    assertThat(find("a").scales()).isEqualTo(Map.of("v2", 3));
    assertThat(built("a", 2).get(ApplicationConfig.BERTH).get(TrafficOptions.MATCH)).hasSize(1);
    controls.told.clear();
    assertThat(ok(commands().split("a", new TreeMap<>(SPLIT)))).as("the same").isEqualTo(2);
    assertThat(controls.told).isEmpty();
    stop();
    start(ENDPOINTS);
    assertThat(weights()).isEqualTo(SPLIT);
    assertThat(find("a").scales()).isEqualTo(Map.of("v2", 3));
  }

  @Test
  void aRollbackTakesThemBackAndADeployReplacesThem() {
    ok(commands().split("a", SPLIT));
    ran("a");
    assertThat(ok(commands().rollback("a", null, false))).isEqualTo(3);
    assertThat(weights()).isEqualTo(Map.of("v1", 1.0));
    ok(commands().split("a", SPLIT));
    deploy("a", ENTRY);
    assertThat(weights()).isEqualTo(Map.of("v1", 1.0));
  }

  @Test
  void whatIsUnknownIsRefusedWithAllItsNames() {
    assertThat(
            refused(
                CommandRejectionReason.INVALID,
                commands().split("a", Map.of("v9", 1.0, "v1", 1.0, "v8", 1.0))))
        .hasMessageContaining("traffic: v8, v9 (expected: one of");
    refused(CommandRejectionReason.NOT_FOUND, commands().split("none", SPLIT));
    controls.deployments = null;
    refused(CommandRejectionReason.INVALID, commands().split("a", SPLIT));
    assertThat(revision("a")).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(doubles = {-1, Double.NaN, 1e9, 0})
  void weightsThatAreNoSplitAreRefused(double weight) {
    refused(CommandRejectionReason.INVALID, commands().split("a", Map.of("v1", weight)));
    refused(
        CommandRejectionReason.INVALID, commands().splitEndpoint("/all", Map.of("a#v1", weight)));
    assertThat(controls.told).isEmpty();
  }

  // --- endpoints ---

  @Test
  void theWeightsOfAnEndpointAreToldAndKept() {
    Map<String, Double> split = Map.of("a#v1", 1.0, "a#v2", 3.0);
    assertThat(ok(commands().splitEndpoint("/all", split))).isEqualTo(1);
    assertThat(controls.told).containsExactly(new EndpointSplit("/all", split));
    assertThat(revision("a")).isEqualTo(1);
    stop();
    start(ENDPOINTS);
    assertThat(control.endpointSplits()).isEqualTo(Map.of("/all", split));
  }

  @Test
  void anEndpointIsSplitAmongWhatRuns() {
    assertThat(
            refused(
                CommandRejectionReason.INVALID,
                commands().splitEndpoint("/all", Map.of("v1", 1.0, "a#v1", 1.0, "a#v9", 1.0))))
        .hasMessageContaining("v1")
        .hasMessageContaining("a#v9")
        .hasMessageNotContaining("a#v1");
    assertThat(
            refused(
                CommandRejectionReason.NOT_FOUND,
                commands().splitEndpoint("/none", Map.of("a#v1", 1.0))))
        .hasMessageContaining("route: /none (expected: one of berth.endpoints)");
    assertThat(control.endpointSplits()).isEmpty();
  }

  @Test
  void theRouteOfAnEndpointIsForNoApplication() {
    String taken =
        "route_prefix: \"/all\" (expected: unique; an endpoint of berth.endpoints has it";
    String entry = "{name: b, route_prefix: /all, import_path: x.B}";
    assertThat(refused(CommandRejectionReason.INVALID, submit(commands(), "b", entry)))
        .hasMessageContaining(taken);
    assertThat(
            refused(
                CommandRejectionReason.INVALID,
                submit(commands(), "{applications: [" + entry + "]}")))
        .hasMessageContaining(taken);
    assertThat(names()).containsExactly("a");
  }

  @Test
  void noRollbackLeadsToTheRouteOfAnEndpoint() {
    deployRan("a", ENTRY.replace("/a", "/b"));
    stop();
    try (LogLines warnings = new LogLines(RouteRules.class, Level.WARN)) {
      start("{route_prefix: /a}, {route_prefix: /b}");
      assertThat(warnings.all())
          .singleElement()
          .asString()
          .contains("application a: route_prefix: \"/b\" (expected: unique; an endpoint of");
    }
    assertThat(refused(CommandRejectionReason.PRECONDITION, commands().rollback("a", null, false)))
        .hasMessageContaining("an endpoint of berth.endpoints has it");
  }
}
