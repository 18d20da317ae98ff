package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.net.http.HttpResponse;
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
      "1:shown, and there is a mismatch",
      "2:wrong usage",
      "3:no admin server answers at the address"
    },
    footer = {
      "  berth ledger",
      "  berth ledger --application shop --deployment cart",
      "  berth ledger --json | jq .total"
    })
final class LedgerCommand extends AdminCommand {
  private static final String ROW = "%-24s %5s %7s %8s %9s %9s %7s  %s%n";

  @Option(names = "--application", paramLabel = "NAME", description = "Its replicas only.")
  private List<String> applications = List.of();

  @Option(names = "--deployment", paramLabel = "NAME", description = "Its replicas only.")
  private List<String> deployments = List.of();

  @Option(names = "--replica", paramLabel = "ID", description = "This replica only.")
  private List<String> replicas = List.of();

  @Option(names = "--json", description = "Print the ledger as JSON.")
  private boolean json;

  LedgerCommand(Surroundings around) {
    super(around);
  }

  @Override
  int run(PrintWriter out) throws InterruptedException {
    String query =
        AdminServer.parameters("application", applications)
            + AdminServer.parameters("deployment", deployments)
            + AdminServer.parameters("replica", replicas);
    HttpResponse<String> response = server.get("/api/v1/ledger" + query.replaceFirst("&", "?"));
    JsonObject ledger = response.statusCode() == 200 ? AdminServer.json(response.body()) : null;
    if (ledger == null
        || !(ledger.getValue("replicas") instanceof JsonArray shown)
        || !(ledger.getValue("total") instanceof JsonObject total)) {
      return server.refuse(response);
    }
    if (json) {
      out.print(AdminServer.printable(response.body()));
    } else {
      print(shown, total, out);
    }
    return Integer.valueOf(0).equals(total.getValue("audit_mismatches"))
        ? ExitCode.OK
        : ExitCode.SOFTWARE;
  }

  private static void print(JsonArray replicas, JsonObject total, PrintWriter out) {
    out.printf(
        ROW, "replica", "max", "running", "reserved", "granted", "ended", "zombies", "audit");
    for (Object each : replicas) {
      if (each instanceof JsonObject replica) {
        row(String.valueOf(replica.getValue("replica")), replica, audit(replica), out);
      }
    }
    row("total of " + replicas.size(), total, "", out);
  }

  private static void row(String name, JsonObject counts, String audit, PrintWriter out) {
    out.print(
        AdminServer.printable(
            String.format(
                    Locale.ROOT,
                    ROW,
                    name,
                    counts.getValue("max_ongoing_requests"),
                    counts.getValue("running"),
                    counts.getValue("reserved"),
                    counts.getValue("granted"),
                    ServeStatus.number(counts, "completed")
                        + ServeStatus.number(counts, "released")
                        + ServeStatus.number(counts, "expired"),
                    counts.getValue("zombies"),
                    audit)
                .replaceAll(" +\\R", "\n")));
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
