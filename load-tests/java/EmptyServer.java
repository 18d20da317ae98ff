import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An instance that starts with no application, and is told over its admin port what to serve. */
final class EmptyServer implements AutoCloseable {
  private static final Pattern STARTED = Pattern.compile(" started in \\d+ ms");
  private static final Pattern PORTS =
      Pattern.compile(" listens on 127\\.0\\.0\\.1:(\\d+), admin on 127\\.0\\.0\\.1:(\\d+)");
  private static final Duration START_LIMIT = Duration.ofSeconds(60);
  private static final Duration STOP_LIMIT = Duration.ofSeconds(60);
  static final String APPLICATIONS = "/api/serve/applications/";

  final Process process;
  final int port;
  final URI admin;
  final Path log;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /**
   * @param jvm options of its JVM
   * @param work where its file and its log are written, and where handlers.jar is
   */
  EmptyServer(Servers servers, Path jar, Path work, String name, List<String> jvm)
      throws IOException, InterruptedException {
    Path file = work.resolve(name + ".yaml");
    Files.writeString(
        file,
        String.join(
            "\n",
            "http_options: {host: 127.0.0.1, port: 0}",
            "applications: []",
            "berth:",
            "  event_loops: 2",
            "  ephemeral: true",
            // A busy machine may keep a thread from its core for longer than the default of 100 ms.
            "  blocked_loop_after_ms: 10000",
            "  admin: {host: 127.0.0.1, port: 0}",
            ""));
    log = work.resolve(name + ".log");
    List<String> command = new ArrayList<>(List.of(Servers.java()));
    command.addAll(jvm);
    command.addAll(List.of("-jar", jar.toString(), "run", file.toString()));
    process = servers.launch(command, log);
    long giveUp = System.nanoTime() + START_LIMIT.toNanos();
    String text = "";
    while (!STARTED.matcher(text).find()) {
      if (!process.isAlive() || System.nanoTime() > giveUp) {
        throw new IOException("the server does not start; its log:\n" + text);
      }
      TimeUnit.MILLISECONDS.sleep(50);
      text = Files.readString(log);
    }
    Matcher ports = PORTS.matcher(text);
    if (!ports.find()) {
      throw new IOException("no ports in the log:\n" + text);
    }
    port = Integer.parseInt(ports.group(1));
    admin = URI.create("http://127.0.0.1:" + ports.group(2));
  }

  // --- what it is told ---

  /** Declares these applications and no others. */
  void put(JsonArray applications) throws IOException, InterruptedException {
    JsonObject whole = new JsonObject().put("applications", applications);
    expect(
        200,
        HttpRequest.newBuilder(admin.resolve(APPLICATIONS))
            .PUT(HttpRequest.BodyPublishers.ofString(whole.encode()))
            .header("Content-Type", "application/json"));
  }

  /** Declares one application, and leaves the others. */
  void putOne(String name, JsonObject entry) throws IOException, InterruptedException {
    expect(
        200,
        HttpRequest.newBuilder(admin.resolve("/api/v1/applications/" + name))
            .PUT(HttpRequest.BodyPublishers.ofString(entry.encode()))
            .header("Content-Type", "application/json"));
  }

  /** Asks for something with a POST. */
  void post(String path, JsonObject body) throws IOException, InterruptedException {
    expect(
        200,
        HttpRequest.newBuilder(admin.resolve(path))
            .POST(HttpRequest.BodyPublishers.ofString(body.encode()))
            .header("Content-Type", "application/json"));
  }

  /** Asks for the end of something, which comes later. */
  void delete(String path) throws IOException, InterruptedException {
    expect(202, HttpRequest.newBuilder(admin.resolve(path)).DELETE());
  }

  /** Applications by name, as Ray Serve's API tells them. */
  JsonObject applications() throws IOException, InterruptedException {
    return json(APPLICATIONS).getJsonObject("applications");
  }

  /** Everything, as Berth's own API tells it. */
  JsonObject details() throws IOException, InterruptedException {
    return json("/api/v1/serve");
  }

  private JsonObject json(String path) throws IOException, InterruptedException {
    return new JsonObject(expect(200, HttpRequest.newBuilder(admin.resolve(path))).body());
  }

  /** The answer of the data port to one request. */
  HttpResponse<String> ask(String path) throws IOException, InterruptedException {
    return send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)));
  }

  /** The answer of the admin port to one request. */
  HttpResponse<String> admin(String path) throws IOException, InterruptedException {
    return expect(200, HttpRequest.newBuilder(admin.resolve(path)));
  }

  private HttpResponse<String> expect(int status, HttpRequest.Builder request)
      throws IOException, InterruptedException {
    HttpResponse<String> answer = send(request);
    if (answer.statusCode() != status) {
      throw new IOException(
          answer.request().method()
              + " "
              + answer.uri()
              + ": "
              + answer.statusCode()
              + " "
              + answer.body()
              + " (expected: "
              + status
              + ")");
    }
    return answer;
  }

  private HttpResponse<String> send(HttpRequest.Builder request)
      throws IOException, InterruptedException {
    return client.send(
        request.timeout(Duration.ofSeconds(60)).build(), HttpResponse.BodyHandlers.ofString());
  }

  /**
   * Looks every 50 ms until all applications are as wanted.
   *
   * @return the seconds it took
   */
  double await(String what, Duration limit, Predicate<JsonObject> wanted)
      throws IOException, InterruptedException {
    long begun = System.nanoTime();
    JsonObject seen = applications();
    while (!wanted.test(seen)) {
      if (System.nanoTime() - begun > limit.toNanos()) {
        throw new IOException(what + ": not within " + limit + "; " + shortened(seen.encode()));
      }
      TimeUnit.MILLISECONDS.sleep(50);
      seen = applications();
    }
    return (System.nanoTime() - begun) / 1e9;
  }

  private static String shortened(String text) {
    return text.length() < 4_000 ? text : text.substring(0, 4_000) + " ...";
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (process.waitFor(STOP_LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        return;
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    process.destroyForcibly();
  }
}
