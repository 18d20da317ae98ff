package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.HandlerFactory;
import dev.berth.api.Response;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BuiltInApplicationTest {
  private static final HandlerFactory HANDLER =
      replica -> (AsyncHandler) (request, context) -> Future.succeededFuture(Response.text(""));
  private static final String ONE =
      "{name: d, berth: {upstreams: [{url: 'http://h:1', max_ongoing_requests: 2}]}}";
  private static final String OTHER = ONE.replace("name: d", "name: e").replace("h:1", "h:2");

  private static ServeConfig file(String... deployments) {
    String text =
        "applications: [{name: a, import_path: 'berth:proxy', deployments: [%s]}]"
            .formatted(String.join(", ", deployments));
    return ConfigReader.read("test.yaml", Path.of("."), text);
  }

  private static BuildCache.LoadedRevision load(
      Map<String, LoadedApplication> known, String... deployments) {
    ServeConfig file = file(deployments);
    BuildCache.BuildInputs inputs = new BuildCache.BuildInputs(file.applications().get(0), file);
    return ApplicationLoader.read(inputs, known, deployment -> HANDLER);
  }

  private static DeploymentVersion version(String... deployments) {
    DeploymentTarget first = load(Map.of(), deployments).built().targets().get(0);
    return first.version();
  }

  @Test
  void deploymentsAreThoseOfTheFileAndTheFirstIsTheIngress() {
    LoadedApplication loaded = load(Map.of(), OTHER, ONE).code();

    assertThat(loaded.application().ingress()).isEqualTo("e");
    assertThat(loaded.application().deployments())
        .extracting(Deployment::name)
        .containsExactly("e", "d");
    assertThat(loaded.application().deployments())
        .extracting(Deployment::factory)
        .containsOnly(HANDLER);
    assertThat(loaded.classLoader()).isNull();
    loaded.close();
  }

  @Test
  void otherUpstreamsAreNoOtherCode() {
    LoadedApplication loaded = load(Map.of(), ONE).code();
    String more = ONE.replace("2}", "9}, {url: 'http://h:3', max_ongoing_requests: 1}");

    assertThat(load(Map.of(loaded.build(), loaded), more).code()).isSameAs(loaded);
    assertThat(load(Map.of(loaded.build(), loaded), ONE, OTHER).code()).isNotSameAs(loaded);
  }

  @Test
  void changeReachesUpstreamsLive() {
    DeploymentVersion before = version(ONE);
    for (String change :
        new String[] {
          "berth: {threads: virtual, ", "berth: {version: v2, ", "berth: {cancel_grace_s: 1, "
        }) {
      assertThat(version(ONE.replace("berth: {", change)).needsRestartFrom(before)).isFalse();
    }
    assertThat(version(ONE, OTHER)).isEqualTo(before);
    assertThat(version(ONE.replace("2}", "3}"))).isNotEqualTo(before);
    assertThat(version(ONE.replace("2}", "3}")).needsRestartFrom(before)).isFalse();
  }

  @Test
  void upstreamWithFilesNeedsTheDirectoryOfSecrets() {
    String entry = ONE.replace("http://h:1'", "https://h', headers_file: key");
    assertThat(ApplicationCheck.problems(file(ONE))).isEmpty();
    assertThat(ApplicationCheck.problems(file(entry)))
        .extracting(ConfigProblem::toString)
        .singleElement()
        .asString()
        .endsWith(
            "applications[0].deployments: https://h, with files (expected:"
                + " berth.secrets_dir of the instance)");
  }

  private static ServeConfig models(String args, String instance) {
    String text =
        "{applications: [{name: a, import_path: 'berth:openai', args: %s, deployments: [%s, %s]}], %s}"
            .formatted(args, ONE, OTHER, instance);
    return ConfigReader.read("test.yaml", Path.of("."), text);
  }

  private static BuildCache.LoadedRevision load(
      Map<String, LoadedApplication> known, ServeConfig file) {
    BuildCache.BuildInputs inputs = new BuildCache.BuildInputs(file.applications().get(0), file);
    return ApplicationLoader.read(inputs, known, deployment -> HANDLER);
  }

  @Test
  void otherModelsAreNoOtherCodeButAnotherRoute() {
    String local = "http_options: {host: 127.0.0.1}";
    BuildCache.LoadedRevision first =
        load(Map.of(), models("{models: [{name: m, deployment: d}]}", local));
    Map<String, LoadedApplication> known = Map.of(first.code().build(), first.code());
    BuildCache.LoadedRevision second =
        load(known, models("{models: [{name: m, deployment: e}]}", local));
    assertThat(second.code()).isSameAs(first.code());
    assertThat(second.built().targets()).isEqualTo(first.built().targets());
    assertThat(second.built().traffic()).isNotNull().isNotEqualTo(first.built().traffic());
    assertThat(first.built().ingress()).isEqualTo("d");
    assertThat(load(Map.of(), ONE, OTHER).built().traffic()).isNull();
  }

  @Test
  void openInstanceRefusesModelsWithoutKeys() {
    String args = "{models: [{name: m, deployment: d}]}";
    assertThat(ApplicationCheck.problems(models(args, "http_options: {port: 1}")))
        .extracting(ConfigProblem::toString)
        .singleElement()
        .asString()
        .contains(
            "applications[0].import_path: berth:openai",
            "http_options.host",
            "api_keys_file",
            "allow_unauthenticated");
    assertThat(ApplicationCheck.problems(models(args, "http_options: {host: '::1'}"))).isEmpty();
  }

  @Test
  void instanceWithoutHandlersRefusesTheApplication() {
    ServeConfig file = file(ONE);
    BuildCache.BuildInputs inputs = new BuildCache.BuildInputs(file.applications().get(0), file);
    assertThatThrownBy(() -> ApplicationLoader.read(inputs, Map.of(), BuiltInHandlers.NONE))
        .isInstanceOf(StartFailedException.class)
        .hasMessageContaining("berth:proxy");
  }
}
