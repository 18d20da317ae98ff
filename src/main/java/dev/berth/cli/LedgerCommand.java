package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;

/** Command {@code berth ledger}: shows the slots of a running instance's replicas. */
@Command(
    name = "ledger",
    header = "Shows the slots of each replica, and whether the ledger balances.",
    description = {
      "Every granted slot is held by a request or a lease, or was returned. An audit checks this"
          + " for each replica every second. A mismatch is a defect of Berth."
    },
    exitCodeList = {
      "0:shown, and no audit found a lasting mismatch",
      "1:shown with a mismatch, or no such application, deployment or replica"
    },
    footer = {
      "  berth ledger",
      "  berth ledger --app classify --deployment digits",
      "  berth ledger --node n2",
      "  berth ledger --json | jq .total"
    })
final class LedgerCommand extends AdminCommand {
  @Mixin private ReplicaFilter filter = new ReplicaFilter();

  @Override
  void run(PrintWriter out) throws InterruptedException {
    String query = filter.parameters();
    AdminHttpClient.AdminHttpReply response =
        server.get("/api/v1/ledger" + query.replaceFirst("&", "?"));
    JsonObject ledger = response.with("replicas", JsonArray.class);
    if (ledger == null || !(ledger.getValue("total") instanceof JsonObject total)) {
      throw server.refuse(response);
    }
    server.sayUnreachable(ledger);
    List<JsonObject> shown = ServeStatus.list(ledger, "replicas");
    if (shown.isEmpty() && !query.isEmpty()) {
      server.status(filter.applications, filter.deployments, filter.replicas);
    }
    if (json) {
      out.print(AdminHttpClient.printable(response.body()));
    } else {
      table(shown, total).lines().forEach(out::println);
    }
    if (!Integer.valueOf(0).equals(total.getValue("audit_mismatches"))) {
      throw new CommandExitException(ExitCode.SOFTWARE);
    }
  }

  private static Table table(List<JsonObject> replicas, JsonObject total) {
    Table table = new Table("replica|max|running|reserved|granted|ended|zombies|audit");
    replicas.forEach(each -> row(table, name(each), each, audit(each)));
    row(table, "total of " + replicas.size(), total, "");
    return table;
  }

  /** Returns the replica id, with the reporting node in a response of several nodes. */
  private static String name(JsonObject replica) {
    String on = replica.getString("node");
    return replica.getValue("replica") + (on == null ? "" : " on " + on);
  }

  private static void row(Table into, @Nullable Object name, JsonObject counts, String audit) {
    long ended =
        ServeStatus.number(counts, "completed")
            + ServeStatus.number(counts, "released")
            + ServeStatus.number(counts, "expired");
    Object most = counts.getValue("max_ongoing_requests");
    Object running = counts.getValue("running");
    Object reserved = counts.getValue("reserved");
    Object granted = counts.getValue("granted");
    into.row(name, most, running, reserved, granted, ended, counts.getValue("zombies"), audit);
  }

  private static String audit(JsonObject replica) {
    String verdict = String.valueOf(replica.getValue("audit"));
    if (verdict.equals("mismatch") && replica.getValue("mismatch") instanceof JsonObject found) {
      return verdict + " of " + found.getValue("difference");
    } else if (!verdict.equals("busy")) {
      return verdict;
    }
    return replica.getValue("clean_ms_ago") instanceof Number millis
        ? String.format(Locale.ROOT, "busy, clean %.1f s ago", millis.longValue() / 1e3)
        : "busy, never clean";
  }
}
