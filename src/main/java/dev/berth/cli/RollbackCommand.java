package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code berth rollback}: declares an application again as it last ran healthy. */
@Command(
    name = "rollback",
    header = "Declares an application as it last ran healthy before now.",
    description = {
      "Replicas of the version that is wanted now give way to those of the earlier one as in any"
          + " other deploy, and what was deployed is what berth config then prints."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:accepted; with --wait, the application runs",
      "1:nothing to go back to, or with --wait, it did not come to run; the cause is said",
      "2:wrong usage",
      "3:no admin server answers at the address",
      "4:with --wait, it does not run in time; the instance goes on"
    },
    footerHeading = "%nExamples:%n",
    footer = {"  berth rollback shop", "  berth rollback shop --wait"})
final class RollbackCommand implements Callable<Integer> {
  private final Surroundings around;

  @Spec private CommandSpec spec;

  @Mixin private final AdminServer server;

  @Parameters(paramLabel = "APP", description = "The application.")
  private String application;

  @Mixin private WaitOptions waiting;

  @Option(names = "--json", description = "Print what became of it as JSON, at the end.")
  private boolean json;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  private boolean help;

  RollbackCommand(Surroundings around) {
    this.around = around;
    this.server = new AdminServer(around);
  }

  @Override
  public Integer call() throws InterruptedException {
    waiting.timeout(); // is checked
    HttpResponse<String> response =
        server.send(
            "POST",
            "/api/v1/applications/" + AdminServer.encoded(application) + "/rollback",
            null,
            "application/json");
    if (response == null) {
      return AdminServer.CANNOT_REACH;
    }
    JsonObject answer = response.statusCode() == 200 ? AdminServer.json(response.body()) : null;
    if (answer == null || !(answer.getValue("revision") instanceof Number revision)) {
      return server.refusal(response);
    }
    PrintWriter out = spec.commandLine().getOut();
    if (!json) {
      out.println(application + ": goes back, as revision " + revision);
    }
    Waiting.Outcome outcome =
        !waiting.isAsked()
            ? null
            : new Waiting(server, around)
                .until(
                    new Goal.Running(Map.of(application, revision.longValue())),
                    waiting.timeout(),
                    json ? null : out);
    if (json) {
      out.println(
          AdminServer.printable(
              new JsonObject()
                  .put("application", application)
                  .put("revision", revision)
                  .put("outcome", outcome == null ? "accepted" : outcome.word())
                  .put(
                      "causes",
                      new JsonArray(outcome == null ? List.of() : List.copyOf(outcome.causes())))
                  .encodePrettily()));
    }
    out.flush();
    return outcome == null ? ExitCode.OK : outcome.exitCode();
  }
}
