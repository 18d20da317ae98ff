package dev.berth.node;

import dev.berth.admin.ExplainRoutes;
import dev.berth.admin.LedgerRoutes;
import dev.berth.admin.LogRoutes;
import dev.berth.admin.live.FigureHistory;
import dev.berth.admin.live.LiveRoutes;
import dev.berth.config.AdminOptions;
import dev.berth.metrics.MetricsPusher;
import dev.berth.node.InstanceRuntime.InstanceContext;
import dev.berth.node.loops.Identity;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.port.TickTimer;
import dev.berth.routing.reserve.ReservationTable;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The live feed of an instance and its history, connected to their sources. */
final class LiveWiring {
  private final InstanceContext on;
  private final NodeRole role;
  private final Identity identity;
  private final FigureHistory history;

  LiveWiring(InstanceContext on, NodeRole role, MetricsPusher pusher) {
    this.on = on;
    this.role = role;
    identity = on.identity();
    history = new FigureHistory(FigureHistory.MAX_BYTES, nowMs());
    history.show(on.meters());
    pusher.addFigures(on.meters());
    role.onReports(
        batch -> {
          if (!batch.node().equals(identity.node())) { // else recorded when it was sent
            history.record(batch, nowMs());
          }
        });
  }

  private long nowMs() {
    return identity.wallClock().millis();
  }

  /** Creates the routes; the parameters are those of {@link InstanceLiveState}. */
  LiveRoutes routes(
      @Nullable ClusterMembershipClient side,
      LedgerRoutes ledger,
      ExplainRoutes explain,
      LogRoutes log,
      Supplier<JsonArray> splits,
      ReservationTable table) {
    Map<String, Function<MultiMap, JsonObject>> local =
        Map.of(
            "/api/v1/ledger", ledger::read,
            "/api/v1/requests", query -> explain.latest(Integer.parseInt(query.get("limit"))),
            "/api/v1/logs", log::read);
    LiveRoutes made =
        new LiveRoutes(
            new InstanceLiveState(identity.node(), role, local, side, splits, table),
            history,
            on.config().get(AdminOptions.MAX_VIEWERS),
            identity.nanoClock(),
            this::nowMs);
    made.show(on.meters());
    return made;
  }

  /** Records a batch of this instance, and sends it to the controller. */
  Future<Long> report(HandleMetricBatch batch) {
    history.record(batch, nowMs());
    return role.ask(batch);
  }

  /** Starts to end the seconds of the history. Returns the stop action. */
  Supplier<Future<Void>> start(TickTimer ticks) {
    TickTimer.LoopTick seconds = ticks.every(TickTimer.IDLE_NANOS);
    seconds.start(
        () -> {
          history.end(nowMs(), role::forEachTarget);
          return 0;
        },
        () -> {});
    return () -> {
      seconds.stop();
      return Future.succeededFuture();
    };
  }
}
