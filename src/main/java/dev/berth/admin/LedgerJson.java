package dev.berth.admin;

import dev.berth.admin.LedgerRoutes.ReplicaLedger;
import dev.berth.view.BatchFill;
import dev.berth.view.LedgerView;
import dev.berth.view.LedgerView.Audit;
import dev.berth.view.LedgerView.LastAudit;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Ledgers as JSON for operators and checks: one entry per replica, and their sums. */
final class LedgerJson {
  private LedgerJson() {}

  /** Names of the summed fields, equal in each replica's entry. */
  private static final List<String> SUMMED =
      List.of(
          "max_ongoing_requests",
          "running",
          "reserved",
          "granted",
          "completed",
          "released",
          "expired",
          "zombies");

  /**
   * @param now wall-clock time at which the ledgers were read
   */
  static JsonObject of(List<ReplicaLedger> ledgers, Instant now) {
    List<JsonObject> replicas = ledgers.stream().map(each -> of(each, now)).toList();
    JsonObject total = new JsonObject().put("replicas", replicas.size());
    for (String name : SUMMED) {
      total.put(name, replicas.stream().mapToLong(each -> each.getLong(name)).sum());
    }
    long mismatches =
        ledgers.stream().filter(each -> each.ledger().audit() == Audit.MISMATCH).count();
    return new JsonObject()
        .put("at", text(now))
        .put("replicas", new JsonArray(replicas))
        .put("total", total.put("audit_mismatches", mismatches));
  }

  private static JsonObject of(ReplicaLedger replica, Instant now) {
    LedgerView ledger = replica.ledger();
    JsonObject json =
        new JsonObject()
            .put("application", replica.deployment().application())
            .put("deployment", replica.deployment().name())
            .put("replica", ledger.replicaId())
            .put("epoch", Long.toString(ledger.epoch())) // exceeds the integers of JavaScript
            .put("max_ongoing_requests", ledger.maxOngoing())
            .put("running", ledger.running())
            .put("reserved", ledger.reserved())
            .put("draining", ledger.draining())
            .put("granted", ledger.granted())
            .put("completed", ledger.completed())
            .put("released", ledger.released())
            .put("expired", ledger.expired())
            .put("zombies", ledger.zombies());
    BatchFill batches = replica.batches();
    if (batches.batches() > 0) {
      json.put("batches", batches.batches()).put("mean_batch_fill_percent", batches.meanPercent());
    }
    audit(ledger.lastAudit(), now, json);
    return json;
  }

  private static void audit(LastAudit audit, Instant now, JsonObject into) {
    into.put("audit", audit.verdict().name().toLowerCase(Locale.ROOT));
    moment("audited", audit.ageNanos(), now, into);
    moment("clean", audit.cleanAgeNanos(), now, into);
    if (audit.findings() > 0) {
      JsonObject mismatch =
          new JsonObject().put("difference", audit.difference()).put("findings", audit.findings());
      moment("found", audit.findingAgeNanos(), now, mismatch);
      into.put("mismatch", mismatch);
    }
  }

  private static String text(Instant moment) {
    return moment.truncatedTo(ChronoUnit.MILLIS).toString();
  }

  /** Adds the time and the age of an event; both are null for an event that never happened. */
  private static void moment(String what, long ageNanos, Instant now, JsonObject into) {
    boolean known = ageNanos >= 0;
    into.put(what + "_at", known ? text(now.minusNanos(ageNanos)) : null)
        .put(what + "_ms_ago", known ? TimeUnit.NANOSECONDS.toMillis(ageNanos) : null);
  }
}
