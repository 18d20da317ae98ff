package dev.berth.cli;

import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.net.http.HttpResponse;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code berth rollback}: declares an application again as it last ran healthy. */
@Command(
    name = "rollback",
    header = "Declares an application as it last ran healthy before now.",
    description = {
      "Replicas of the version that is wanted now give way to those of the earlier one as in any"
          + " other deploy, and what was deployed is what berth config then prints."
    },
    exitCodeList = {
      "0:accepted; with --wait, the application runs",
      "1:nothing to go back to, or with --wait, it did not come to run; the cause is said",
      "2:wrong usage",
      "3:no admin server answers at the address",
      "4:with --wait, it does not run in time; the instance goes on"
    },
    footer = {"  berth rollback shop", "  berth rollback shop --wait"})
final class RollbackCommand extends ChangeCommand {
  @Parameters(paramLabel = "APP", description = "The application.")
  private String application;

  RollbackCommand(Surroundings around) {
    super(around);
  }

  @Override
  int run(PrintWriter out) throws InterruptedException {
    waiting.timeout(); // is checked
    HttpResponse<String> response =
        server.send(
            "POST", "/api/v1/applications/" + AdminServer.encoded(application) + "/rollback", null);
    JsonObject answer = response.statusCode() == 200 ? AdminServer.json(response.body()) : null;
    if (answer == null || !(answer.getValue("revision") instanceof Number revision)) {
      return server.refusal(response);
    }
    if (!json) {
      out.println(application + ": goes back, as revision " + revision);
    }
    Goal goal = new Goal.Running(Map.of(application, revision.longValue()));
    JsonObject change = new JsonObject().put("application", application).put("revision", revision);
    return finish(goal, change, out);
  }
}
