package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Command {@code berth shutdown}: deletes every application; the instance itself continues to run.
 */
@Command(
    name = "shutdown",
    header = "Deletes every application of an instance.",
    description = {
      "Replicas finish accepted requests and stop. The instance keeps running without applications;"
          + " berth drain stops it."
    },
    exitCodeList = {
      "0:accepted, or there was nothing to delete",
      "1:refused, or not confirmed",
      "2:wrong usage, or neither -y nor a terminal to confirm on"
    },
    footer = {"  berth shutdown", "  berth shutdown -y"})
final class ShutdownCommand extends AdminCommand {
  @Option(
      names = {"-y", "--yes"},
      description = "Deletes without confirmation.")
  private boolean yes;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    if (!yes) {
      requireTerminal("no terminal to ask on");
    }
    List<String> names =
        server.status().applications().stream().map(each -> Table.oneLine(each.name())).toList();
    String all = String.join(", ", names);
    String question = "Delete " + all + " of " + server.address + "?";
    if (!yes && !names.isEmpty() && !around().agrees(question, out)) {
      throw failure("nothing was deleted");
    }
    AdminHttpClient.AdminHttpReply deleted =
        server.send("DELETE", "/api/serve/applications/", null);
    if (deleted.statusCode() != 200) {
      throw server.refusal(deleted);
    }
    String told =
        names.isEmpty()
            ? "No application was deployed."
            : all + ": deleted; replicas finish accepted requests";
    show(json, new JsonObject().put("deleted", new JsonArray(names)), () -> List.of(told));
  }
}
