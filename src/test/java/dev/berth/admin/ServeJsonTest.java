package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.ApplicationDetails;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.DeploymentDetails;
import dev.berth.protocol.DeploymentStatus;
import dev.berth.protocol.ReplicaDetails;
import dev.berth.protocol.ReplicaPhase;
import dev.berth.protocol.ServeDetails;
import dev.berth.protocol.StatusTrigger;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ServeJsonTest {

  @Test
  void everythingIsGivenUnderItsNameInSnakeCase() {
    ReplicaDetails replica =
        new ReplicaDetails(
            "shop#cart#1", "node-1", ReplicaPhase.RUNNING, "v2", 7, true, 1_000, "none");
    DeploymentDetails cart =
        new DeploymentDetails(
            "cart",
            DeploymentStatus.UPDATING,
            StatusTrigger.CONFIG_UPDATE_STARTED,
            "1 of 2",
            "v2",
            Map.of("user_config", Map.of("k", List.of(1, "x"))),
            2,
            null,
            List.of(replica),
            List.of());
    ServeDetails details =
        new ServeDetails(
            "node-1",
            3,
            500,
            2_000,
            50.0,
            null,
            List.of(
                new ApplicationDetails(
                    "shop",
                    null,
                    "cart",
                    ApplicationStatus.DEPLOYING,
                    "on its way",
                    900,
                    7,
                    6L,
                    "{\"name\": \"shop\"}",
                    true,
                    List.of(cart))));

    assertThat(new JsonObject(ServeJson.of(details).encode()))
        .isEqualTo(
            new JsonObject(
                """
                {"node": "node-1", "term": 3, "started_ms": 500, "at_ms": 2000, "target_capacity": 50.0,
                 "state_dir": null, "applications": [
                  {"name": "shop", "route_prefix": null, "ingress": "cart", "status": "DEPLOYING",
                   "message": "on its way", "deployed_ms": 900, "revision": 7,
                   "rollback_revision": 6, "config": {"name": "shop"},
                   "external_scaler_enabled": true, "deployments": [
                    {"name": "cart", "status": "UPDATING", "trigger": "CONFIG_UPDATE_STARTED",
                     "message": "1 of 2", "version": "v2",
                     "config": {"user_config": {"k": [1, "x"]}},
                     "target_replicas": 2, "autoscaling": null, "dead": [], "replicas": [
                      {"replica_id": "shop#cart#1", "node": "node-1", "phase": "RUNNING",
                       "version": "v2", "revision": 7, "routable": true, "started_ms": 1000, "reason": "none"}
                    ]}
                  ]}
                ]}
                """));
  }
}
