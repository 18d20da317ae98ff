package dev.berth.cli;

import static java.net.HttpURLConnection.HTTP_BAD_REQUEST;
import static java.net.HttpURLConnection.HTTP_NOT_FOUND;
import static java.net.HttpURLConnection.HTTP_UNAUTHORIZED;
import static java.util.stream.Collectors.joining;

import dev.berth.cli.CliCommand.CommandExitException;
import dev.berth.config.AdminOptions;
import dev.berth.config.DeployPayload;
import dev.berth.net.tls.PemFile;
import dev.berth.net.tls.TlsFileException;
import dev.berth.net.tls.TlsMaterial;
import dev.berth.view.ControllerCommands;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * HTTP client of the admin server, which also reports that no server responds. Uses the JDK's old
 * client, which loads in 50 ms; the new one takes 400 ms in a cold JVM.
 */
final class AdminHttpClient {
  /** Response of the admin server. */
  record AdminHttpReply(int statusCode, String body) {
    /**
     * Returns the body of a 200 response that has a value of this type under the key; else null.
     */
    @Nullable JsonObject with(String key, Class<?> type) {
      JsonObject json = statusCode == 200 ? json(body) : null;
      return json != null && type.isInstance(json.getValue(key)) ? json : null;
    }

    /** Returns the status of the applications; null for another response. */
    @Nullable ServeStatus serve() {
      JsonObject json = with("applications", JsonArray.class);
      return json == null ? null : ServeStatus.of(json);
    }
  }

  /** Exit code for an admin server that does not respond. */
  static final int CANNOT_REACH = 3;

  private static final String TOKEN_VARIABLE = "BERTH_TOKEN";
  private static final int REQUEST_TIMEOUT_MS = 10_000;

  /**
   * Timeout of changes, in ms: they are durable before the response, and may affect a thousand
   * applications.
   */
  private static final int CHANGE_TIMEOUT_MS = 60_000;

  /** Delay, in ms, before the command reports that a change has no response yet. */
  private static final int NOTICE_DELAY_MS = 2_000;

  static {
    System.setProperty("sun.net.http.retryPost", "false"); // a rollback must not run twice
  }

  private @Nullable String file; // the deployed file
  private UnaryOperator<String> located = text -> text;

  /** The command that contains this mixin. */
  @Spec(Spec.Target.MIXEE)
  private CommandSpec spec;

  @Option(
      names = "--address",
      paramLabel = "URL",
      defaultValue = "http://" + AdminOptions.DEFAULT_HOST + ":" + AdminOptions.DEFAULT_PORT,
      description = {"The instance's admin server. Default:", "${DEFAULT-VALUE}"})
  String address;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = {
        "File with only the bearer token of the admin server. Default: the BERTH_TOKEN environment"
            + " variable, since other users can see a command line."
      })
  private @Nullable Path tokenFile;

  @Option(
      names = "--cacert",
      paramLabel = "FILE",
      description = {
        "CA certificates in PEM that an https address is trusted by. Default: those of the JVM."
      })
  private @Nullable Path authorities;

  /** Returns a client of an instance on this machine, for a command without the options. */
  static AdminHttpClient local(CommandSpec command, int port) {
    AdminHttpClient client = new AdminHttpClient();
    client.spec = command;
    client.address = "http://" + AdminOptions.DEFAULT_HOST + ":" + port;
    return client;
  }

  /**
   * Sends a GET request.
   *
   * @param path path with its encoded query
   * @throws CommandExitException when no server responds
   */
  AdminHttpReply get(String path) throws InterruptedException {
    return send("GET", path, null);
  }

  /**
   * Returns the status of the applications.
   *
   * @throws CommandExitException when the response is not readable
   */
  ServeStatus status() throws InterruptedException {
    AdminHttpReply response = get(ServeStatus.PATH);
    ServeStatus serve = response.serve();
    if (serve == null) {
      throw refuse(response);
    }
    return serve;
  }

  /**
   * Returns the status if all named parts exist; else prints the existing ones and ends the
   * command.
   *
   * @param deployments deployments of the applications
   */
  ServeStatus status(List<String> applications, List<String> deployments, List<String> replicas)
      throws InterruptedException {
    ServeStatus serve = status();
    String missing = serve.missing(applications, deployments, replicas);
    if (missing != null) {
      throw command().failure(missing);
    }
    return serve;
  }

  /**
   * Sends a request with a JSON body.
   *
   * @param json body; null for none
   * @throws CommandExitException when no server responds
   */
  AdminHttpReply send(String method, String path, @Nullable String json) {
    byte[] bytes = json == null ? new byte[0] : json.getBytes(StandardCharsets.UTF_8);
    AdminHttpBody sent =
        new AdminHttpBody("application/json", bytes.length, new ByteArrayInputStream(bytes));
    try {
      return ask(method, path, json == null ? null : sent);
    } catch (IOException failed) {
      throw cannotReach(whyNot(failed));
    }
  }

  /**
   * Sends a jar.
   *
   * @throws CommandExitException when no server responds
   */
  AdminHttpReply send(String path, Path jar) {
    try (InputStream bytes = Files.newInputStream(jar)) {
      return ask(
          "PUT", path, new AdminHttpBody("application/java-archive", Files.size(jar), bytes));
    } catch (IOException failed) {
      throw cannotReach(whyNot(failed));
    }
  }

  /** Body of a request. */
  private record AdminHttpBody(String type, long length, InputStream bytes) {}

  /** Sends a GET request, and leaves the report of a failure to the caller. */
  AdminHttpReply look(String path) throws IOException {
    return ask("GET", path, null);
  }

  private AdminHttpReply ask(String method, String path, @Nullable AdminHttpBody sent)
      throws IOException {
    HttpURLConnection asked = (HttpURLConnection) uri(path).toURL().openConnection(Proxy.NO_PROXY);
    if (authorities != null && asked instanceof HttpsURLConnection secure) {
      secure.setSSLSocketFactory(trusting(authorities));
    }
    asked.setRequestMethod(method);
    asked.setInstanceFollowRedirects(false);
    asked.setUseCaches(false);
    asked.setConnectTimeout(REQUEST_TIMEOUT_MS);
    asked.setReadTimeout(method.equals("GET") ? REQUEST_TIMEOUT_MS : CHANGE_TIMEOUT_MS);
    asked.setRequestProperty("Accept", "application/json");
    String token = token();
    if (token != null) {
      asked.setRequestProperty("Authorization", "Bearer " + token);
    }
    if (sent != null) {
      asked.setRequestProperty("Content-Type", sent.type);
      if (file != null) {
        asked.setRequestProperty(ControllerCommands.FILE, file);
      }
      asked.setDoOutput(true);
      asked.setFixedLengthStreamingMode(sent.length); // also prevents a second send
      try (OutputStream out = asked.getOutputStream()) {
        sent.bytes.transferTo(out);
      }
    }
    int status = method.equals("GET") ? asked.getResponseCode() : awaitChangeStatus(asked);
    if (status < 0) {
      throw new IOException("no HTTP");
    }
    try (InputStream in =
        status < HTTP_BAD_REQUEST ? asked.getInputStream() : asked.getErrorStream()) {
      String body = in == null ? "" : new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return new AdminHttpReply(status, body);
    }
  }

  private SSLSocketFactory trusting(Path file) {
    try {
      return TlsMaterial.trusting(new PemFile("", "--cacert", file).certificates());
    } catch (TlsFileException unusable) {
      throw command()
          .wrong("--cacert: " + unusable.value + " (expected: " + unusable.expected + ")");
    }
  }

  private int awaitChangeStatus(HttpURLConnection asked) throws IOException {
    CompletableFuture<Void> late =
        CompletableFuture.runAsync(
            () -> say("no response yet; waiting up to " + CHANGE_TIMEOUT_MS / 1000 + " s"),
            CompletableFuture.delayedExecutor(NOTICE_DELAY_MS, TimeUnit.MILLISECONDS));
    try {
      return asked.getResponseCode();
    } finally {
      late.cancel(false);
    }
  }

  static String whyNot(IOException failed) {
    String message = failed.getMessage();
    return message == null
        ? failed.getClass().getSimpleName()
        : message.startsWith("Connection refused")
            ? "nothing listens on this port"
            : message.startsWith("Unexpected end of file") || message.startsWith("Invalid Http")
                ? message + " (expected: https, if the server uses TLS)"
                : message;
  }

  /**
   * Sets the file of all further changes; messages then name places in this file.
   *
   * @param only the application that is deployed; null for all
   */
  void deploys(DeployPayload submission, @Nullable String only) {
    file = submission.config().origin().uri();
    located = text -> submission.located(text, only);
  }

  /** Returns a message with the places in the deployed file, if the message names a part of it. */
  String located(String message) {
    return located.apply(message);
  }

  private @Nullable String token() {
    String from = tokenFile == null ? TOKEN_VARIABLE : "--token-file";
    String token;
    try {
      token =
          tokenFile == null
              ? command().around().variables().apply(TOKEN_VARIABLE)
              : Files.readString(tokenFile);
    } catch (IOException unreadable) {
      throw command().wrong(from + ": " + tokenFile + " (expected: a readable file)");
    }
    if (token == null || (tokenFile == null && token.isEmpty())) {
      return null;
    }
    token = token.strip();
    if (token.isEmpty() || !token.chars().allMatch(c -> c > ' ' && c <= '~')) {
      throw command()
          .wrong(
              from + ": invalid, not shown (expected: printable ASCII characters without a space)");
    }
    return token;
  }

  /**
   * Prints the causes of a refusal, one problem per line, as the server worded them.
   *
   * @return the end, with exit code 2 for an invalid request or a missing token
   */
  CommandExitException refusal(AdminHttpReply response) {
    List<String> problems = problems(response.body());
    if (response.statusCode() == HTTP_UNAUTHORIZED || problems.isEmpty()) {
      return refuse(response);
    }
    problems.forEach(this::say);
    return new CommandExitException(
        response.statusCode() == HTTP_BAD_REQUEST ? ExitCode.USAGE : ExitCode.SOFTWARE);
  }

  /**
   * Returns the body of a successful response.
   *
   * @param type type of the value under the key
   * @throws CommandExitException with the refusal, for another response
   */
  JsonObject required(AdminHttpReply response, String key, Class<?> type) {
    JsonObject json = response.with(key, type);
    if (json == null) {
      throw refusal(response);
    }
    return json;
  }

  /**
   * Prints the causes of a refusal as {@link #refusal} does, and for a missing name the existing
   * names.
   *
   * @param deployments deployments of the application
   */
  CommandExitException refusalOf(
      AdminHttpReply response, String application, List<String> deployments)
      throws InterruptedException {
    if (response.statusCode() == HTTP_NOT_FOUND) {
      status(List.of(application), deployments, List.of());
    }
    return refusal(response);
  }

  /** Prints one line on standard error. */
  void say(String message) {
    command().say(located(message));
  }

  private CliCommand command() {
    return (CliCommand) spec.userObject();
  }

  static List<String> problems(String body) {
    JsonObject error = json(body);
    if (error == null) {
      return body.isBlank() || body.stripLeading().startsWith("<")
          ? List.of()
          : body.lines().filter(line -> !line.isBlank()).toList();
    }
    if (error.getValue("problems") instanceof JsonArray all && !all.isEmpty()) {
      return all.stream().map(String::valueOf).toList();
    }
    Object message = error.getValue("message", error.getValue("error"));
    return message == null ? List.of() : String.valueOf(message).lines().toList();
  }

  /** Prints the nodes that are missing in a response of all nodes. */
  void sayUnreachable(JsonObject answer) {
    if (answer.getValue("unreachable") instanceof JsonArray nodes) {
      nodes.forEach(node -> say("node " + node + " does not respond"));
    }
  }

  /** Prints a refusal of Berth, or the status of another server's response. */
  CommandExitException refuse(AdminHttpReply response) {
    if (response.statusCode() == HTTP_UNAUTHORIZED) {
      say("the admin server requires a token (expected: --token-file, or " + TOKEN_VARIABLE + ")");
      return new CommandExitException(ExitCode.USAGE);
    }
    JsonObject error = json(response.body());
    Object message = error == null ? null : error.getValue("message");
    if (message != null && !message.equals("") && error.containsKey("code")) {
      return refusal(response); // a refusal of Berth
    }
    String said = "status " + response.statusCode() + (error == null ? "" : ", " + message);
    return cannotReach(said + " (expected: an admin server of Berth)");
  }

  private CommandExitException cannotReach(String why) {
    command().say(address + ": " + why);
    return new CommandExitException(CANNOT_REACH);
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
      // reported below
    }
    throw command()
        .wrong("--address: " + address + " (expected: as http://127.0.0.1:8265, or https)");
  }

  /** Returns the REST API path of these segments. */
  static String path(String... parts) {
    return "/api/v1/" + Stream.of(parts).map(AdminHttpClient::encoded).collect(joining("/"));
  }

  static String encoded(String value) {
    return URLEncoder.encode(value, StandardCharsets.UTF_8).replace("+", "%20").replace("%7E", "~");
  }

  /** Returns one {@code &name=value} for each value. */
  static String parameters(String name, List<String> values) {
    return values.stream().map(value -> "&" + name + "=" + encoded(value)).collect(joining());
  }

  /** Returns the parsed JSON object; null for any other text. */
  static @Nullable JsonObject json(String body) {
    try {
      return new JsonObject(body);
    } catch (DecodeException noJson) {
      return null;
    }
  }

  /** Replaces control characters, since the text may come from any server. */
  static String printable(String text) {
    return text.replaceAll("[\\p{Cntrl}\\x{80}-\\x{9f}&&[^\\n]]", "?");
  }
}
