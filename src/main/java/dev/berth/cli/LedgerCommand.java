package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;

/** {@code berth ledger}: asks a running instance who holds the slots of its replicas. */
@Command(
    name = "ledger",
    header = "Shows the slots of each replica, and whether they add up.",
    description = {
      "Of every slot that was granted, a request runs or a lease holds it, or it has ended: each"
          + " replica is audited for that every second. A mismatch is a defect of Berth."
    },
    exitCodeList = {
      "0:shown, and no audit found a mismatch that stands",
      "1:shown, and there is a mismatch; or there is none of this name",
      "2:wrong usage",
      "3:no admin server answers at the address"
    },
    footer = {
      "  berth ledger",
      "  berth ledger --app classify --deployment digits",
      "  berth ledger --json | jq .total"
    })
final class LedgerCommand extends AdminCommand {
  private static final String[] HEAD = {
    "replica", "max", "running", "reserved", "granted", "ended", "zombies", "audit"
  };

  @Option(names = "--app", paramLabel = "NAME", description = "Its replicas only.")
  private List<String> applications = List.of();

  @Option(names = "--deployment", paramLabel = "NAME", description = "Its replicas only.")
  private List<String> deployments = List.of();

  @Option(names = "--replica", paramLabel = "ID", description = "This replica only.")
  private List<String> replicas = List.of();

  @Option(names = "--json", description = "Print the ledger as JSON.")
  private boolean json;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    String query =
        AdminServer.parameters("application", applications)
            + AdminServer.parameters("deployment", deployments)
            + AdminServer.parameters("replica", replicas);
    AdminServer.Answer response = server.get("/api/v1/ledger" + query.replaceFirst("&", "?"));
    JsonObject ledger = response.with("replicas", JsonArray.class);
    if (ledger == null || !(ledger.getValue("total") instanceof JsonObject total)) {
      throw server.refuse(response);
    }
    List<JsonObject> shown = ServeStatus.list(ledger, "replicas", each -> each);
    if (shown.isEmpty() && !query.isEmpty()) {
      server.status(applications, deployments, replicas);
    }
    if (json) {
      out.print(AdminServer.printable(response.body()));
    } else {
      print(shown, total, out);
    }
    if (!Integer.valueOf(0).equals(total.getValue("audit_mismatches"))) {
      throw new Ended(ExitCode.SOFTWARE);
    }
  }

  private static void print(List<JsonObject> replicas, JsonObject total, PrintWriter out) {
    List<String[]> rows = new ArrayList<>();
    rows.add(HEAD);
    for (JsonObject replica : replicas) {
      rows.add(row(String.valueOf(replica.getValue("replica")), replica, audit(replica)));
    }
    rows.add(row("total of " + replicas.size(), total, ""));
    StatusTable.aligned(rows).forEach(out::println);
  }

  private static String[] row(String name, JsonObject counts, String audit) {
    long ended =
        ServeStatus.number(counts, "completed")
            + ServeStatus.number(counts, "released")
            + ServeStatus.number(counts, "expired");
    return new String[] {
      name,
      String.valueOf(counts.getValue("max_ongoing_requests")),
      String.valueOf(counts.getValue("running")),
      String.valueOf(counts.getValue("reserved")),
      String.valueOf(counts.getValue("granted")),
      String.valueOf(ended),
      String.valueOf(counts.getValue("zombies")),
      audit
    };
  }

  private static String audit(JsonObject replica) {
    String verdict = String.valueOf(replica.getValue("audit"));
    return switch (verdict) {
      case "mismatch" -> verdict + difference(replica.getValue("mismatch"));
      case "busy" -> verdict + ago(replica.getValue("clean_ms_ago"));
      default -> verdict;
    };
  }

  private static String difference(@Nullable Object mismatch) {
    return mismatch instanceof JsonObject found ? " of " + found.getValue("difference") : "";
  }

  private static String ago(@Nullable Object cleanMillisAgo) {
    return cleanMillisAgo instanceof Number millis
        ? String.format(Locale.ROOT, ", clean %.1f s ago", millis.longValue() / 1e3)
        : ", never clean";
  }
}
