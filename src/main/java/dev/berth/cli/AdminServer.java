package dev.berth.cli;

import static java.net.HttpURLConnection.HTTP_BAD_REQUEST;
import static java.net.HttpURLConnection.HTTP_NOT_FOUND;
import static java.net.HttpURLConnection.HTTP_UNAUTHORIZED;
import static java.util.stream.Collectors.joining;

import dev.berth.cli.CliCommand.Ended;
import dev.berth.config.AdminOptions;
import dev.berth.config.Submission;
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
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The admin server that a command asks, and how it says that none answers. By the JDK's old client,
 * which is there in 50 ms; the new one takes a cold JVM 400.
 */
final class AdminServer {
  /** What it said. */
  record Answer(int statusCode, String body) {
    /** The object that came with 200 and has this of this type; null for another answer. */
    @Nullable JsonObject with(String key, Class<?> type) {
      JsonObject json = statusCode == 200 ? json(body) : null;
      return json != null && type.isInstance(json.getValue(key)) ? json : null;
    }

    /** What is there; null for another answer. */
    @Nullable ServeStatus serve() {
      JsonObject json = with("applications", JsonArray.class);
      return json == null ? null : ServeStatus.of(json);
    }
  }

  /** The exit code when no admin server answers. */
  static final int CANNOT_REACH = 3;

  private static final String TOKEN_VARIABLE = "BERTH_TOKEN";
  private static final int PATIENCE_MS = 10_000;

  /** A change is made durable before it is answered, and may be of a thousand applications. */
  private static final int PATIENCE_WITH_CHANGES_MS = 60_000;

  /** When it is said that the answer to a change is waited for. */
  private static final int SAID_MS = 2_000;

  static {
    System.setProperty("sun.net.http.retryPost", "false"); // a rollback is not asked for twice
  }

  private @Nullable String file; // that is deployed
  private UnaryOperator<String> located = text -> text;

  /** The command it is mixed into. */
  @Spec(Spec.Target.MIXEE)
  private CommandSpec spec;

  @Option(
      names = "--address",
      paramLabel = "URL",
      defaultValue = "http://" + AdminOptions.DEFAULT_HOST + ":" + AdminOptions.DEFAULT_PORT,
      description = {"The instance's admin server. Default:", "${DEFAULT-VALUE}"})
  private String address;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = {
        "Holds the bearer token that the admin server asks for, and nothing else. Default: the"
            + " environment's BERTH_TOKEN. On the command line others would see it."
      })
  private @Nullable Path tokenFile;

  /**
   * Asks it.
   *
   * @param path with what follows the question mark, encoded
   * @throws Ended when there was none
   */
  Answer get(String path) throws InterruptedException {
    return send("GET", path, null);
  }

  /**
   * What it says of its applications.
   *
   * @throws Ended when that cannot be read
   */
  ServeStatus status() throws InterruptedException {
    Answer response = get(ServeStatus.PATH);
    ServeStatus serve = response.serve();
    if (serve == null) {
      throw refuse(response);
    }
    return serve;
  }

  /**
   * The same, when all that is named is there; else it says what is, and the command ends.
   *
   * @param deployments of the applications
   */
  ServeStatus status(List<String> applications, List<String> deployments, List<String> replicas)
      throws InterruptedException {
    ServeStatus serve = status();
    String missing = serve.missing(applications, deployments, replicas);
    if (missing != null) {
      throw command().failed(missing);
    }
    return serve;
  }

  /**
   * Asks it to do something.
   *
   * @param json sent with it; null for nothing
   * @throws Ended when there was none
   */
  Answer send(String method, String path, @Nullable String json) {
    byte[] bytes = json == null ? new byte[0] : json.getBytes(StandardCharsets.UTF_8);
    Sent sent = new Sent("application/json", bytes.length, new ByteArrayInputStream(bytes));
    try {
      return ask(method, path, json == null ? null : sent);
    } catch (IOException failed) {
      throw cannotReach(whyNot(failed));
    }
  }

  /**
   * Sends it a jar.
   *
   * @throws Ended when there was none
   */
  Answer send(String path, Path jar) {
    try (InputStream bytes = Files.newInputStream(jar)) {
      return ask("PUT", path, new Sent("application/java-archive", Files.size(jar), bytes));
    } catch (IOException failed) {
      throw cannotReach(whyNot(failed));
    }
  }

  /** What goes with a request. */
  private record Sent(String type, long length, InputStream bytes) {}

  /** Gets what is at a path, and says nothing of a failure. */
  Answer look(String path) throws IOException {
    return ask("GET", path, null);
  }

  private Answer ask(String method, String path, @Nullable Sent sent) throws IOException {
    HttpURLConnection asked = (HttpURLConnection) uri(path).toURL().openConnection(Proxy.NO_PROXY);
    asked.setRequestMethod(method);
    asked.setInstanceFollowRedirects(false);
    asked.setUseCaches(false);
    asked.setConnectTimeout(PATIENCE_MS);
    asked.setReadTimeout(method.equals("GET") ? PATIENCE_MS : PATIENCE_WITH_CHANGES_MS);
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
      asked.setFixedLengthStreamingMode(sent.length); // and is never sent twice
      try (OutputStream out = asked.getOutputStream()) {
        sent.bytes.transferTo(out);
      }
    }
    int status = method.equals("GET") ? asked.getResponseCode() : changed(asked);
    if (status < 0) {
      throw new IOException("no HTTP");
    }
    try (InputStream in =
        status < HTTP_BAD_REQUEST ? asked.getInputStream() : asked.getErrorStream()) {
      String body = in == null ? "" : new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return new Answer(status, body);
    }
  }

  private int changed(HttpURLConnection asked) throws IOException {
    CompletableFuture<Void> late =
        CompletableFuture.runAsync(
            () -> say("no answer yet; waiting for up to " + PATIENCE_WITH_CHANGES_MS / 1000 + " s"),
            CompletableFuture.delayedExecutor(SAID_MS, TimeUnit.MILLISECONDS));
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
        : message.startsWith("Connection refused") ? "nothing listens there" : message;
  }

  /**
   * Changes from now on are what this file says, and what is said of it names places in it.
   *
   * @param only the application that is deployed; null for all
   */
  void deploys(Submission submission, @Nullable String only) {
    file = submission.config().origin().uri();
    located = text -> submission.located(text, only);
  }

  /** With the places of the file that is deployed, where it tells of any. */
  String located(String message) {
    return located.apply(message);
  }

  /** Where it is, as it was given. */
  String address() {
    return address;
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
              from + ": another, not shown (expected: printable ASCII characters without a space)");
    }
    return token;
  }

  /**
   * Says why it would not: each problem on a line, as the server put it.
   *
   * @return with 2 for what was wrong in what was asked, or without a token
   */
  Ended refusal(Answer response) {
    List<String> problems = problems(response.body());
    if (response.statusCode() == HTTP_UNAUTHORIZED || problems.isEmpty()) {
      return refuse(response);
    }
    problems.forEach(this::say);
    return new Ended(
        response.statusCode() == HTTP_BAD_REQUEST ? ExitCode.USAGE : ExitCode.SOFTWARE);
  }

  /**
   * What is there.
   *
   * @param type of what stands under the key
   * @throws Ended with its refusal for another answer
   */
  JsonObject required(Answer response, String key, Class<?> type) {
    JsonObject json = response.with(key, type);
    if (json == null) {
      throw refusal(response);
    }
    return json;
  }

  /**
   * As {@link #refusal}, and of what is not there it says what is.
   *
   * @param deployments of the application
   */
  Ended refusalOf(Answer response, String application, List<String> deployments)
      throws InterruptedException {
    if (response.statusCode() == HTTP_NOT_FOUND) {
      status(List.of(application), deployments, List.of());
    }
    return refusal(response);
  }

  /** One line on standard error. */
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

  /** Says which nodes are missing from what all of them were asked for. */
  void sayUnreachable(JsonObject answer) {
    if (answer.getValue("unreachable") instanceof JsonArray nodes) {
      nodes.forEach(node -> say("node " + node + " does not answer"));
    }
  }

  /** Prints a refusal of Berth, or what came from another server and its status. */
  Ended refuse(Answer response) {
    if (response.statusCode() == HTTP_UNAUTHORIZED) {
      say("the admin server asks for a token (expected: --token-file, or " + TOKEN_VARIABLE + ")");
      return new Ended(ExitCode.USAGE);
    }
    JsonObject error = json(response.body());
    Object message = error == null ? null : error.getValue("message");
    if (message != null && !message.equals("") && error.containsKey("code")) {
      return refusal(response); // as Berth says no
    }
    String said = "status " + response.statusCode() + (error == null ? "" : ", " + message);
    return cannotReach(said + " (expected: an admin server of Berth)");
  }

  private Ended cannotReach(String why) {
    command().say(address + ": " + why);
    return new Ended(CANNOT_REACH);
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
    throw command().wrong("--address: " + address + " (expected: as http://127.0.0.1:8265)");
  }

  /** The path of the REST API that these parts make. */
  static String path(String... parts) {
    return "/api/v1/" + Stream.of(parts).map(AdminServer::encoded).collect(joining("/"));
  }

  static String encoded(String value) {
    return URLEncoder.encode(value, StandardCharsets.UTF_8).replace("+", "%20").replace("%7E", "~");
  }

  /** One for each value, {@code &name=value}. */
  static String parameters(String name, List<String> values) {
    return values.stream().map(value -> "&" + name + "=" + encoded(value)).collect(joining());
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
