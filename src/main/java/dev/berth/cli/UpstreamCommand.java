package dev.berth.cli;

import dev.berth.config.UpstreamOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Command;

/** Command {@code berth upstream}: commands about remote servers. Subcommands do the work. */
@Command(
    name = "upstream",
    header = "Shows the remote servers that serve as replicas.",
    synopsisSubcommandLabel = "COMMAND",
    exitCodeList = {
      "0:success",
      "1:a failure at run time",
      "2:wrong usage",
      "3:no admin server answers at the address"
    },
    footer = {"  berth upstream list", "  berth upstream list --help"},
    subcommands = UpstreamCommand.Listing.class)
final class UpstreamCommand extends CliCommand {
  /** Command {@code berth upstream list}: shows a line for each upstream. */
  @Command(
      name = "list",
      header = "Shows each upstream with its slots and its health.",
      description = {
        "The owner is the node of the replica that represents the upstream. A closed upstream gets"
            + " no requests: the last column has the reason, and the time at which a Retry-After"
            + " ends. Berth probes any other closed upstream every second."
      },
      exitCodeList = "0:shown",
      footer = {
        "  berth upstream list",
        "  berth upstream list --json | jq -r '.upstreams[].upstream'"
      })
  static final class Listing extends AdminCommand {
    private final Map<String, JsonObject> ledgers = new HashMap<>(); // by replica

    @Override
    void run(PrintWriter out) throws InterruptedException {
      ServeStatus serve = server.status(List.of(), List.of(), List.of());
      AdminHttpClient.AdminHttpReply response = server.get("/api/v1/ledger");
      JsonObject slots = response.with("replicas", JsonArray.class);
      if (slots == null) {
        throw server.refuse(response);
      }
      ServeStatus.list(slots, "replicas")
          .forEach(each -> ledgers.put(ServeStatus.text(each, "replica"), each));
      JsonArray all = new JsonArray();
      serve.applications().forEach(each -> add(each.json(), all));
      JsonObject shown = new JsonObject().put("upstreams", all);
      show(json, shown, () -> table(ServeStatus.list(shown, "upstreams")));
    }

    private void add(JsonObject application, JsonArray into) {
      Map<String, Integer> maxima =
          application.getValue("config") instanceof JsonObject submitted
              ? UpstreamOptions.maxima(submitted.getMap())
              : Map.of();
      for (JsonObject deployment : ServeStatus.list(application, "deployments")) {
        for (JsonObject replica : ServeStatus.list(deployment, "replicas")) {
          String key = ServeStatus.text(replica, "upstream");
          if (!key.isEmpty()) {
            JsonObject ledger =
                ledgers.getOrDefault(ServeStatus.text(replica, "replica_id"), new JsonObject());
            long max = ServeStatus.number(ledger, "max_ongoing_requests"); // 0 while closed
            String phase = ServeStatus.text(replica, "phase");
            String reason = ServeStatus.text(replica, "reason");
            long running = ServeStatus.number(ledger, "running");
            into.add(
                replica
                    .copy()
                    .put("application", application.getValue("name"))
                    .put("deployment", deployment.getValue("name"))
                    .put("kind", key.substring(0, Math.max(0, key.indexOf(':'))))
                    .put("max_ongoing_requests", maxima.getOrDefault(key, (int) max))
                    .put("ongoing", running + ServeStatus.number(ledger, "reserved"))
                    .put("open", phase.equals(ServeStatus.RUNNING) && reason.isEmpty()));
          }
        }
      }
    }

    private static List<String> table(List<JsonObject> upstreams) {
      Table table = new Table("upstream|deployment|kind|owner|max|ongoing|health");
      for (JsonObject each : upstreams) {
        String reason = ServeStatus.text(each, "reason");
        String phase = ServeStatus.text(each, "phase").toLowerCase(Locale.ROOT);
        String open = Boolean.TRUE.equals(each.getValue("open")) ? "open" : phase;
        table.row(
            each.getValue("upstream"),
            each.getValue("application") + "/" + each.getValue("deployment"),
            each.getValue("kind"),
            each.getValue("node"),
            each.getValue("max_ongoing_requests"),
            each.getValue("ongoing"),
            reason.isEmpty() ? open : reason);
      }
      return upstreams.isEmpty() ? List.of("No deployment has upstreams.") : table.lines();
    }
  }
}
