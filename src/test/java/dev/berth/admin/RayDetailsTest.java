package dev.berth.admin;

import static dev.berth.admin.FakeCommands.application;
import static dev.berth.admin.FakeCommands.deployment;
import static dev.berth.admin.FakeCommands.effective;
import static dev.berth.admin.FakeCommands.replica;
import static dev.berth.admin.FakeCommands.serve;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.HttpOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import dev.berth.view.ScalingDetails;
import dev.berth.view.ServeDetails;
import dev.berth.view.StatusTrigger;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RayDetailsTest {
  private static final String CONFIG =
      "{\"name\": \"a\", \"import_path\": \"x:y\", \"args\": {\"k\": [1, null]}}";

  private static JsonObject shown(ServeDetails serve) {
    return shown(serve, 2, null);
  }

  private static JsonObject shown(ServeDetails serve, int status, @Nullable String source) {
    Settings http = ServeConfig.DEFAULTS;
    JsonObject shown =
        new RayDetails(new HttpView(http, () -> 8000, () -> status)).of(serve, source);
    assertThat(RayModels.problems("ServeInstanceDetails", shown)).isEmpty();
    return new JsonObject(shown.encode());
  }

  private static DeploymentDetails inState(
      String name,
      DeploymentStatus status,
      StatusTrigger trigger,
      @Nullable ScalingDetails scaling,
      ReplicaDetails... replicas) {
    return new DeploymentDetails(
        name,
        status,
        trigger,
        "because",
        "v1",
        effective(),
        2,
        scaling,
        List.of(replicas),
        List.of(replica("d#0", ReplicaPhase.STOPPED)));
  }

  private static JsonObject deploymentOf(JsonObject shown) {
    return shown
        .getJsonObject("applications")
        .getJsonObject("a")
        .getJsonObject("deployments")
        .getJsonObject("d");
  }

  @Test
  void theModelsAreThoseOfTheReleaseThatWeSayWeAre() {
    assertThat(RayModels.ALL.getString("ray_version")).isEqualTo(ServeRoutes.RAY_VERSION);
  }

  @Test
  void theModelsRefuseAKeyTooManyAndOneTooFew() {
    JsonObject good = shown(serve(application("a", CONFIG, deployment("d", effective()))));
    JsonObject more = good.copy();
    more.getJsonObject("applications").getJsonObject("a").put("revision", 4);
    assertThat(RayModels.problems("ServeInstanceDetails", more)).contains("revision");
    JsonObject fewer = good.copy();
    deploymentOf(fewer).remove("replicas");
    assertThat(RayModels.problems("ServeInstanceDetails", fewer)).contains("replicas");
  }

  @Test
  void withNoApplicationThereIsAControllerThatCanBeShutDown() {
    assertThat(shown(serve()))
        .isEqualTo(
            new JsonObject(
                """
                {
                  "controller_info": {"node_id": "node-1"},
                  "proxy_location": "EveryNode",
                  "http_options": {"host": "0.0.0.0", "port": 8000, "root_path": "",
                    "request_timeout_s": null, "keep_alive_timeout_s": 90},
                  "proxies": {"node-1": {"node_id": "node-1", "status": "HEALTHY"}},
                  "applications": {},
                  "target_capacity": null,
                  "restores_unset_config_options": true
                }
                """));
  }

  @Test
  void anApplicationIsShownWithWhatWasSubmittedAndWhatIsInEffect() {
    JsonObject shown = shown(serve(application("a", CONFIG, deployment("d", effective()))));
    assertThat(shown.getJsonObject("applications").getJsonObject("a"))
        .isEqualTo(
            new JsonObject(
                """
                {
                  "name": "a", "route_prefix": "/a", "docs_path": null, "status": "RUNNING",
                  "message": "", "last_deployed_time_s": 1767225600.25,
                  "deployed_app_config":
                    {"name": "a", "import_path": "x:y", "args": {"k": [1, null]}},
                  "source": "declarative", "external_scaler_enabled": true,
                  "deployments": {"d": {
                    "name": "d", "status": "HEALTHY",
                    "status_trigger": "CONFIG_UPDATE_COMPLETED", "message": "",
                    "deployment_config": {"name": "d", "num_replicas": 2,
                      "max_ongoing_requests": 5, "max_queued_requests": -1, "user_config": null,
                      "graceful_shutdown_timeout_s": 20.0, "health_check_period_s": 10.0,
                      "health_check_timeout_s": 30.0, "rolling_update_percentage": 0.2,
                      "max_surge_percent": 20},
                    "target_num_replicas": 2, "required_resources": {},
                    "replicas": [{"node_id": "node-1", "replica_id": "d#1", "state": "RUNNING",
                      "start_time_s": 1767225600.5}],
                    "recent_dead_replicas": []}}
                }
                """));
  }

  @Test
  void whatRaysModelDoesNotKnowOrRefusesIsLeftOut() {
    Map<String, @Nullable Object> config = effective();
    config.put("num_replicas", 0); // scaled to none
    config.put("max_replicas_per_node", null);
    config.put("request_router_config", Map.of("request_router_class", "com.acme.Router"));
    config.put("spread", "event_loops");
    JsonObject shown =
        deploymentOf(shown(serve(application("a", CONFIG, deployment("d", config)))))
            .getJsonObject("deployment_config");
    assertThat(shown.fieldNames())
        .doesNotContain("num_replicas", "max_replicas_per_node", "request_router_config", "spread");
  }

  @Test
  void aDeploymentThatScalesByItselfHasNoNumberOfReplicas() {
    Map<String, @Nullable Object> config = effective();
    config.put(
        "autoscaling_config",
        Map.of("min_replicas", 1, "policy", Map.of("policy_function", "com.acme.Pace")));
    JsonObject shown =
        deploymentOf(shown(serve(application("a", CONFIG, deployment("d", config)))))
            .getJsonObject("deployment_config");
    assertThat(shown.containsKey("num_replicas")).isFalse();
    assertThat(shown.getJsonObject("autoscaling_config").getMap())
        .as("without what Ray's commands would import")
        .isEqualTo(Map.of("min_replicas", 1));
    assertThat(config.get("autoscaling_config")).asString().contains("Pace");
  }

  @Test
  void howItAutoscalesIsSaidInRaysShape() {
    for (int running : new int[] {1, 3, 5}) {
      ScalingDetails scaling =
          new ScalingDetails(
              1,
              10,
              2,
              7.5,
              running,
              3,
              false,
              "DELAY",
              "why",
              "",
              "",
              4_500,
              null,
              10L,
              running - 1);
      DeploymentDetails deployment =
          inState("d", DeploymentStatus.HEALTHY, StatusTrigger.AUTOSCALING, scaling);
      assertThat(
              deploymentOf(shown(serve(application("a", CONFIG, deployment))))
                  .getJsonObject("autoscaling_detail"))
          .isEqualTo(
              new JsonObject(
                      """
                      {"decisions": [{"timestamp_s": 4.5, "reason": "why",
                        "prev_num_replicas": 2, "curr_num_replicas": 3}],
                       "metrics": {"total_requests": 7.5}, "errors": []}
                      """)
                  .put(
                      "scaling_status",
                      running == 1 ? "UPSCALING" : running == 3 ? "STABLE" : "DOWNSCALING")
                  .put("metrics_health", running == 1 ? "healthy" : "delayed"));
    }
  }

  @ParameterizedTest
  @EnumSource(ReplicaPhase.class)
  void everyPhaseOfAReplicaIsAStateOfRays(ReplicaPhase phase) {
    DeploymentDetails deployment =
        inState(
            "d",
            DeploymentStatus.UPDATING,
            StatusTrigger.CONFIG_UPDATE_STARTED,
            null,
            replica("d#1", phase));
    JsonObject shown = deploymentOf(shown(serve(application("a", CONFIG, deployment))));
    assertThat(shown.getJsonArray("replicas").getJsonObject(0).getString("state"))
        .isEqualTo(phase == ReplicaPhase.DRAINING ? "STOPPING" : phase.name());
    assertThat(shown.getJsonArray("recent_dead_replicas")).hasSize(1);
  }

  @Test
  void everyStatusAndTriggerIsOneOfRays() {
    List<DeploymentDetails> deployments = new ArrayList<>();
    for (DeploymentStatus status : DeploymentStatus.values()) {
      for (StatusTrigger trigger : StatusTrigger.values()) {
        deployments.add(inState(status + "-" + trigger, status, trigger, null));
      }
    }
    List<ApplicationDetails> applications = new ArrayList<>();
    for (ApplicationStatus status : ApplicationStatus.values()) {
      applications.add(
          new ApplicationDetails(
              status.name(), null, "", status, "because", 0, 1, null, null, false, deployments));
    }
    JsonObject shown = shown(serve(applications.toArray(ApplicationDetails[]::new)));
    assertThat(shown.getJsonObject("applications")).hasSize(ApplicationStatus.values().length);
  }

  @Test
  void anApplicationThatWasNotSubmittedIsImperative() {
    ServeDetails both = serve(application("a", CONFIG), application("b", null));
    assertThat(shown(both, 2, "declarative").getJsonObject("applications").fieldNames())
        .containsExactly("a");
    assertThat(shown(both, 2, "imperative").getJsonObject("applications").fieldNames())
        .containsExactly("b");
  }

  @Test
  void theInstancesOwnStateIsThatOfItsProxy() {
    ServeDetails one = serve(application("a", CONFIG));
    assertThat(statusOf(shown(one, 1, null))).isEqualTo("STARTING");
    assertThat(statusOf(shown(one, 2, null))).isEqualTo("HEALTHY");
    assertThat(statusOf(shown(serve(), 1, null))).isEqualTo("HEALTHY");
    assertThat(statusOf(shown(serve(), 4, null))).isEqualTo("DRAINING");
  }

  private static String statusOf(JsonObject shown) {
    return shown.getJsonObject("proxies").getJsonObject("node-1").getString("status");
  }

  @Test
  void timesOfHttpAreSeconds() {
    Settings http =
        ServeConfig.DEFAULTS
            .with(HttpOptions.HOST, "127.0.0.1")
            .with(HttpOptions.ROOT_PATH, "/base")
            .with(HttpOptions.REQUEST_TIMEOUT_S, Duration.ofMillis(2500))
            .with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, Duration.ofMillis(1001))
            .with(HttpOptions.SSL_CERTFILE, Path.of("cert.pem"))
            .with(HttpOptions.SSL_KEYFILE, Path.of("key.pem"));
    JsonObject shown = new RayDetails(new HttpView(http, () -> 8443, () -> 2)).of(serve(), null);
    assertThat(RayModels.problems("ServeInstanceDetails", shown)).isEmpty();
    assertThat(shown.getJsonObject("http_options"))
        .isEqualTo(
            new JsonObject(
                """
                {"host": "127.0.0.1", "port": 8443, "root_path": "/base",
                 "request_timeout_s": 2.5, "keep_alive_timeout_s": 2,
                 "ssl_keyfile": "key.pem", "ssl_certfile": "cert.pem"}
                """));
  }
}
