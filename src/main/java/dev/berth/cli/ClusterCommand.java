package dev.berth.cli;

import static java.net.HttpURLConnection.HTTP_ACCEPTED;

import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Command {@code berth cluster}: commands about several nodes. Subcommands do the work. */
@Command(
    name = "cluster",
    header = "Shows and drains cluster nodes, and creates a cluster to try.",
    synopsisSubcommandLabel = "COMMAND",
    exitCodeList = {
      "0:success",
      "1:a failure at run time",
      "2:wrong usage",
      "3:no admin server answers at the address",
      "4:with --wait: not reached within --timeout-s"
    },
    footer = {
      "  berth cluster init trial",
      "  berth cluster status",
      "  berth cluster drain n2 --wait",
      "  berth cluster uncordon n2",
      "  berth cluster init --help",
    },
    subcommands = {
      ClusterInitCommand.class,
      ClusterStatusCommand.class,
      ClusterCommand.Drain.class,
      ClusterCommand.Uncordon.class
    })
final class ClusterCommand extends CliCommand {
  /** Command {@code berth cluster drain}: moves a node's replicas to other nodes. */
  @Command(
      name = "drain",
      header = "Moves the replicas of a node to other nodes.",
      description = {
        "The node gets no new replicas. Replacements start on other nodes; then the node's replicas"
            + " drain and stop. The node keeps running and serving requests. It stays cordoned,"
            + " also across restarts of the node or its control node, until berth cluster uncordon."
            + " Replicas without capacity elsewhere stay; berth status shows this."
      },
      exitCodeList = {
        "0:the drain began; with --wait, no replica is left",
        "1:refused: no such node",
        "4:with --wait: replicas are left"
      },
      footer = {"  berth cluster drain n2", "  berth cluster drain n2 --wait --timeout-s 60"})
  static final class Drain extends MutatingCommand {

    @Parameters(paramLabel = "NODE", description = "Name of the node.")
    private String node;

    private @Nullable Object before = ""; // replicas of the previous poll

    @Override
    void run(PrintWriter out) throws InterruptedException {
      String path = AdminHttpClient.path("cluster", "nodes", node, "drain");
      AdminHttpClient.AdminHttpReply response = server.send("POST", path, null);
      if (response.statusCode() != HTTP_ACCEPTED) {
        throw server.refusal(response);
      }
      Boolean over = wait ? poll(late -> isEmpty(late, out)) : null;
      if (!json && !Boolean.FALSE.equals(over)) {
        out.println(node + (over == null ? ": draining" : ": no replica is left"));
      }
      endDrain(over, new JsonObject().put("node", node), node + " has replicas");
    }

    private @Nullable Boolean isEmpty(boolean late, PrintWriter out) throws InterruptedException {
      Object replicas = replicas(ClusterStatusCommand.cluster(this));
      if (Integer.valueOf(0).equals(replicas)) {
        return true;
      }
      if (replicas == null && before != null) {
        server.say("waiting: controller unreachable");
      } else if (!json && replicas != null && !replicas.equals(before)) {
        out.println(node + ": " + replicas + " replicas");
        out.flush();
      }
      before = replicas;
      return late ? false : null;
    }

    /** Returns the node's replica count; null without a controller, 0 for a removed node. */
    private @Nullable Object replicas(JsonObject cluster) {
      return ServeStatus.list(cluster, "nodes").stream()
          .filter(each -> node.equals(each.getValue("name")))
          .findFirst()
          .map(each -> each.getValue("replicas"))
          .orElse(cluster.getValue("control") == null ? null : 0);
    }
  }

  /** Command {@code berth cluster uncordon}: ends a drain. */
  @Command(
      name = "uncordon",
      header = "Lets a node accept replicas again.",
      description = {
        "Ends a drain, complete or not. Replicas that run elsewhere stay there; the node is"
            + " considered for replicas that start from now on."
      },
      exitCodeList = {"0:done", "1:refused: no such node, or it is leaving"},
      footer = "  berth cluster uncordon n2")
  static final class Uncordon extends AdminCommand {
    @Parameters(paramLabel = "NODE", description = "Name of the node.")
    private String node;

    @Override
    void run(PrintWriter out) throws InterruptedException {
      String path = AdminHttpClient.path("cluster", "nodes", node, "uncordon");
      server.required(server.send("POST", path, null), "message", String.class);
      JsonObject done = new JsonObject().put("node", node).put("outcome", "accepted");
      show(json, done, () -> List.of(node + ": accepts replicas again"));
    }
  }
}
