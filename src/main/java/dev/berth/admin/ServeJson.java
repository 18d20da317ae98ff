package dev.berth.admin;

import dev.berth.protocol.ApplicationDetails;
import dev.berth.protocol.DeploymentDetails;
import dev.berth.protocol.ReplicaDetails;
import dev.berth.protocol.ServeDetails;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the controller keeps true, whole, as {@code GET /api/v1/serve} gives it: the records of
 * {@code protocol} under their names in snake case, enums by name, times in milliseconds since
 * 1970. Ray Serve's shape has no room for all of it.
 */
public final class ServeJson {
  private ServeJson() {}

  /** Everything. */
  public static JsonObject of(ServeDetails serve) {
    return new JsonObject()
        .put("node", serve.node())
        .put("term", serve.term())
        .put("started_ms", serve.startedMs())
        .put("target_capacity", serve.targetCapacity())
        .put("state_dir", serve.stateDir())
        .put("applications", list(serve.applications().stream().map(ServeJson::of).toList()));
  }

  /** One application; its {@code config} is the object that was submitted. */
  public static JsonObject of(ApplicationDetails application) {
    String config = application.config();
    return new JsonObject()
        .put("name", application.name())
        .put("route_prefix", application.routePrefix())
        .put("ingress", application.ingress())
        .put("status", application.status().name())
        .put("message", application.message())
        .put("deployed_ms", application.deployedMs())
        .put("revision", application.revision())
        .put("rollback_revision", application.rollbackRevision())
        .put("config", config == null ? null : new JsonObject(config))
        .put("external_scaler_enabled", application.externalScalerEnabled())
        .put("deployments", list(application.deployments().stream().map(ServeJson::of).toList()));
  }

  private static JsonObject of(DeploymentDetails deployment) {
    return new JsonObject()
        .put("name", deployment.name())
        .put("status", deployment.status().name())
        .put("trigger", deployment.trigger().name())
        .put("message", deployment.message())
        .put("version", deployment.version())
        .put("config", json(deployment.config()))
        .put("target_replicas", deployment.targetReplicas())
        .put("replicas", list(deployment.replicas().stream().map(ServeJson::of).toList()))
        .put("dead", list(deployment.dead().stream().map(ServeJson::of).toList()));
  }

  private static JsonObject of(ReplicaDetails replica) {
    return new JsonObject()
        .put("replica_id", replica.replicaId())
        .put("node", replica.node())
        .put("phase", replica.phase().name())
        .put("version", replica.version())
        .put("routable", replica.routable())
        .put("started_ms", replica.startedMs())
        .put("reason", replica.reason());
  }

  private static JsonArray list(List<JsonObject> objects) {
    return new JsonArray(new ArrayList<>(objects));
  }

  /** JSON values only; copied, since those of a configuration cannot be changed. */
  private static JsonObject json(Map<String, @Nullable Object> values) {
    return new JsonObject(new LinkedHashMap<>(values));
  }
}
