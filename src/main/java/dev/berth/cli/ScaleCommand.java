package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code berth scale}: sets the number of a deployment's replicas. */
@Command(
    name = "scale",
    header = "Sets how many replicas a deployment has.",
    description = {
      "The application must have external_scaler_enabled: true. The number holds until another is"
          + " set, or the application is deployed again."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:accepted; with --wait, that many run",
      "1:refused, or with --wait, they did not come to run; the cause is said",
      "2:wrong usage",
      "3:no admin server answers at the address",
      "4:with --wait, not that many run in time; the instance goes on"
    },
    footerHeading = "%nExamples:%n",
    footer = {"  berth scale shop cart 4", "  berth scale shop cart 8 --wait --timeout-s 60"})
final class ScaleCommand implements Callable<Integer> {
  private final Surroundings around;

  @Spec private CommandSpec spec;

  @Mixin private final AdminServer server;

  @Parameters(index = "0", paramLabel = "APP", description = "The application.")
  private String application;

  @Parameters(index = "1", paramLabel = "DEPLOYMENT", description = "The deployment of it.")
  private String deployment;

  @Parameters(index = "2", paramLabel = "N", description = "Replicas; 0 stops them all.")
  private int replicas;

  @Mixin private WaitOptions waiting;

  @Option(names = "--json", description = "Print what became of it as JSON, at the end.")
  private boolean json;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  private boolean help;

  ScaleCommand(Surroundings around) {
    this.around = around;
    this.server = new AdminServer(around);
  }

  @Override
  public Integer call() throws InterruptedException {
    waiting.timeout(); // is checked
    if (replicas < 0) {
      throw new ParameterException(
          spec.commandLine(), "N: " + replicas + " (expected: an integer of at least 0)");
    }
    HttpResponse<String> response =
        server.send(
            "POST",
            "/api/v1/applications/"
                + AdminServer.encoded(application)
                + "/deployments/"
                + AdminServer.encoded(deployment)
                + "/scale",
            new JsonObject().put("target_num_replicas", replicas).encode(),
            "application/json");
    if (response == null) {
      return AdminServer.CANNOT_REACH;
    }
    if (response.statusCode() != 200) {
      return server.refusal(response);
    }
    PrintWriter out = spec.commandLine().getOut();
    if (!json) {
      out.println(
          application
              + "/"
              + deployment
              + ": "
              + replicas
              + (replicas == 1 ? " replica" : " replicas")
              + " wanted");
    }
    Waiting.Outcome outcome =
        !waiting.isAsked()
            ? null
            : new Waiting(server, around)
                .until(
                    new Goal.Scaled(application, deployment, replicas),
                    waiting.timeout(),
                    json ? null : out);
    if (json) {
      out.println(
          AdminServer.printable(
              new JsonObject()
                  .put("application", application)
                  .put("deployment", deployment)
                  .put("target_num_replicas", replicas)
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
