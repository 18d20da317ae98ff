package dev.berth.admin;

import dev.berth.config.HttpOptions;
import dev.berth.config.keys.Settings;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import dev.berth.view.ScalingDetails;
import dev.berth.view.ServeDetails;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Desired and actual state in the form of Ray Serve 2.60's {@code ServeInstanceDetails}, which
 * Ray's own commands read. These commands reject unknown keys and code that they would have to
 * import, so all other data is in {@link ServeJson}. Fields without a value in Berth are omitted
 * where Ray's form allows it: gRPC, target groups, the topology, health of the control loop.
 */
record RayDetails(HttpView http) {
  /** Possible sources of an application. */
  static final List<String> SOURCES = List.of("imperative", "declarative");

  /** Fields of Ray Serve's DeploymentSchema whose values Berth knows. */
  private static final Set<String> DEPLOYMENT_FIELDS =
      Set.of(
          "num_replicas",
          "max_ongoing_requests",
          "max_queued_requests",
          "backpressure_config",
          "user_config",
          "autoscaling_config",
          "graceful_shutdown_wait_loop_s",
          "graceful_shutdown_timeout_s",
          "health_check_period_s",
          "health_check_timeout_s",
          "ray_actor_options",
          "max_replicas_per_node",
          "logging_config",
          "rolling_update_percentage",
          "max_surge_percent");

  /** Fields that give null a meaning; Ray rejects null for the others. */
  private static final Set<String> NULLABLE_FIELDS =
      Set.of("num_replicas", "user_config", "autoscaling_config");

  /**
   * @param source selects applications of this source; null for all
   */
  JsonObject of(ServeDetails serve, @Nullable String source) {
    JsonObject applications = new JsonObject();
    for (ApplicationDetails application : serve.applications()) {
      if (source == null || source.equals(sourceOf(application))) {
        applications.put(application.name(), of(application));
      }
    }
    return new JsonObject()
        .put("controller_info", new JsonObject().put("node_id", serve.node()))
        .put("proxy_location", "EveryNode")
        .put("http_options", httpOptions())
        .put("proxies", new JsonObject().put(serve.node(), proxy(serve)))
        .put("applications", applications)
        .put("target_capacity", serve.targetCapacity())
        .put("restores_unset_config_options", true);
  }

  private JsonObject httpOptions() {
    Settings options = http.options();
    Duration timeout = options.find(HttpOptions.REQUEST_TIMEOUT_S);
    JsonObject shown =
        new JsonObject()
            .put("host", options.get(HttpOptions.HOST))
            .put("port", http.port().getAsInt())
            .put("root_path", options.get(HttpOptions.ROOT_PATH))
            .put("request_timeout_s", timeout == null ? null : timeout.toMillis() / 1000.0)
            // Ray expects an integer: the value is rounded up.
            .put(
                "keep_alive_timeout_s",
                (options.get(HttpOptions.KEEP_ALIVE_TIMEOUT_S).toMillis() + 999) / 1000);
    if (options.find(HttpOptions.SSL_CERTFILE) != null) {
      shown
          .put("ssl_keyfile", options.get(HttpOptions.SSL_KEYFILE).toString())
          .put("ssl_certfile", options.get(HttpOptions.SSL_CERTFILE).toString());
    }
    return shown;
  }

  private JsonObject proxy(ServeDetails serve) {
    return new JsonObject()
        .put("node_id", serve.node())
        .put("status", http.statusName(serve.applications().isEmpty()));
  }

  private static String sourceOf(ApplicationDetails application) {
    return SOURCES.get(application.config() == null ? 0 : 1);
  }

  private static JsonObject of(ApplicationDetails application) {
    String config = application.config();
    JsonObject deployments = new JsonObject();
    application.deployments().forEach(each -> deployments.put(each.name(), of(each)));
    return new JsonObject()
        .put("name", application.name())
        .put("route_prefix", application.routePrefix())
        .put("docs_path", null)
        .put("status", application.status().name())
        .put("message", application.message())
        .put("last_deployed_time_s", seconds(application.deployedMs()))
        .put("deployed_app_config", config == null ? null : new JsonObject(config))
        .put("source", sourceOf(application))
        .put("deployments", deployments)
        .put("external_scaler_enabled", application.externalScalerEnabled());
  }

  private static JsonObject of(DeploymentDetails deployment) {
    ScalingDetails scaling = deployment.autoscaling();
    JsonObject shown =
        new JsonObject()
            .put("name", deployment.name())
            .put("status", deployment.status().name())
            .put("status_trigger", deployment.trigger().name())
            .put("message", deployment.message())
            .put("deployment_config", config(deployment))
            .put("target_num_replicas", deployment.targetReplicas())
            .put("required_resources", new JsonObject()) // replicas share the process
            .put("replicas", AdminResponses.array(deployment.replicas(), RayDetails::of))
            .put("recent_dead_replicas", AdminResponses.array(deployment.dead(), RayDetails::of));
    return scaling == null ? shown : shown.put("autoscaling_detail", of(scaling, deployment));
  }

  /** Returns the autoscaling state. Its only decision is the present one, with its reason. */
  private static JsonObject of(ScalingDetails scaling, DeploymentDetails deployment) {
    int more = scaling.replicas() - scaling.running();
    String reports = scaling.unknown() > 0 ? "delayed" : "healthy";
    JsonObject decision =
        new JsonObject()
            .put("timestamp_s", seconds(scaling.atMs()))
            .put("reason", scaling.why())
            .put("prev_num_replicas", deployment.targetReplicas())
            .put("curr_num_replicas", scaling.replicas());
    return new JsonObject()
        .put("scaling_status", more > 0 ? "UPSCALING" : more < 0 ? "DOWNSCALING" : "STABLE")
        .put("decisions", new JsonArray().add(decision))
        .put("metrics", new JsonObject().put("total_requests", scaling.load()))
        .put("metrics_health", scaling.reportMs() == null ? "unavailable" : reports)
        .put("errors", new JsonArray());
  }

  private static JsonObject config(DeploymentDetails deployment) {
    JsonObject shown = new JsonObject().put("name", deployment.name());
    for (Map.Entry<String, @Nullable Object> each : deployment.config().entrySet()) {
      String name = each.getKey();
      Object value = each.getValue();
      boolean none = name.equals("num_replicas") && value instanceof Number n && n.longValue() < 1;
      if (DEPLOYMENT_FIELDS.contains(name)
          && !none // see target_num_replicas
          && (value != null || NULLABLE_FIELDS.contains(name))) {
        shown.put(name, value);
      }
    }
    if (shown.getValue("autoscaling_config") instanceof JsonObject autoscaling) {
      JsonObject own = autoscaling.copy();
      own.remove("policy"); // Ray's commands would import it
      shown.put("autoscaling_config", own);
      shown.remove("num_replicas"); // mutually exclusive
    }
    return shown;
  }

  private static JsonObject of(ReplicaDetails replica) {
    return new JsonObject()
        .put("node_id", replica.node())
        .put("replica_id", replica.replicaId())
        .put("state", state(replica.phase()))
        .put("start_time_s", seconds(replica.startedMs()));
  }

  /** Returns Ray Serve's state of a replica, which has no draining and uses stopping instead. */
  private static String state(ReplicaPhase phase) {
    return phase == ReplicaPhase.DRAINING ? "STOPPING" : phase.name();
  }

  private static double seconds(long millis) {
    return millis / 1000.0;
  }
}
