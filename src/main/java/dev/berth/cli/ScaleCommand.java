package dev.berth.cli;

import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code berth scale}: sets the number of a deployment's replicas. */
@Command(
    name = "scale",
    header = "Sets how many replicas a deployment has.",
    description = {
      "The application must have external_scaler_enabled: true. The number holds until another is"
          + " set, or the application is deployed again."
    },
    exitCodeList = {
      "0:accepted; with --wait, that many run",
      "1:refused, or there is none of this name, or with --wait, they did not come to run; the cause is said",
      "2:wrong usage",
      "3:no admin server answers at the address",
      "4:with --wait, not that many run in time; the instance goes on"
    },
    footer = {"  berth scale echo echo 4", "  berth scale echo echo 8 --wait --timeout-s 60"})
final class ScaleCommand extends ChangeCommand {
  @Parameters(index = "0", paramLabel = "APP", description = "The application.")
  private String application;

  @Parameters(index = "1", paramLabel = "DEPLOYMENT", description = "The deployment of it.")
  private String deployment;

  @Parameters(index = "2", paramLabel = "N", description = "Replicas; 0 stops them all.")
  private int replicas;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    if (replicas < 0) {
      throw wrong("N: " + replicas + " (expected: an integer of at least 0)");
    }
    AdminServer.Answer response =
        server.send(
            "POST",
            "/api/v1/applications/%s/deployments/%s/scale"
                .formatted(AdminServer.encoded(application), AdminServer.encoded(deployment)),
            new JsonObject().put("target_num_replicas", replicas).encode());
    if (response.statusCode() != 200) {
      throw server.refusalOf(response, application, List.of(deployment));
    }
    if (!json) {
      out.println(
          "%s/%s: %s%s wanted"
              .formatted(
                  application, deployment, replicas, replicas == 1 ? " replica" : " replicas"));
    }
    JsonObject change =
        new JsonObject()
            .put("application", application)
            .put("deployment", deployment)
            .put("target_num_replicas", replicas);
    finish(new Goal.Scaled(application, deployment, replicas), change, out);
  }
}
