package dev.berth.cli;

import static java.net.HttpURLConnection.HTTP_NOT_FOUND;

import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Parameters;

/** Command {@code berth explain}: shows why a running instance routed a request as it did. */
@Command(
    name = "explain",
    header = "Shows why a request was routed as it was, and how long each phase took.",
    description = {
      "The request must be one that the instance explains: it had X-Berth-Explain: 1, or"
          + " berth.explain.sample_rate selected it. The response's X-Request-ID is its id. The"
          + " last berth.explain.ring_size explanations are stored."
    },
    exitCodeList = {"0:shown", "1:no explanation is stored for this id"},
    footer = {
      "  curl -i -H 'X-Berth-Explain: 1' -H 'X-Request-ID: mine' localhost:8000/echo",
      "  berth explain mine",
      "  berth explain mine --address http://127.0.0.1:8265",
      "  berth explain mine --json | jq '.explanations[0].phases_us'"
    })
final class ExplainCommand extends AdminCommand {
  private static final int MAX_ID_CHARS = 1_000; // clients: 128; handlers: any length

  @Parameters(paramLabel = "ID", description = "Id of the request, from X-Request-ID.")
  private String id;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    if (id.isEmpty() || id.length() > MAX_ID_CHARS) {
      String problem = "ID: %s characters (expected: 1 to %s, a request's id)";
      throw wrong(problem.formatted(id.length(), MAX_ID_CHARS));
    }
    String path = AdminHttpClient.path("requests", id, "explain") + "?format=";
    AdminHttpClient.AdminHttpReply response = server.get(path + (json ? "json" : "text"));
    if (response.statusCode() == 200) {
      out.print(AdminHttpClient.printable(response.body()));
      return;
    }
    JsonObject error = AdminHttpClient.json(response.body());
    if (response.statusCode() == HTTP_NOT_FOUND
        && error != null
        && "no_explanation".equals(error.getValue("code"))) {
      String why = error.getValue("message") + "\n" + error.getValue("detail");
      spec.commandLine().getErr().println(AdminHttpClient.printable(why));
      throw new CommandExitException(ExitCode.SOFTWARE);
    }
    throw server.refuse(response);
  }
}
