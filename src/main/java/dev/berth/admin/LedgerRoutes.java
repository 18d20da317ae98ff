package dev.berth.admin;

import dev.berth.api.DeploymentId;
import dev.berth.view.BatchFill;
import dev.berth.view.LedgerView;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.time.InstantSource;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Serves {@code GET /api/v1/ledger}: the slots of each replica and the audits of their counters.
 * {@code ?application=}, {@code ?deployment=} and {@code ?replica=} select replicas by name. A
 * repeated parameter means any of its values; an unknown name is no error.
 */
public final class LedgerRoutes implements AdminRoutes {
  /**
   * @param deployment deployment of the replica
   * @param ledger present state of its slots, with the last audit
   * @param batches fill of its batches since its start
   */
  public record ReplicaLedger(DeploymentId deployment, LedgerView ledger, BatchFill batches) {}

  private final Supplier<List<ReplicaLedger>> ledgers;
  private final InstantSource wallClock;
  private final SingleFlightReads<String> reads = new SingleFlightReads<>();

  /**
   * @param ledgers ledgers of the replicas of this instance; called on a worker thread
   * @param wallClock clock for the times of audits, which are stored as ages
   */
  public LedgerRoutes(Supplier<List<ReplicaLedger>> ledgers, InstantSource wallClock) {
    this.ledgers = ledgers;
    this.wallClock = wallClock;
  }

  @Override
  public void mount(Router router) {
    router.get("/api/v1/ledger").handler(this::ledger);
  }

  private void ledger(RoutingContext context) {
    QueryParameters query =
        QueryParameters.of(context, false, "application", "deployment", "replica");
    if (query.given().isEmpty()) {
      Future<String> all = reads.read(context.vertx(), "all", () -> json(replica -> true));
      AdminResponses.text(context, AdminResponses.JSON, all);
      return;
    }
    AdminResponses.read(context, AdminResponses.JSON, () -> json(filter(query.given())));
  }

  private static Predicate<ReplicaLedger> filter(MultiMap query) {
    List<String> applications = query.getAll("application");
    List<String> deployments = query.getAll("deployment");
    List<String> replicas = query.getAll("replica");
    return replica ->
        isOneOf(applications, replica.deployment().application())
            && isOneOf(deployments, replica.deployment().name())
            && isOneOf(replicas, replica.ledger().replicaId());
  }

  /** Returns the response to these query parameters. Thread-safe. */
  public JsonObject read(MultiMap query) {
    return object(filter(query));
  }

  private static boolean isOneOf(List<String> wanted, String name) {
    return wanted.isEmpty() || wanted.contains(name);
  }

  private String json(Predicate<ReplicaLedger> shown) {
    return object(shown).encodePrettily() + "\n";
  }

  private JsonObject object(Predicate<ReplicaLedger> shown) {
    List<ReplicaLedger> found = ledgers.get().stream().filter(shown).toList();
    return LedgerJson.of(found, wallClock.instant());
  }
}
