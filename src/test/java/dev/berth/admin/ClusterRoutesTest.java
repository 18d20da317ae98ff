package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.view.ClusterCommands;
import dev.berth.view.ClusterDetails;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ClusterRoutesTest {
  private final List<String> asked = new CopyOnWriteArrayList<>();

  private final class Commands implements ClusterCommands {
    @Override
    public Future<ClusterDetails> details() {
      ClusterDetails.Node node =
          new ClusterDetails.Node(
              "w1",
              "w1~f0",
              "worker",
              null,
              Map.of("rack", "7"),
              "10.0.0.2",
              Map.of("data", 7201),
              "ALIVE",
              4,
              2,
              5,
              0L,
              0L,
              List.of("w2"));
      return Future.succeededFuture(
          new ClusterDetails(
              "blue",
              "id-1",
              2,
              3,
              40,
              "c1",
              "c1",
              false,
              null,
              Map.of("w3", "older"),
              false,
              List.of(),
              List.of(),
              List.of(node),
              List.of(new ClusterDetails.UpstreamOwner("http://a", "w1", "r1", 4, 0, true))));
    }

    @Override
    public Future<Void> take(String upstream) {
      asked.add("take " + upstream);
      return upstream.equals("http://a")
          ? Future.succeededFuture()
          : Future.failedFuture(CommandRejectedException.notFound("upstream: %s", upstream));
    }

    @Override
    public Future<Void> drain(String node) {
      asked.add("drain " + node);
      return node.equals("w1")
          ? Future.succeededFuture()
          : Future.failedFuture(
              new CommandRejectedException(CommandRejectionReason.NOT_FOUND, "node: " + node));
    }

    @Override
    public Future<Void> uncordon(String node) {
      asked.add("uncordon " + node);
      return Future.succeededFuture();
    }
  }

  @AutoClose private final AdminClient admin = new AdminClient(new ClusterRoutes(new Commands()));

  @Test
  void theClusterIsShownNodeByNode() {
    JsonObject cluster = admin.json("/api/v1/cluster");
    assertThat(cluster.getString("cluster_id")).isEqualTo("id-1");
    assertThat(cluster.getBoolean("may_be_cut_off")).isFalse();
    assertThat(cluster.getJsonObject("refused_by").getString("w3")).isEqualTo("older");
    JsonObject node = cluster.getJsonArray("nodes").getJsonObject(0);
    assertThat(node.getString("state")).isEqualTo("ALIVE");
    assertThat(node.getLong("registration")).isEqualTo(4);
    assertThat(node.getInteger("bus_addresses")).isEqualTo(5);
    assertThat(node.getJsonArray("unreachable_from")).containsExactly("w2");
    assertThat(node.getValue("zone")).isNull();
  }

  @Test
  void nodesAreDrainedAndTakenBack() {
    assertThat(admin.send("POST", "/api/v1/cluster/nodes/w1/drain", null).statusCode())
        .isEqualTo(202);
    assertThat(admin.send("POST", "/api/v1/cluster/nodes/w1/uncordon", null).statusCode())
        .isEqualTo(200);
    assertThat(admin.send("POST", "/api/v1/cluster/nodes/w9/drain", null).statusCode())
        .isEqualTo(404);
    assertThat(asked).containsExactly("drain w1", "uncordon w1", "drain w9");
  }

  @Test
  void upstreamsAreTakenByTheirKey() {
    JsonObject owner = admin.json("/api/v1/cluster").getJsonArray("upstreams").getJsonObject(0);
    assertThat(owner.getString("upstream")).isEqualTo("http://a");
    assertThat(owner.getBoolean("silent")).isTrue();
    String take = "/api/v1/cluster/take";
    assertThat(admin.send("POST", take + "?upstream=http%3A%2F%2Fa", null).statusCode())
        .isEqualTo(200);
    assertThat(admin.send("POST", take + "?upstream=b", null).statusCode()).isEqualTo(404);
    assertThat(admin.send("POST", take, null).statusCode()).isEqualTo(400);
    assertThat(asked).containsExactly("take http://a", "take b");
  }
}
