package dev.berth.cli;

import static java.net.HttpURLConnection.HTTP_NOT_FOUND;
import static java.util.stream.Collectors.joining;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;

/** Command {@code berth cluster status}: shows the nodes of a cluster and their states. */
@Command(
    name = "status",
    aliases = "nodes",
    header = "Shows the nodes of a cluster.",
    description = {
      "Every node can be queried: it forwards to the control node, or shows its last known state if"
          + " that is unreachable. ALIVE accepts replicas, SUSPECTED is silent, CORDONED was"
          + " drained, LEAVING is shutting down. Lost nodes are not listed. The port of the event"
          + " bus between nodes is shown if a node opens it."
    },
    exitCodeList = {"0:shown", "1:the instance is not a node of a cluster"},
    footer = {
      "  berth cluster status",
      "  berth cluster nodes --address http://127.0.0.1:8266",
      "  berth cluster status --json | jq -r '.nodes[] | .name + \" \" + .state'"
    })
final class ClusterStatusCommand extends AdminCommand {
  /**
   * Returns the cluster as a node reports it.
   *
   * @throws CommandExitException when the response is not readable
   */
  static JsonObject cluster(AdminCommand command) throws InterruptedException {
    AdminHttpClient.AdminHttpReply response = command.server.get("/api/v1/cluster");
    if (response.statusCode() == HTTP_NOT_FOUND) {
      throw command.failure(
          command.server.address + ": a single instance (expected: a node of a cluster)");
    }
    return command.server.required(response, "nodes", JsonArray.class);
  }

  @Override
  void run(PrintWriter out) throws InterruptedException {
    JsonObject cluster = cluster(this);
    List<JsonObject> nodes = ServeStatus.list(cluster, "nodes");
    boolean bus = nodes.stream().anyMatch(each -> busPort(each) != null);
    Table table =
        new Table(
            "node|role|zone|labels|host"
                + (bus ? "|bus port|bus addresses" : "")
                + "|state|replicas|not reached from");
    nodes.forEach(each -> row(each, bus, table));
    show(json, cluster, () -> Stream.concat(head(cluster), table.lines().stream()).toList());
  }

  private static Stream<String> head(JsonObject cluster) {
    String control = cluster.getString("control");
    String who = control == null ? "control node unreachable" : "control node " + control;
    return Stream.of(
            "cluster " + cluster.getValue("name") + ": " + who,
            control == null ? cluster.getValue("node") + " shows its last known state" : null,
            Boolean.TRUE.equals(cluster.getValue("may_be_cut_off"))
                ? "this controller may be partitioned: most nodes are silent, and not replaced yet"
                : null,
            cluster.getValue("stands_by") == null
                ? null
                : (control == null ? "no controller: " : "the controller sends no commands: ")
                    + cluster.getValue("stands_by"),
            cluster.getValue("refused_by") instanceof JsonObject by && !by.isEmpty()
                ? "nodes refuse the controller: " + by.encode()
                : null,
            Boolean.TRUE.equals(cluster.getValue("strangers"))
                ? "a node of another cluster tries to connect"
                : null,
            names("waits for", cluster.getValue("awaited")),
            names("drained", cluster.getValue("cordoned")))
        .filter(Objects::nonNull)
        .map(Table::oneLine);
  }

  private static @Nullable String names(String what, @Nullable Object names) {
    return names instanceof JsonArray some && !some.isEmpty() ? what + ": " + text(some) : null;
  }

  private static String text(@Nullable Object names) {
    return names instanceof JsonArray some
        ? some.stream().map(String::valueOf).collect(joining(", "))
        : "";
  }

  /** Returns the port of a node's event bus for other nodes; null for none. */
  private static @Nullable Object busPort(JsonObject node) {
    return node.getValue("ports") instanceof JsonObject ports ? ports.getValue("bus") : null;
  }

  private static void row(JsonObject node, boolean showsBus, Table into) {
    String labels =
        node.getValue("labels") instanceof JsonObject some
            ? some.stream().map(each -> each.getKey() + "=" + each.getValue()).collect(joining(","))
            : "";
    List<@Nullable Object> cells = new ArrayList<>();
    cells.add(node.getValue("name"));
    cells.add(node.getValue("role"));
    cells.add(Objects.requireNonNullElse(node.getValue("zone"), "-"));
    cells.add(labels);
    cells.add(node.getValue("host"));
    if (showsBus) {
      cells.add(Objects.requireNonNullElse(busPort(node), "-"));
      cells.add(Objects.requireNonNullElse(node.getValue("bus_addresses"), "-"));
    }
    cells.add(node.getValue("state"));
    cells.add(Objects.requireNonNullElse(node.getValue("replicas"), "?"));
    cells.add(text(node.getValue("unreachable_from")));
    into.row(cells.toArray());
  }
}
