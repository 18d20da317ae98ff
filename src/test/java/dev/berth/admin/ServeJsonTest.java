package dev.berth.admin;

import static dev.berth.admin.FakeCommands.application;
import static dev.berth.admin.FakeCommands.deployment;
import static dev.berth.admin.FakeCommands.serve;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.view.ServeDetails;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ServeJsonTest {

  @Test
  void everythingIsGivenUnderItsNameInSnakeCase() {
    Map<String, @Nullable Object> config =
        Map.of("user_config", Map.of("k", List.of(1, "x"), "own", new JsonObject().put("n", 1)));
    ServeDetails details =
        serve(application("shop", "{\"name\": \"shop\"}", deployment("cart", config)));
    assertThat(new JsonObject(ServeJson.of(details).encode()))
        .isEqualTo(
            new JsonObject(
                """
                {"node": "node-1", "term": 3, "started_ms": 1767225600000,
                 "at_ms": 1767225700000, "target_capacity": null, "state_dir": "state",
                 "applications": [
                  {"name": "shop", "route_prefix": "/shop", "ingress": "cart",
                   "status": "RUNNING", "message": "", "deployed_ms": 1767225600250,
                   "revision": 4, "rollback_revision": 3, "config": {"name": "shop"},
                   "external_scaler_enabled": true, "deployments": [
                    {"name": "cart", "status": "HEALTHY", "trigger": "CONFIG_UPDATE_COMPLETED",
                     "message": "", "version": "v1",
                     "config": {"user_config": {"k": [1, "x"], "own": {"n": 1}}},
                     "target_replicas": 2, "autoscaling": null, "dead": [], "replicas": [
                      {"replica_id": "cart#1", "node": "node-1", "phase": "RUNNING",
                       "version": "v1", "revision": 4, "routable": true,
                       "started_ms": 1767225600500, "reason": "", "upstream": ""}
                    ]}
                  ]}
                ]}
                """));
  }
}
