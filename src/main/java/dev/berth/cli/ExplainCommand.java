package dev.berth.cli;

import dev.berth.config.Defaults;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code berth explain}: asks a running instance why a request went where it went. */
@Command(
    name = "explain",
    header = "Shows why a request went where it went, and where its time was spent.",
    description = {
      "The instance must have explained the request: it came with X-Berth-Explain: 1, or"
          + " berth.explain.sample_rate picked it. The response's X-Request-ID is its id. The last"
          + " berth.explain.ring_size explanations are kept."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:shown",
      "1:no explanation is kept of a request with this id",
      "2:wrong usage",
      "3:no admin server answers at the address"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  curl -i -H 'X-Berth-Explain: 1' -H 'X-Request-ID: mine' localhost:8000/echo",
      "  berth explain mine",
      "  berth explain mine --address http://10.0.0.7:8265",
      "  berth explain mine --json | jq '.explanations[0].phases_us'"
    })
final class ExplainCommand implements Callable<Integer> {
  private static final int CANNOT_REACH = 3;
  private static final int NOT_FOUND = 404;
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  @Spec private CommandSpec spec;

  @Parameters(paramLabel = "ID", description = "The request's id, as in X-Request-ID.")
  private String id;

  @Option(
      names = "--address",
      paramLabel = "URL",
      defaultValue = "http://" + Defaults.ADMIN_HOST + ":" + Defaults.ADMIN_PORT,
      description = {"The instance's admin server. Default:", "${DEFAULT-VALUE}"})
  private String address;

  @Option(names = "--json", description = "Print the explanation as JSON.")
  private boolean json;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  private boolean help;

  @Override
  public Integer call() throws InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(uri())
            .timeout(PATIENCE)
            .header("Accept", json ? "application/json" : "text/plain")
            .build();
    HttpClient client =
        HttpClient.newBuilder()
            .connectTimeout(PATIENCE)
            .version(HttpClient.Version.HTTP_1_1)
            .proxy(HttpClient.Builder.NO_PROXY)
            .build();
    try {
      return print(client.send(request, HttpResponse.BodyHandlers.ofString()));
    } catch (IOException failed) {
      String message = failed.getMessage();
      return cannotReach(message == null ? failed.getClass().getSimpleName() : message);
    }
  }

  private URI uri() {
    String base = address.contains("://") ? address : "http://" + address;
    if (id.isEmpty()) {
      throw new ParameterException(spec.commandLine(), "ID: empty (expected: a request's id)");
    }
    String encoded = URLEncoder.encode(id, StandardCharsets.UTF_8).replace("+", "%20");
    try {
      URI uri = new URI(base.replaceAll("/+$", "") + "/api/v1/requests/" + encoded + "/explain");
      if (uri.getHost() != null
          && ("http".equals(uri.getScheme()) || "https".equals(uri.getScheme()))) {
        return uri;
      }
    } catch (URISyntaxException refused) {
      // said below
    }
    throw new ParameterException(
        spec.commandLine(), "--address: " + address + " (expected: as http://127.0.0.1:8265)");
  }

  private int print(HttpResponse<String> response) {
    if (response.statusCode() == 200) {
      spec.commandLine().getOut().print(printable(response.body()));
      spec.commandLine().getOut().flush();
      return ExitCode.OK;
    }
    JsonObject error = error(response.body());
    if (response.statusCode() == NOT_FOUND
        && error != null
        && "no_explanation".equals(error.getString("code"))) {
      spec.commandLine()
          .getErr()
          .println(printable(error.getString("message") + "\n" + error.getString("detail")));
      return ExitCode.SOFTWARE;
    }
    return cannotReach(
        "status "
            + response.statusCode()
            + (error == null ? "" : ", " + error.getString("message"))
            + " (expected: an admin server of Berth)");
  }

  private int cannotReach(String why) {
    spec.commandLine().getErr().println("berth: " + printable(address + ": " + why));
    return CANNOT_REACH;
  }

  private static @Nullable JsonObject error(String body) {
    try {
      return new JsonObject(body);
    } catch (DecodeException noJson) {
      return null;
    }
  }

  /** Without what a terminal would obey: the address may be of anything. */
  private static String printable(String text) {
    return text.replaceAll("[\\p{Cntrl}\\x{80}-\\x{9f}&&[^\\n]]", "?");
  }
}
