package dev.berth.admin;

import dev.berth.api.DeploymentId;
import dev.berth.config.AdminOptions;
import dev.berth.config.BearerToken;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.IngressTransport;
import dev.berth.metrics.Meters;
import dev.berth.view.ControllerCommands;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** An admin server on loopback and a client of it. */
public final class AdminClient implements AutoCloseable {
  public final Meters meters = new Meters("node-1", "127.0.0.1", "", false);
  public final int port;
  final Vertx vertx;
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** What it answers, given the meters. */
  @FunctionalInterface
  public interface Areas {
    List<AdminRoutes> of(Meters meters);
  }

  public AdminClient(AdminRoutes area) {
    this(Map.of(), meters -> List.of(new HealthRoutes(meters), area));
  }

  /** Of the commands, and how it is. */
  AdminClient(ControllerCommands commands, BiPredicate<DeploymentId, String> kill) {
    this(Map.of(), meters -> List.of(new HealthRoutes(meters), serving(commands, kill, meters)));
  }

  AdminClient(Map<String, String> secrets, Areas areas) {
    this(
        ServeConfig.DEFAULTS.with(
            AdminOptions.BEARER_TOKENS,
            secrets.entrySet().stream()
                .map(each -> BearerToken.of(each.getKey(), each.getValue()))
                .toList()),
        areas);
  }

  public AdminClient(Settings options, Areas areas) {
    this(options, areas, AdminConnections.AdminConnectionLimits.DEFAULT, Vertx.builder());
  }

  /** Reads HTTP/1 as an instance does. */
  AdminClient(Settings options, Areas areas, AdminConnections.AdminConnectionLimits limits) {
    this(options, areas, limits, IngressTransport.preferred().builder());
  }

  private AdminClient(
      Settings options,
      Areas areas,
      AdminConnections.AdminConnectionLimits limits,
      VertxBuilder builder) {
    vertx = builder.with(new VertxOptions().setEventLoopPoolSize(2)).build();
    AdminVerticle admin =
        new AdminVerticle(options.with(AdminOptions.PORT, 0), meters, areas.of(meters), limits);
    await(vertx.deployVerticle(admin));
    port = admin.port();
  }

  /** Those of the commands; {@code kill} is asked for replicas. */
  static ServeRoutes serving(
      ControllerCommands commands, BiPredicate<DeploymentId, String> kill, Meters meters) {
    HttpView http = new HttpView(ServeConfig.DEFAULTS, () -> 8000, () -> 2);
    return new ServeRoutes(
        commands, kill, new FakeTraffic(), http, List::of, meters, "1.2.3", "node-1");
  }

  public HttpResponse<String> get(String path, String... headers) {
    return send("GET", path, null, headers);
  }

  JsonObject json(String path) {
    return new JsonObject(get(path).body());
  }

  public HttpResponse<String> send(
      String method, String path, @Nullable String body, String... headers) {
    return sendAsync(
            method, path, body == null ? null : body.getBytes(StandardCharsets.UTF_8), headers)
        .orTimeout(20, TimeUnit.SECONDS)
        .join();
  }

  CompletableFuture<HttpResponse<String>> sendAsync(
      String method, String path, byte @Nullable [] body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .timeout(Duration.ofSeconds(20))
            .method(
                method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  /** Sends these bytes and reads until the server closes. */
  public String raw(String request) throws IOException {
    try (Socket socket = new Socket("127.0.0.1", port)) {
      socket.setSoTimeout(20_000);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @Override
  public void close() {
    await(vertx.close());
  }

  static <T> T await(Future<T> future) {
    return future.toCompletionStage().toCompletableFuture().orTimeout(20, TimeUnit.SECONDS).join();
  }
}
