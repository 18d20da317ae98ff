package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.view.LogFeed;
import io.vertx.core.Future;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** An instance in this JVM, and a client of its ports. */
public final class TestNode implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(30);

  // By HTTP/2 the JDK's client gives up what is under way when it hears GOAWAY (JDK-8335181).
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  final BerthNode node;

  public TestNode(ServeConfig config) throws Exception {
    node = await(BerthNode.start(config, LogFeed.NONE, new CompletableFuture<>()));
  }

  /**
   * @param yaml with ports of its own
   */
  public TestNode(String yaml) throws Exception {
    this(read(yaml));
  }

  public static ServeConfig read(String yaml) {
    return ConfigReader.read("test.yaml", Path.of("."), yaml);
  }

  public static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
  }

  /** Looks again every few milliseconds. */
  public static void until(BooleanSupplier condition, Supplier<String> what) {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - deadline).as(what.get()).isNegative();
      new CompletableFuture<Void>().completeOnTimeout(null, 2, TimeUnit.MILLISECONDS).join();
    }
  }

  public int port() {
    return node.port();
  }

  public HttpResponse<String> get(String path, String... headers) {
    return sent(getAsync(path, headers));
  }

  HttpResponse<String> send(String method, String path, String body) {
    return sent(sendAsync(method, node.port(), path, body));
  }

  public HttpResponse<String> admin(String method, String path, String body, String... headers) {
    return sent(sendAsync(method, node.adminPort(), path, body, headers));
  }

  /** Of an instance that need not have started. */
  static HttpResponse<String> at(int port, String method, String path, String body) {
    return sent(sendAsync(method, port, path, body));
  }

  public CompletableFuture<HttpResponse<String>> getAsync(String path, String... headers) {
    return sendAsync("GET", node.port(), path, "", headers);
  }

  public HttpResponse<String> post(String path, String body, String... headers) {
    return sent(postAsync(path, body, headers));
  }

  public CompletableFuture<HttpResponse<String>> postAsync(
      String path, String body, String... headers) {
    return sendAsync("POST", node.port(), path, body, headers);
  }

  CompletableFuture<HttpResponse<String>> sendAsync(String method, String path, String... headers) {
    return sendAsync(method, node.port(), path, "", headers);
  }

  private static HttpResponse<String> sent(CompletableFuture<HttpResponse<String>> answer) {
    return answer.orTimeout(LIMIT.toSeconds(), TimeUnit.SECONDS).join();
  }

  private static CompletableFuture<HttpResponse<String>> sendAsync(
      String method, int port, String path, String body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .method(method, BodyPublishers.ofString(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return CLIENT.sendAsync(request.build(), BodyHandlers.ofString());
  }

  @Override
  public void close() {
    node.close().toCompletionStage().toCompletableFuture().orTimeout(30, TimeUnit.SECONDS).join();
  }
}
