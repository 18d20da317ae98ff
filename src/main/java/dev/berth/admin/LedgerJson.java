package dev.berth.admin;

import dev.berth.admin.LedgerSource.ReplicaLedger;
import dev.berth.protocol.port.LedgerView;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Locale;

/** Ledgers as operators and checks read them: each replica's, and their sums. */
final class LedgerJson {
  private LedgerJson() {}

  static JsonObject of(List<ReplicaLedger> ledgers) {
    JsonArray replicas = new JsonArray();
    long running = 0;
    long reserved = 0;
    long zombies = 0;
    long mismatches = 0;
    for (ReplicaLedger each : ledgers) {
      LedgerView ledger = each.ledger();
      replicas.add(of(each));
      running += ledger.running();
      reserved += ledger.reserved();
      zombies += ledger.zombies();
      mismatches += ledger.audit() == LedgerView.Audit.MISMATCH ? 1 : 0;
    }
    return new JsonObject()
        .put("replicas", replicas)
        .put(
            "total",
            new JsonObject()
                .put("replicas", ledgers.size())
                .put("running", running)
                .put("reserved", reserved)
                .put("zombies", zombies)
                .put("audit_mismatches", mismatches));
  }

  private static JsonObject of(ReplicaLedger replica) {
    LedgerView ledger = replica.ledger();
    return new JsonObject()
        .put("application", replica.deployment().application())
        .put("deployment", replica.deployment().name())
        .put("replica", ledger.replicaId())
        .put("epoch", Long.toString(ledger.epoch())) // wider than what JavaScript counts exactly
        .put("max_ongoing_requests", ledger.maxOngoing())
        .put("running", ledger.running())
        .put("reserved", ledger.reserved())
        .put("draining", ledger.draining())
        .put("granted", ledger.granted())
        .put("completed", ledger.completed())
        .put("released", ledger.released())
        .put("expired", ledger.expired())
        .put("zombies", ledger.zombies())
        .put("audit", ledger.audit().name().toLowerCase(Locale.ROOT));
  }
}
