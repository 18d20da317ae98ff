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
    header = "Shows and drains the nodes of a cluster, and makes one to try.",
    synopsisSubcommandLabel = "COMMAND",
    exitCodeList = {
      "0:all went well",
      "1:a failure at run time",
      "2:wrong usage",
      "3:no admin server answers at the address",
      "4:with --wait, it did not come true in time"
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
  @Override
  void run(PrintWriter out) {
    throw wrong("Missing command: one of " + String.join(", ", spec.subcommands().keySet()));
  }

  /** Command {@code berth cluster drain}: moves a node's replicas to other nodes. */
  @Command(
      name = "drain",
      header = "Moves a node's replicas to the others.",
      description = {
        "It gets no new ones, others start in their places, and then its own drain and stop. The"
            + " node runs on and answers requests; it is kept so, also when it or the control node"
            + " is started anew, until berth cluster uncordon. Where the others have no room its"
            + " replicas stay: berth status says so."
      },
      exitCodeList = {
        "0:the drain began; with --wait, no replica is left there",
        "1:refused: there is no such node",
        "4:with --wait, there are replicas still"
      },
      footer = {"  berth cluster drain n2", "  berth cluster drain n2 --wait --timeout-s 60"})
  static final class Drain extends ChangeCommand {

    @Parameters(paramLabel = "NODE", description = "A node's name.")
    private String node;

    private @Nullable Object before = ""; // replicas of the previous poll

    @Override
    void run(PrintWriter out) throws InterruptedException {
      String path = AdminServer.path("cluster", "nodes", node, "drain");
      AdminServer.Answer response = server.send("POST", path, null);
      if (response.statusCode() != HTTP_ACCEPTED) {
        throw server.refusal(response);
      }
      Boolean over = wait ? poll(late -> isEmpty(late, out)) : null;
      if (!json && !Boolean.FALSE.equals(over)) {
        out.println(node + (over == null ? ": drains" : ": no replica is left"));
      }
      endDrain(over, new JsonObject().put("node", node), node + " has replicas");
    }

    private @Nullable Boolean isEmpty(boolean late, PrintWriter out) throws InterruptedException {
      Object replicas = replicas(ClusterStatusCommand.cluster(this));
      if (Integer.valueOf(0).equals(replicas)) {
        return true;
      }
      if (replicas == null && before != null) {
        server.say("waiting: no controller is heard");
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
      header = "Lets a node have replicas again.",
      description = {
        "It ends a drain, be that over or not. Replicas that run elsewhere stay where they are: the"
            + " node gets of those that start from now on."
      },
      exitCodeList = {"0:done", "1:refused: there is no such node, or it ends"},
      footer = "  berth cluster uncordon n2")
  static final class Uncordon extends AdminCommand {
    @Parameters(paramLabel = "NODE", description = "A node's name.")
    private String node;

    @Override
    void run(PrintWriter out) throws InterruptedException {
      String path = AdminServer.path("cluster", "nodes", node, "uncordon");
      server.required(server.send("POST", path, null), "message", String.class);
      JsonObject done = new JsonObject().put("node", node).put("outcome", "accepted");
      show(json, done, () -> List.of(node + ": takes replicas again"));
    }
  }
}
