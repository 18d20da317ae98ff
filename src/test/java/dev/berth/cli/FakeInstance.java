package dev.berth.cli;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.berth.admin.ServeJson;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import dev.berth.view.ScalingDetails;
import dev.berth.view.ServeDetails;
import dev.berth.view.StatusTrigger;
import io.vertx.core.Future;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * An admin server that gives what it is told to and writes down what it is asked, and around the
 * command a terminal, variables and a clock that moves only while a command pauses.
 */
final class FakeInstance implements AutoCloseable {
  /** Each request: method, path and body. */
  final List<String> asked = new CopyOnWriteArrayList<>();

  /** The Authorization of each request. */
  final List<String> authorizations = new CopyOnWriteArrayList<>();

  /** The Berth-File of each request that has one. */
  final List<String> files = new CopyOnWriteArrayList<>();

  final StringWriter out = new StringWriter();
  final StringWriter err = new StringWriter();
  final Map<String, String> variables = new HashMap<>();

  /** What is typed. */
  final Deque<String> typed = new ArrayDeque<>();

  boolean terminal;

  /** Done at each pause, one after another; when there is none left, the signal to stop comes. */
  final Deque<Runnable> pauses = new ArrayDeque<>();

  /** Pauses that let time pass and nothing else. */
  int idlePauses;

  long nowNanos;

  /** What answers wait for. */
  volatile CompletableFuture<?> answersAfter = CompletableFuture.completedFuture(null);

  /** When each look that is added was, in milliseconds since 1970. */
  long atMs = 950;

  private record Answer(int status, String body) {}

  private final HttpServer server;
  private final Map<String, Deque<Answer>> answers = new HashMap<>();

  FakeInstance() {
    try {
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
    server.createContext("/", this::handle);
    server.start();
  }

  String address() {
    return "127.0.0.1:" + server.getAddress().getPort();
  }

  /** Given one after another; the last again and again. */
  synchronized FakeInstance answer(String methodAndPath, int status, String body) {
    answers.computeIfAbsent(methodAndPath, key -> new ArrayDeque<>()).add(new Answer(status, body));
    return this;
  }

  /** As {@link #answer}, in place of what was to be answered. */
  synchronized FakeInstance only(String methodAndPath, int status, String body) {
    answers.remove(methodAndPath);
    return answer(methodAndPath, status, body);
  }

  /** What a deploy comes to: a word, a name and a revision for each application. */
  static String outcome(Object... wordsNamesRevisions) {
    JsonArray all = new JsonArray();
    for (int i = 0; i < wordsNamesRevisions.length; i += 3) {
      all.add(
          new JsonObject()
              .put("change", wordsNamesRevisions[i])
              .put("name", wordsNamesRevisions[i + 1])
              .put("revision", wordsNamesRevisions[i + 2]));
    }
    return new JsonObject().put("revision", 9).put("applications", all).encode();
  }

  /** One more look at what is there. */
  FakeInstance serves(ApplicationDetails... applications) {
    return answer(
        "GET /api/v1/serve",
        200,
        ServeJson.of(
                new ServeDetails("node-1", 3, 500, atMs, null, "/var/berth", List.of(applications)))
            .encodePrettily());
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      String what = exchange.getRequestMethod() + " " + exchange.getRequestURI().getRawPath();
      String query = exchange.getRequestURI().getRawQuery();
      asked.add(what + (query == null ? "" : "?" + query) + (body.isEmpty() ? "" : " " + body));
      authorizations.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
      files.addAll(exchange.getRequestHeaders().getOrDefault("Berth-File", List.of()));
      answersAfter.join();
      Answer answer = next(what);
      byte[] bytes = answer.body.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(answer.status, bytes.length == 0 ? -1 : bytes.length);
      exchange.getResponseBody().write(bytes);
    }
  }

  private synchronized Answer next(String what) {
    Deque<Answer> all = answers.getOrDefault(what, new ArrayDeque<>());
    Answer first = all.isEmpty() ? new Answer(404, "{\"message\":\"no such path\"}") : all.peek();
    if (all.size() > 1) {
      all.remove();
    }
    return first;
  }

  /** Runs a command against it. */
  int execute(String... args) {
    List<String> all = new ArrayList<>(List.of(args));
    all.add("--address=" + address());
    CliEnvironment around =
        new CliEnvironment(
            terminal,
            variables::get,
            typed::poll,
            () -> nowNanos,
            this::pause,
            () -> new CompletableFuture<String>());
    return Main.commandLine(
            (config, stop) -> Future.failedFuture("not started here"),
            around,
            all.toArray(String[]::new))
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err, true))
        .execute(all.toArray(String[]::new));
  }

  /** Runs a command against what its arguments name. */
  static int execute(StringWriter out, StringWriter err, String... args) {
    return Main.commandLine(
            (config, stop) -> Future.failedFuture("not started here"),
            CliEnvironment.ofProcess(() -> CompletableFuture.completedFuture("none")),
            args)
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err))
        .execute(args);
  }

  private boolean pause(CompletionStage<?> stop, Duration time) {
    nowNanos += time.toNanos();
    Runnable next = pauses.poll();
    if (next != null) {
      next.run();
      return false;
    }
    return --idlePauses < 0;
  }

  List<String> lines() {
    return out.toString().lines().map(line -> line.replaceAll(" {2,}", " | ")).toList();
  }

  /** What was asked for but looks. */
  List<String> commands() {
    return asked.stream().filter(each -> !each.startsWith("GET /api/v1/serve")).toList();
  }

  static JsonObject bodyOf(String request) {
    return new JsonObject(request.substring(request.indexOf('{')));
  }

  @Override
  public void close() {
    server.stop(0);
  }

  // --- what it says ---

  static ApplicationDetails application(
      String name,
      ApplicationStatus status,
      String message,
      long revision,
      @Nullable String config,
      DeploymentDetails... deployments) {
    return new ApplicationDetails(
        name,
        "/" + name,
        deployments.length == 0 ? "" : deployments[0].name(),
        status,
        message,
        900,
        revision,
        null,
        config,
        true,
        List.of(deployments));
  }

  static DeploymentDetails deployment(
      String name,
      DeploymentStatus status,
      String message,
      int target,
      ReplicaDetails... replicas) {
    return deployment(name, status, message, target, null, List.of(replicas));
  }

  static DeploymentDetails deployment(
      String name,
      DeploymentStatus status,
      String message,
      int target,
      @Nullable ScalingDetails autoscaling,
      List<ReplicaDetails> replicas) {
    return new DeploymentDetails(
        name,
        status,
        StatusTrigger.CONFIG_UPDATE_STARTED,
        message,
        "v2",
        Map.of(),
        target,
        autoscaling,
        replicas,
        List.of());
  }

  static ReplicaDetails replica(String id, ReplicaPhase phase, String version) {
    return replica(id, phase, version, 0);
  }

  static ReplicaDetails replica(String id, ReplicaPhase phase, String version, long revision) {
    return new ReplicaDetails(id, "node-1", phase, version, revision, true, 950, "", "");
  }
}
