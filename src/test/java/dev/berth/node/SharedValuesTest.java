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
import dev.berth.fakes.StreamedHandler;
import io.vertx.core.Future;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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

  /** The ingress of an application of its own. */
  public static Application typed() {
    return Application.of(Deployment.blocking("skus", Sku.class, (sku, context) -> sku));
  }

  @ParameterizedTest
  @ValueSource(strings = {"direct", "event_bus"})
  void whatCannotChangeIsPassedAsItIsAndAllElseAsJson(String carrier) throws Exception {
    String application = "{name: %s, route_prefix: /%s, import_path: '%s:%s'}";
    String own = SharedValuesTest.class.getName();
    String config =
        """
        http_options: {host: 127.0.0.1, port: 0}
        applications: [%s, %s]
        berth: {event_loops: 3, admin: {port: 0}, messages: %s}
        """
            .formatted(
                application.formatted("front", "front", own, "build"),
                application.formatted("typed", "typed", own, "typed"),
                carrier);
    try (TestNode node = new TestNode(config)) {
      for (String path : List.of("/front/skus", "/front/relay")) {
        assertThat(node.send("POST", path, "").body())
            .as(path)
            .isEqualTo("sent true, answered true, equal true");
      }
      for (String path : List.of("/front/baskets", "/front/others", "/front/echo")) {
        assertThat(node.send("POST", path, "").body())
            .as(path)
            .isEqualTo("sent false, answered false, equal true");
      }
      assertThat(node.send("POST", "/front/streams", "").body()).isEqualTo("HandlerFailed read");

      HttpResponse<String> answer = node.send("POST", "/typed", "{\"name\":\"cod\"}");
      assertThat(answer.body()).isEqualTo("{\"name\":\"cod\"}");
      assertThat(answer.headers().firstValue("content-length")).contains("14");
      HttpResponse<String> refused = node.send("POST", "/typed", "{\"name\":[]}");
      assertThat(refused.statusCode()).isEqualTo(400);
      assertThat(refused.body()).contains("\"field\":\"name\"");
    }
  }
}
