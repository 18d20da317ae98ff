package dev.berth.node;

import dev.berth.admin.live.LiveState;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.routing.reserve.ReservationTable;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * State of an instance for its live feed.
 *
 * @param node id of the instance
 * @param local reads of this instance, by path
 * @param side cluster part of a node, which reads from all nodes; null without a cluster
 * @param splits returns the split routes of this instance
 * @param table reservations of this instance
 */
record InstanceLiveState(
    String node,
    NodeRole role,
    Map<String, Function<MultiMap, JsonObject>> local,
    @Nullable ClusterMembershipClient side,
    Supplier<JsonArray> splits,
    ReservationTable table)
    implements LiveState {

  @Override
  public boolean isElsewhere() {
    return role.isCommandedElsewhere();
  }

  @Override
  public ControllerState controller() {
    return role.controllerState();
  }

  @Override
  public @Nullable String missing() {
    return role.missingController();
  }

  @Override
  public Future<Supplier<JsonObject>> read(String path, MultiMap query) {
    return side == null || role.missingController() != null
        ? Future.succeededFuture(() -> local.get(path).apply(query))
        : side.fanOut().read(path, query);
  }

  @Override
  public JsonArray routes() {
    return splits.get();
  }

  @Override
  public JsonObject reservations() {
    JsonObject ended = new JsonObject();
    JsonObject refused = new JsonObject();
    for (ReservationProblem each : ReservationProblem.values()) {
      String reason = each.name().toLowerCase(Locale.ROOT);
      put(ended, reason, table.counters.endedBy(each));
      put(refused, reason, table.counters.refusedBy(each));
    }
    return new JsonObject()
        .put("node", node)
        .put("ended", ended)
        .put("refused", refused)
        .put("held", table.heldCount())
        .put("waiting", Math.max(0, table.permitsTaken() - table.heldCount()))
        .put("limit", table.limits.maxHeld())
        .put("made", table.counters.made.sum());
  }

  private static void put(JsonObject into, String name, long count) {
    if (count > 0) {
      into.put(name, count);
    }
  }
}
