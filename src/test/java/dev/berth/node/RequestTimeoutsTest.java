package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigReader;
import io.vertx.core.Future;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whose {@code request_timeout_s} a request by HTTP has. */
class RequestTimeoutsTest {
  private static @Nullable BerthNode node;
  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  private static BerthNode node() {
    BerthNode started = node;
    if (started == null) {
      throw new IllegalStateException("node: null (expected: a started one)");
    }
    return started;
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }

  @BeforeAll
  static void start() throws Exception {
    String of = "{name: %1$s, route_prefix: /%1$s, import_path: '%2$s:never', %3$s}";
    String code = "dev.berth.node.TestApplications";
    node =
        await(
            BerthNode.start(
                ConfigReader.read(
                    "test.yaml",
                    Path.of("."),
                    """
                    http_options: {host: 127.0.0.1, port: 0, request_timeout_s: 0.3}
                    applications: [%s, %s, %s]
                    berth: {event_loops: 1, admin: {port: 0}}
                    """
                        .formatted(
                            of.formatted("plain", code, "args: {}"),
                            of.formatted("app", code, "berth: {request_timeout_s: 0.2}"),
                            of.formatted(
                                "both",
                                code,
                                "berth: {request_timeout_s: 0.2}, deployments: [{name: never, berth:"
                                    + " {request_timeout_s: 0.1}}]")))));
  }

  @AfterAll
  static void stop() throws Exception {
    await(node().close());
  }

  private static HttpResponse<String> ask(String path, String... headers) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node().port() + path));
    return CLIENT.send(
        (headers.length == 0 ? request : request.headers(headers)).build(),
        BodyHandlers.ofString());
  }

  @ParameterizedTest
  @CsvSource({"/plain, 0.3", "/app, 0.2", "/both, 0.1"})
  void theNearestScopeThatSaysOneWins(String path, String seconds) throws Exception {
    HttpResponse<String> answer = ask(path);
    assertThat(answer.statusCode()).isEqualTo(408);
    assertThat(answer.body()).endsWith(" timed out after " + seconds + "s.");
  }

  @Test
  void theClientsHeaderGoesBeforeAllOfThem() throws Exception {
    assertThat(ask("/both", "x-request-timeout-seconds", "0.15").body())
        .endsWith(" timed out after 0.15s.");
    assertThat(ask("/both", "x-request-timeout-seconds", "soon").body())
        .as("what is no number is ignored")
        .endsWith(" timed out after 0.1s.");
  }

  @Test
  void whoSpentItsOwnBudgetIsAnsweredSoAndAtOnce() throws Exception {
    HttpResponse<String> answer = ask("/plain/spent", "x-request-timeout-seconds", "60");
    assertThat(answer.statusCode()).isEqualTo(408);
    assertThat(answer.body()).endsWith(" timed out.");
  }
}
