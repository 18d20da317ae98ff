package dev.berth.cli;

import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Command {@code berth scale}: sets the number of a deployment's replicas. */
@Command(
    name = "scale",
    header = "Sets the number of replicas of a deployment.",
    description = {
      "For a deployment that autoscales, pauses autoscaling until --auto. For any other, the number"
          + " holds until the next scale, or until the application is deployed with changes."
    },
    exitCodeList = {
      "0:accepted; with --wait, the replicas run",
      "1:refused, no such deployment; or with --wait: the replicas failed, and the cause is shown",
      "4:with --wait: the replicas do not run in time; the instance continues"
    },
    footer = {
      "  berth scale echo echo 4",
      "  berth scale echo echo --auto",
      "  berth scale echo echo 8 --wait --timeout-s 60"
    })
final class ScaleCommand extends MutatingCommand {
  @Parameters(index = "0", paramLabel = "APP", description = "Name of the application.")
  private String application;

  @Parameters(index = "1", paramLabel = "DEPLOYMENT", description = "Name of the deployment.")
  private String deployment;

  @Parameters(
      index = "2",
      arity = "0..1",
      paramLabel = "N",
      description = "Number of replicas; 0 stops all.")
  private @Nullable Integer replicas;

  @Option(names = "--auto", description = "Resumes autoscaling, in place of N.")
  private boolean auto;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    Integer number = replicas;
    if (auto ? number != null : number == null || number < 0) {
      throw wrong("N: " + number + " (expected: an integer of at least 0, or --auto)");
    }
    JsonObject asked = new JsonObject().put("autoscaling", auto ? "resume" : "pause");
    if (!auto) {
      asked.put("target_num_replicas", number);
    }
    String path =
        AdminHttpClient.path("applications", application, "deployments", deployment, "scale");
    AdminHttpClient.AdminHttpReply response = server.send("POST", path, asked.encode());
    if (response.statusCode() != 200) {
      throw server.refusalOf(response, application, List.of(deployment));
    }
    JsonObject answer = AdminHttpClient.json(response.body());
    String autoscaling = answer == null ? null : answer.getString("autoscaling");
    if (!json) {
      String wanted =
          number == null
              ? "as many replicas as the load requires"
              : number + (number == 1 ? " replica" : " replicas");
      String until = autoscaling == null || auto ? "" : "; autoscaling is paused until --auto";
      out.println("%s/%s: %s wanted%s".formatted(application, deployment, wanted, until));
    }
    JsonObject change =
        new JsonObject()
            .put("application", application)
            .put("deployment", deployment)
            .put("target_num_replicas", number)
            .put("autoscaling", autoscaling);
    finish(new WaitCondition.ScaledCondition(application, deployment, number), change, out);
  }
}
