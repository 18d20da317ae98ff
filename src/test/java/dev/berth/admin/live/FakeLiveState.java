package dev.berth.admin.live;

import dev.berth.api.DeploymentId;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.ClusterDetails;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import dev.berth.view.ServeDetails;
import dev.berth.view.StatusTrigger;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** State of an instance with one application, {@code shop}, whose controller may be missing. */
final class FakeLiveState implements LiveState, LiveState.ControllerState {
  volatile boolean elsewhere;
  volatile @Nullable String missing;
  int replicas = 2;
  String message = "";
  String line = "hello";
  final List<String> reads = new ArrayList<>();

  @Override
  public String node() {
    return "node-1";
  }

  @Override
  public boolean isElsewhere() {
    return elsewhere;
  }

  @Override
  public ControllerState controller() {
    if (missing != null) {
      throw CommandRejectedException.unavailable(missing);
    }
    return this;
  }

  @Override
  public @Nullable String missing() {
    return missing;
  }

  @Override
  public ServeDetails applications() {
    return new ServeDetails("node-1", 1, 0, 0, null, null, List.of(application()));
  }

  private ApplicationDetails application() {
    List<ReplicaDetails> all =
        IntStream.range(0, replicas)
            .mapToObj(
                each ->
                    new ReplicaDetails(
                        "shop#infer#" + each,
                        "node-1",
                        each == 0 ? ReplicaPhase.STARTING : ReplicaPhase.RUNNING,
                        each == 1 ? "v1" : "v2",
                        4,
                        true,
                        0,
                        "",
                        each == 1 ? "http://up" : ""))
            .toList();
    DeploymentDetails deployment =
        new DeploymentDetails(
            "infer",
            DeploymentStatus.HEALTHY,
            StatusTrigger.CONFIG_UPDATE_COMPLETED,
            message,
            "v2",
            Map.of("num_replicas", replicas),
            replicas,
            null,
            all,
            List.of());
    return new ApplicationDetails(
        "shop",
        "/shop",
        "infer",
        ApplicationStatus.RUNNING,
        "",
        0,
        4,
        3L,
        "{}",
        false,
        List.of(deployment));
  }

  @Override
  public @Nullable ApplicationDetails application(String name) {
    return name.equals("shop") ? application() : null;
  }

  @Override
  public @Nullable Supplier<JsonObject> decisions(DeploymentId deployment) {
    return null;
  }

  @Override
  public Future<@Nullable ClusterDetails> cluster() {
    return Future.succeededFuture();
  }

  @Override
  public Future<Supplier<JsonObject>> read(String path, MultiMap query) {
    reads.add(path);
    JsonObject response =
        switch (path) {
          case "/api/v1/ledger" -> ledger();
          case "/api/v1/requests" -> new JsonObject().put("requests", new JsonArray());
          default ->
              new JsonObject()
                  .put(
                      "lines",
                      new JsonArray()
                          .add(
                              new JsonObject()
                                  .put("number", 7)
                                  .put("time", "2026-01-01T00:00:00Z")
                                  .put("message", line)));
        };
    return Future.succeededFuture(() -> response);
  }

  private static JsonObject ledger() {
    JsonObject replica =
        new JsonObject()
            .put("replica", "shop#infer#1")
            .put("max_ongoing_requests", 8)
            .put("running", 3)
            .put("reserved", 0)
            .put("draining", false)
            .put("clean_ms_ago", System.nanoTime());
    return new JsonObject()
        .put("replicas", new JsonArray().add(replica))
        .put("total", new JsonObject().put("running", 3));
  }

  @Override
  public JsonArray routes() {
    return new JsonArray().add(new JsonObject().put("route", "/shop"));
  }

  @Override
  public JsonObject reservations() {
    return new JsonObject().put("held", 1);
  }
}
