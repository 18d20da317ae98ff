package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;

/** {@code berth shutdown}: deletes every application; the instance itself stays. */
@Command(
    name = "shutdown",
    header = "Deletes every application of an instance.",
    description = {
      "Their replicas finish what they accepted, and stop. The instance stays, with nothing to"
          + " serve; berth drain ends it."
    },
    exitCodeList = {
      "0:accepted, or there was nothing to delete",
      "1:refused, or not confirmed",
      "2:wrong usage, or neither -y nor a terminal to ask on"
    },
    footer = {"  berth shutdown", "  berth shutdown -y"})
final class ShutdownCommand extends AdminCommand {
  @Option(
      names = {"-y", "--yes"},
      description = "Do not ask.")
  private boolean yes;

  @Option(names = "--json", description = "Print the names of what is deleted as JSON.")
  private boolean json;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    if (!yes && !around().terminal()) {
      server.say("no terminal to ask on (expected: -y, which deletes without a question)");
      throw new Ended(ExitCode.USAGE);
    }
    ServeStatus serve = server.status();
    List<String> names =
        serve.applications().stream().map(each -> Table.oneLine(each.name())).toList();
    if (!yes && !names.isEmpty() && !around().agrees(question(names), out)) {
      throw failed("nothing was deleted");
    }
    AdminServer.Answer deleted = server.send("DELETE", "/api/serve/applications/", null);
    if (deleted.statusCode() != 200) {
      throw server.refusal(deleted);
    }
    if (json) {
      out.println(new JsonObject().put("deleted", new JsonArray(names)).encodePrettily());
    } else {
      out.println(
          names.isEmpty()
              ? "No application was deployed."
              : String.join(", ", names) + ": deleted; replicas finish what they accepted");
    }
  }

  private String question(List<String> names) {
    return "Delete " + String.join(", ", names) + " of " + server.address() + "?";
  }
}
