package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonValue;
import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.config.ConfigReader;
import dev.berth.fakes.StreamedHandler;
import io.vertx.core.Future;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What an instance does with typed bodies that it sends to itself, and with those from outside. */
public class SharedValuesTest {
  record Sku(String name) {}

  /** As another version of the application may have it. */
  record Named(String name) {}

  record Basket(List<Sku> skus) {}

  /** Has a JSON, but that one of a sudden has none. */
  record Odd(String text) {
    @JsonValue
    String json() {
      if (text.equals("odd")) {
        throw new IllegalStateException("no text for it");
      }
      return text;
    }
  }

  private static final Map<String, Object> RECEIVED = new ConcurrentHashMap<>();

  /** Named by the configuration. */
  public static Application build() {
    return Application.of(
        Deployment.async("front", SharedValuesTest::front),
        Deployment.blocking("skus", Sku.class, SharedValuesTest::keep),
        Deployment.async("baskets", Basket.class, (b, c) -> Future.succeededFuture(keep(b, c))),
        Deployment.blocking("others", Named.class, SharedValuesTest::keep),
        Deployment.async("relay", (request, context) -> context.handle("skus").call(request)),
        Deployment.async("streams", STREAMING).withMaxOngoingRequests(1),
        Deployment.async(
            "echo",
            (request, context) ->
                Future.succeededFuture(Response.json(200, request.bytes().toString()))));
  }

  private static final AsyncHandler STREAMING =
      (StreamedHandler)
          (request, context) -> {
            request.stream().resume();
            return Future.succeededFuture(Response.json(200, "\"read\""));
          };

  private static <T> T keep(T value, RequestContext context) {
    RECEIVED.put(context.requestId(), value);
    return value;
  }

  private static Future<Response> front(Request request, RequestContext context) {
    String to = request.path().substring("/front/".length());
    DeploymentHandle handle = context.handle(to);
    if (to.equals("streams")) {
      return handle
          .typed(Odd.class, String.class)
          .call(new Odd("well"))
          .compose(well -> handle.typed(Odd.class, String.class).call(new Odd("odd")))
          .transform((none, failure) -> Future.succeededFuture(failure.getClass().getSimpleName()))
          .compose(
              told ->
                  handle
                      .typed(Odd.class, String.class)
                      .call(new Odd("well"))
                      .map(read -> Response.text(told + " " + read)));
    }
    return to.equals("baskets")
        ? same(handle, new Basket(List.of(new Sku("cod"))), context)
        : same(handle, new Sku("cod"), context);
  }

  @SuppressWarnings("unchecked")
  private static <T> Future<Response> same(
      DeploymentHandle handle, T value, RequestContext context) {
    return handle
        .typed((Class<T>) value.getClass(), (Class<T>) value.getClass())
        .call(value)
        .map(
            back -> {
              Object received = RECEIVED.get(context.requestId());
              return Response.text(
                  "sent %s, answered %s, equal %s"
                      .formatted(received == value, back == received, back.equals(value)));
            });
  }

  private static HttpResponse<String> post(BerthNode node, String path, String body)
      throws Exception {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node.port() + path))
                .timeout(Duration.ofSeconds(10))
                .POST(BodyPublishers.ofString(body))
                .build(),
            BodyHandlers.ofString());
  }

  /** The ingress of an application of its own. */
  public static Application typed() {
    return Application.of(Deployment.blocking("skus", Sku.class, (sku, context) -> sku));
  }

  @ParameterizedTest
  @ValueSource(strings = {"direct", "event_bus"})
  void whatCannotChangeIsPassedAsItIsAndAllElseAsJson(String carrier) throws Exception {
    String application = "{name: %s, route_prefix: /%s, import_path: '%s:%s'}";
    String own = SharedValuesTest.class.getName();
    BerthNode node =
        BerthNode.start(
                ConfigReader.read(
                    "test.yaml",
                    Path.of("."),
                    """
                    http_options: {host: 127.0.0.1, port: 0}
                    applications: [%s, %s]
                    berth: {event_loops: 3, admin: {port: 0}, messages: %s}
                    """
                        .formatted(
                            application.formatted("front", "front", own, "build"),
                            application.formatted("typed", "typed", own, "typed"),
                            carrier)))
            .toCompletionStage()
            .toCompletableFuture()
            .get(20, TimeUnit.SECONDS);
    try {
      for (String path : List.of("/front/skus", "/front/relay")) {
        assertThat(post(node, path, "").body())
            .as(path)
            .isEqualTo("sent true, answered true, equal true");
      }
      for (String path : List.of("/front/baskets", "/front/others", "/front/echo")) {
        assertThat(post(node, path, "").body())
            .as(path)
            .isEqualTo("sent false, answered false, equal true");
      }
      assertThat(post(node, "/front/streams", "").body()).isEqualTo("HandlerFailed read");

      HttpResponse<String> answer = post(node, "/typed", "{\"name\":\"cod\"}");
      assertThat(answer.body()).isEqualTo("{\"name\":\"cod\"}");
      assertThat(answer.headers().firstValue("content-length")).contains("14");
      HttpResponse<String> refused = post(node, "/typed", "{\"name\":[]}");
      assertThat(refused.statusCode()).isEqualTo(400);
      assertThat(refused.body()).contains("\"field\":\"name\"");
    } finally {
      node.close().toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
    }
  }
}
