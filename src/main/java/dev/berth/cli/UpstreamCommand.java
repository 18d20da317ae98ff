package dev.berth.cli;

import dev.berth.config.UpstreamOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

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
    footer = {"  berth upstream list", "  berth upstream take http://10.0.0.7:8000"},
    subcommands = {UpstreamCommand.UpstreamList.class, UpstreamCommand.UpstreamTake.class})
final class UpstreamCommand extends CliCommand {
  /** Command {@code berth upstream list}: shows a line for each upstream. */
  @Command(
      name = "list",
      header = "Shows each upstream with its slots and its health.",
      description = {
        "The owner is the node of the replica that represents the upstream. A closed upstream gets"
            + " no requests: the last column has the reason, and the time at which a Retry-After"
            + " ends. Berth probes any other closed upstream every second. In a cluster, a lost node"
            + " may still run requests: it keeps its slots as a silent owner. A maximum such as 4 x 3"
            + " holds on each of 3 nodes or addresses."
      },
      exitCodeList = "0:shown",
      footer = {
        "  berth upstream list",
        "  berth upstream list --json | jq -r '.upstreams[].upstream'"
      })
  static final class UpstreamList extends AdminCommand {
    private final Map<String, JsonObject> ledgers = new HashMap<>(); // by replica
    private final Map<String, JsonObject> owners = new LinkedHashMap<>(); // by replica, in clusters

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
      JsonObject cluster = server.get("/api/v1/cluster").with("upstreams", JsonArray.class);
      ServeStatus.list(cluster == null ? new JsonObject() : cluster, "upstreams")
          .forEach(each -> owners.put(ServeStatus.text(each, "replica_id"), each));
      JsonArray all = new JsonArray();
      serve.applications().forEach(each -> add(each.json(), all));
      owners.values().stream()
          .filter(each -> Boolean.TRUE.equals(each.getValue("silent")))
          .forEach(each -> all.add(silent(each)));
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
                    .put("kind", kind(key))
                    .put("lease_ms", lease(replica))
                    .put(
                        "max_ongoing_requests",
                        maxima.getOrDefault(UpstreamOptions.withoutPlace(key), (int) max))
                    .put("ongoing", running + ServeStatus.number(ledger, "reserved"))
                    .put("open", phase.equals(ServeStatus.RUNNING) && reason.isEmpty()));
          }
        }
      }
    }

    private @Nullable Object lease(JsonObject replica) {
      JsonObject owner = owners.get(ServeStatus.text(replica, "replica_id"));
      return owner == null ? null : owner.getValue("lease_ms");
    }

    private static JsonObject silent(JsonObject owner) {
      return owner
          .copy()
          .put("max_ongoing_requests", owner.getValue("slots"))
          .put("kind", kind(ServeStatus.text(owner, "upstream")))
          .put("open", false)
          .put("reason", "silent owner, whose requests may still run");
    }

    private static String kind(String key) {
      return key.substring(0, Math.max(0, key.indexOf(':')));
    }

    private static List<String> table(List<JsonObject> upstreams) {
      Map<String, Long> places = // of an upstream with a replica per node or address
          upstreams.stream()
              .filter(each -> each.containsKey("deployment"))
              .map(each -> ServeStatus.text(each, "upstream"))
              .filter(key -> !key.equals(UpstreamOptions.withoutPlace(key)))
              .distinct()
              .collect(Collectors.groupingBy(UpstreamOptions::withoutPlace, Collectors.counting()));
      Table table = new Table("upstream|deployment|kind|owner|max|ongoing|lease|health");
      for (JsonObject each : upstreams) {
        String reason = ServeStatus.text(each, "reason");
        long lease = ServeStatus.number(each, "lease_ms");
        String phase = ServeStatus.text(each, "phase").toLowerCase(Locale.ROOT);
        String open = Boolean.TRUE.equals(each.getValue("open")) ? "open" : phase;
        String key = ServeStatus.text(each, "upstream");
        Long times = places.get(UpstreamOptions.withoutPlace(key));
        table.row(
            key,
            each.containsKey("deployment")
                ? each.getValue("application") + "/" + each.getValue("deployment")
                : "-",
            each.getValue("kind"),
            each.getValue("node"),
            each.getValue("max_ongoing_requests") + (times == null ? "" : " x " + times),
            each.getValue("ongoing", "-"),
            lease > 0 ? lease / 1000 + " s" : "-",
            reason.isEmpty() ? open : reason);
      }
      return upstreams.isEmpty() ? List.of("No deployment has upstreams.") : table.lines();
    }
  }

  /** Command {@code berth upstream take}: ends the slots of silent owners. */
  @Command(
      name = "take",
      header = "Grants the slots of lost nodes again.",
      description = {
        "A node that is lost keeps its slots of an upstream, because its requests may still run."
            + " The command ends them at once. Run it only after the machine or its process has"
            + " ended, or if the upstream may get more requests than its maximum."
      },
      exitCodeList = {"0:done", "1:refused: no such upstream, or no silent owner"},
      footer = "  berth upstream take http://10.0.0.7:8000")
  static final class UpstreamTake extends AdminCommand {
    @Parameters(paramLabel = "UPSTREAM", description = "Upstream, as shown by berth upstream list.")
    private String upstream;

    @Override
    void run(PrintWriter out) throws InterruptedException {
      String path = "/api/v1/cluster/take?upstream=" + AdminHttpClient.encoded(upstream);
      server.required(server.send("POST", path, null), "message", String.class);
      JsonObject done = new JsonObject().put("upstream", upstream).put("outcome", "accepted");
      show(json, done, () -> List.of(upstream + ": the slots of silent owners are granted again"));
    }
  }
}
