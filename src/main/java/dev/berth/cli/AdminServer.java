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
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The admin server that a command asks, and how it says that none answers. */
final class AdminServer {
  /** The exit code when no admin server answers. */
  static final int CANNOT_REACH = 3;

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** The command it is mixed into. */
  @Spec(Spec.Target.MIXEE)
  private CommandSpec spec;

  @Option(
      names = "--address",
      paramLabel = "URL",
      defaultValue = "http://" + Defaults.ADMIN_HOST + ":" + Defaults.ADMIN_PORT,
      description = {"The instance's admin server. Default:", "${DEFAULT-VALUE}"})
  private String address;

  /**
   * Asks it.
   *
   * @param path with what follows the question mark, encoded
   * @return null when there was no answer, which was then said
   */
  @Nullable HttpResponse<String> get(String path, String accept) throws InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(uri(path)).timeout(PATIENCE).header("Accept", accept).build();
    HttpClient client =
        HttpClient.newBuilder()
            .connectTimeout(PATIENCE)
            .version(HttpClient.Version.HTTP_1_1)
            .proxy(HttpClient.Builder.NO_PROXY)
            .build();
    try {
      return client.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (IOException failed) {
      String message = failed.getMessage();
      cannotReach(message == null ? failed.getClass().getSimpleName() : message);
      return null;
    }
  }

  /** Prints what came, and a status that was not expected. */
  int refuse(HttpResponse<String> response) {
    JsonObject error = json(response.body());
    cannotReach(
        "status "
            + response.statusCode()
            + (error == null ? "" : ", " + error.getValue("message"))
            + " (expected: an admin server of Berth)");
    return CANNOT_REACH;
  }

  private void cannotReach(String why) {
    spec.commandLine().getErr().println("berth: " + printable(address + ": " + why));
  }

  private URI uri(String path) {
    String base = address.contains("://") ? address : "http://" + address;
    try {
      URI uri = new URI(base.replaceAll("/+$", "") + path);
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

  static String encoded(String value) {
    return URLEncoder.encode(value, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /** Null for what is no JSON object. */
  static @Nullable JsonObject json(String body) {
    try {
      return new JsonObject(body);
    } catch (DecodeException noJson) {
      return null;
    }
  }

  /** Without what a terminal would obey: the address may be of anything. */
  static String printable(String text) {
    return text.replaceAll("[\\p{Cntrl}\\x{80}-\\x{9f}&&[^\\n]]", "?");
  }
}
