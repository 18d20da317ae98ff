package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code berth shutdown}: deletes every application; the instance itself stays. */
@Command(
    name = "shutdown",
    header = "Deletes every application of an instance.",
    description = {
      "Their replicas finish what they accepted, and stop. The instance stays, with nothing to"
          + " serve; berth drain ends it."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:accepted, or there was nothing to delete",
      "1:refused, or not confirmed",
      "2:wrong usage, or neither -y nor a terminal to ask on",
      "3:no admin server answers at the address"
    },
    footerHeading = "%nExamples:%n",
    footer = {"  berth shutdown", "  berth shutdown -y"})
final class ShutdownCommand implements Callable<Integer> {
  private final Surroundings around;

  @Spec private CommandSpec spec;

  @Mixin private final AdminServer server;

  @Option(
      names = {"-y", "--yes"},
      description = "Do not ask.")
  private boolean yes;

  @Option(names = "--json", description = "Print the names of what is deleted as JSON.")
  private boolean json;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  private boolean help;

  ShutdownCommand(Surroundings around) {
    this.around = around;
    this.server = new AdminServer(around);
  }

  @Override
  public Integer call() throws InterruptedException {
    if (!yes && !around.terminal()) {
      server.say("no terminal to ask on (expected: -y, which deletes without a question)");
      return ExitCode.USAGE;
    }
    HttpResponse<String> response = server.get(ServeStatus.PATH, "application/json");
    if (response == null) {
      return AdminServer.CANNOT_REACH;
    }
    ServeStatus serve =
        response.statusCode() == 200 ? ServeStatus.of(AdminServer.json(response.body())) : null;
    if (serve == null) {
      return server.refuse(response);
    }
    List<String> names =
        serve.applications().stream().map(each -> StatusTable.oneLine(each.name())).toList();
    PrintWriter out = spec.commandLine().getOut();
    if (!yes && !names.isEmpty() && !confirmed(names, out)) {
      server.say("nothing was deleted");
      return ExitCode.SOFTWARE;
    }
    HttpResponse<String> deleted =
        server.send("DELETE", "/api/serve/applications/", null, "application/json");
    if (deleted == null) {
      return AdminServer.CANNOT_REACH;
    }
    if (deleted.statusCode() != 200) {
      return server.refusal(deleted);
    }
    if (json) {
      out.println(new JsonObject().put("deleted", new JsonArray(names)).encodePrettily());
    } else {
      out.println(
          names.isEmpty()
              ? "No application was deployed."
              : String.join(", ", names) + ": deleted; replicas finish what they accepted");
    }
    out.flush();
    return ExitCode.OK;
  }

  private boolean confirmed(List<String> names, PrintWriter out) {
    out.print("Delete " + String.join(", ", names) + " of " + server.address() + "? [y/N] ");
    out.flush();
    String answer = around.answer().get();
    return answer != null && answer.strip().toLowerCase(Locale.ROOT).matches("y(es)?");
  }
}
