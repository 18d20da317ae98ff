package dev.berth.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.testkit.TestBerth;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.handler.BodyHandler;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Typed routes in the test kit: binding, problems, statuses, documents. */
class TypedRoutesTest {
  @AutoClose private TestBerth berth;

  enum Kind {
    FISH,
    @JsonProperty("brown-bread")
    BREAD
  }

  record Item(int id, String name, Kind kind) {}

  record ItemId(int id) {}

  record Line(String sku, @JsonProperty("how_many") int count) {}

  record Order(String customer, List<Line> lines, @Nullable String note) {
    Order {
      if ("unknown".equals(customer)) {
        throw new IllegalArgumentException("customer: unknown (expected: another)");
      }
    }
  }

  record Search(
      int id,
      @DefaultValue("1") int page,
      @QueryName("page-size") @DefaultValue("20") long size,
      @HeaderName("x-tenant") String tenant,
      Optional<UUID> trace,
      List<Kind> kind,
      @Nullable LocalDate day,
      Optional<Duration> within,
      boolean exact,
      Optional<Double> price) {
    Search {
      if (page == 13) {
        throw new IllegalArgumentException("page: 13 (expected: another)");
      }
    }
  }

  private static void declare(TypedRoutes routes) {
    routes.describe("Shop <1>", "2.1");
    routes.get(
        "/items/{id}",
        ItemId.class,
        Item.class,
        (request, context) -> new Item(request.parameters().id(), "bread", Kind.BREAD));
    routes
        .get("/items", Item[].class, (request, context) -> List.of(new Item(1, "pike", Kind.FISH)))
        .summary("Lists <items>")
        .operationId("listItems");
    routes
        .post(
            "/orders", Order.class, Line.class, (request, context) -> request.body().lines().get(0))
        .status(201);
    routes.get(
        "/search/{id}",
        Search.class,
        String.class,
        (request, context) -> request.parameters().toString());
    routes.delete("/items/{id}", ItemId.class, Void.class, (request, context) -> null);
    routes.put(
        "/items/{id}",
        Line.class,
        Item.class,
        (request, context) ->
            TypedResponse.of(202, new Line(request.pathParameters().get("id"), 1))
                .withHeader("location", "/items/9"));
    routes
        .get(
            "/events",
            Response.class,
            (request, context) ->
                Response.stream("text/event-stream", writer -> writer.write("data: 1\n\n")))
        .produces("text/event-stream");
    routes.get("/wrong", Item.class, (request, context) -> "text");
    routes.get("/none", Item.class, (request, context) -> null);
    routes.patch(
        "/failing",
        Line.class,
        Void.class,
        (request, context) -> {
          throw new Exception("no");
        });
  }

  private Response call(Request request) {
    if (berth == null) {
      berth =
          TestBerth.start(
              Application.of(WebDeployment.routes("shop", (routes, replica) -> declare(routes))));
    }
    boolean head = request.method().equals("HEAD"); // the ingress sends no body
    Response response = head ? berth.http().send(request) : berth.call(request);
    berth.assertAtRest();
    return response;
  }

  private Response call(String method, String target, @Nullable String body, String... headers) {
    Request request = Request.post(target, Buffer.buffer(body == null ? "" : body));
    return call(
        Request.of(method, request.path(), request.query(), Headers.of(headers), request.body()));
  }

  private Response get(String target, String... headers) {
    return call("GET", target, null, headers);
  }

  private List<String> problems(Response response) {
    assertThat(response.status()).isEqualTo(400);
    JsonObject body = new JsonObject(berth.text(response));
    assertThat(body.getString("code")).isEqualTo("invalid_request");
    return body.getJsonArray("problems").stream()
        .map(JsonObject.class::cast)
        .map(
            each ->
                each.getString("in")
                    + " "
                    + each.getString("field")
                    + ": "
                    + each.getString("message"))
        .toList();
  }

  @Test
  void aValueBecomesJsonWithItsRouteTemplate() {
    Response response = get("/items/7");
    assertThat(response.status()).isEqualTo(200);
    assertThat(response.headers().get("content-type")).isEqualTo("application/json");
    assertThat(response.headers().all("x-berth-route")).containsExactly("/items/{id}");
    assertThat(berth.text(response))
        .isEqualTo("{\"id\":7,\"name\":\"bread\",\"kind\":\"brown-bread\"}");
    assertThat(berth.text(get("/items"))).startsWith("[{\"id\":1,");
  }

  @Test
  void parametersAreBoundByNameAndType() {
    Response response =
        get(
            "/search/7?page=3&page-size=5&trace=0f8fad5b-d9cb-469f-a165-70867728950e&kind=FISH"
                + "&kind=brown-bread&day=2026-01-31&within=PT2S&exact=true&price=1.5&unknown=1",
            "X-Tenant",
            "me");
    assertThat(berth.text(response))
        .isEqualTo(
            "Search[id=7, page=3, size=5, tenant=me, "
                + "trace=Optional[0f8fad5b-d9cb-469f-a165-70867728950e], kind=[FISH, BREAD], "
                + "day=2026-01-31, within=Optional[PT2S], exact=true, price=Optional[1.5]]");
    assertThat(response.headers().get("content-type")).isEqualTo("text/plain; charset=utf-8");
    assertThat(berth.text(get("/search/7?exact=false", "x-tenant", "")))
        .isEqualTo(
            "Search[id=7, page=1, size=20, tenant=, trace=Optional.empty, kind=[], day=null, "
                + "within=Optional.empty, exact=false, price=Optional.empty]");
  }

  @Test
  void everyProblemOfTheParametersIsNamedAtOnce() {
    Response response =
        get("/search/x?page=&page-size=1&page-size=2&trace=1-1-1-1-1&kind=FISH&kind=EEL&price=NaN");
    assertThat(problems(response))
        .containsExactly(
            "path id: x (expected: a whole number)",
            "query page:  (expected: a whole number)",
            "query page-size: 2 values (expected: one)",
            "header x-tenant: missing (expected: a value)",
            "query trace: 1-1-1-1-1 (expected: a UUID)",
            "query kind: EEL (expected: one of [FISH, brown-bread])",
            "query exact: missing (expected: a value)",
            "query price: NaN (expected: a number)");
    assertThat(response.headers().get("x-berth-route")).isEqualTo("/search/{id}");
    assertThat(problems(get("/search/1?page=13&exact=true", "x-tenant", "a")))
        .containsExactly("query : page: 13 (expected: another)");
  }

  @Test
  void aBodyIsReadAndItsStatusIsTheRoutes() {
    Response response =
        call("POST", "/orders", "{\"customer\":\"a\",\"lines\":[{\"sku\":\"b\",\"how_many\":2}]}");
    assertThat(response.status()).isEqualTo(201);
    assertThat(berth.text(response)).isEqualTo("{\"sku\":\"b\",\"how_many\":2}");
  }

  @Test
  void everyProblemOfTheBodyIsNamedAtOnce() {
    List<String> problems =
        problems(
            call(
                "POST",
                "/orders",
                "{\"lines\":[{\"sku\":\"b\",\"how_many\":\"x\"},{\"how_many\":null},3],\"more\":1}"));
    assertThat(problems).hasSize(6);
    assertThat(problems.get(0)).isEqualTo("body customer: missing (expected: a value)");
    assertThat(problems.get(1)).startsWith("body lines[0].how_many: ");
    assertThat(problems.get(2)).isEqualTo("body lines[1].sku: missing (expected: a value)");
    assertThat(problems.get(3)).isEqualTo("body lines[1].how_many: missing (expected: a value)");
    assertThat(problems.get(4)).isEqualTo("body lines[2]: not an object (expected: Line)");
    assertThat(problems.get(5)).isEqualTo("body more: unknown (expected: [customer, lines, note])");
  }

  @Test
  void absentReferencesAreProblemsThoughJacksonReadsThem() {
    assertThat(problems(call("POST", "/orders", "{\"lines\":[null]}")))
        .containsExactly(
            "body customer: missing (expected: a value)",
            "body lines[0]: missing (expected: a value)");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "{", "[]", "3", "{\"customer\":\"unknown\",\"lines\":[]}", "{} {}"})
  void aBodyOfAnotherFormHasAtLeastOneProblem(String body) {
    assertThat(problems(call("POST", "/orders", body)))
        .isNotEmpty()
        .allMatch(e -> e.startsWith("body "));
  }

  @ParameterizedTest
  @CsvSource({
    "GET,/nothing,404,",
    "GET,/items/,404,",
    "GET,/items/..,404,",
    "POST,/items/7,405,'DELETE, GET, HEAD, OPTIONS, PUT'",
    "POST,/orders/x,404,",
    "GET,/orders,405,'OPTIONS, POST'",
    "OPTIONS,/items/7,204,'DELETE, GET, HEAD, OPTIONS, PUT'",
    "HEAD,/items/7,200,",
    "HEAD,/events,200,",
    "DELETE,/items/7,204,",
    "TRACE,/items,405,'GET, HEAD, OPTIONS'"
  })
  void methodsAndPathsDecideTheStatus(String method, String path, int status, String allow) {
    Response response = call(method, path, null);
    assertThat(response.status()).isEqualTo(status);
    assertThat(response.headers().get("allow")).isEqualTo(allow);
    if (status >= 400) {
      assertThat(new JsonObject(berth.text(response)).getString("code")).isNotEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "application/json|200",
        "*/*|200",
        "text/html, application/*;q=0.5|200",
        "text/html|406",
        "application/json;q=0, */*|406",
        "application/json; q=0.001|200",
        "garbage|406"
      })
  void acceptDecidesBetween200And406(String accept, int status) {
    assertThat(get("/items/7", "accept", accept).status()).isEqualTo(status);
  }

  @ParameterizedTest
  @CsvSource({
    "application/json,201",
    "Application/JSON; charset=utf-8,201",
    "application/merge-patch+json,201",
    "application/x-www-form-urlencoded,415",
    "text/plain,415"
  })
  void contentTypeDecidesBetween201And415(String type, int status) {
    String body = "{\"customer\":\"a\",\"lines\":[{\"sku\":\"b\",\"how_many\":2}]}";
    assertThat(call("POST", "/orders", body, "content-type", type).status()).isEqualTo(status);
  }

  @Test
  void aTypedResponseHasItsStatusAndHeaders() {
    Response response = call("PUT", "/items/a%2Fb", "{\"sku\":\"b\",\"how_many\":2}");
    assertThat(response.status()).isEqualTo(202);
    assertThat(response.headers().get("location")).isEqualTo("/items/9");
    assertThat(berth.text(response)).isEqualTo("{\"sku\":\"a/b\",\"how_many\":1}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/wrong", "/none"})
  void aResultOfAnotherClassFailsTheRequest(String path) {
    assertThatThrownBy(() -> get(path)).hasMessageContaining("shop");
    assertThat(berth.handlerFailures().get(0)).hasMessageContaining("(expected: Item, ");
  }

  @Test
  void anExceptionOfTheFunctionFailsTheRequest() {
    assertThatThrownBy(() -> call("PATCH", "/failing", "{\"sku\":\"b\",\"how_many\":2}"))
        .hasMessageContaining("shop");
    assertThat(berth.handlerFailures().get(0)).hasMessage("no");
  }

  @Test
  void futuresAndBlockingFunctionsRespondAlike() {
    berth =
        TestBerth.start(
            Application.of(
                WebDeployment.routes(
                    "shop",
                    (routes, replica) ->
                        routes
                            .get(
                                "/a",
                                ItemId.class,
                                Item.class,
                                (request, context) ->
                                    context.handle("blocking").call(request.http()))
                            .produces("application/vnd.shop+json")),
                WebDeployment.blockingRoutes(
                    "blocking",
                    (routes, replica) ->
                        routes.get(
                            "/a",
                            ItemId.class,
                            Item.class,
                            (request, context) ->
                                new Item(request.parameters().id(), "x", Kind.FISH)))));
    assertThat(berth.text(get("/a?id=4"))).contains("\"id\":4");
    assertThat(get("/a?id=4").headers().all("x-berth-route")).containsExactly("/a");
    assertThat(problems(get("/a?id=y"))).hasSize(1);
    assertThat(call("HEAD", "/a?id=4", null).status()).isEqualTo(200);
    assertThat(get("/a?id=4", "accept", "application/json").status()).isEqualTo(406);
  }

  @Test
  void textOfATypedResponseIsJsonUnlessTheRouteHasText() {
    berth =
        TestBerth.start(
            Application.of(
                WebDeployment.routes(
                    "shop",
                    (routes, replica) -> {
                      routes.get(
                          "/void", Void.class, (request, context) -> TypedResponse.of(404, "no"));
                      routes
                          .get(
                              "/events",
                              Response.class,
                              (request, context) -> TypedResponse.of(404, "no"))
                          .produces("text/event-stream");
                      routes.get(
                          "/text", String.class, (request, context) -> TypedResponse.of(404, "no"));
                    })));
    for (String path : List.of("/void", "/events")) {
      Response response = get(path);
      assertThat(response.headers().all("content-type")).containsExactly("application/json");
      assertThat(berth.text(response)).isEqualTo("\"no\"");
    }
    Response text = get("/text");
    assertThat(text.headers().get("content-type")).isEqualTo("text/plain; charset=utf-8");
    assertThat(berth.text(text)).isEqualTo("no");
  }

  @Test
  void routesMountIntoARouter() {
    berth =
        TestBerth.start(
            Application.of(
                WebDeployment.router(
                    "shop",
                    (router, replica) -> {
                      router.route("/orders").handler(BodyHandler.create(false));
                      router
                          .route()
                          .handler(
                              routing -> {
                                routing.response().putHeader("x-router", "yes");
                                routing.next();
                              });
                      WebDeployment.mount(router, replica, (routes, same) -> declare(routes));
                      router.get("/last").handler(routing -> routing.end("of the Router"));
                      router.errorHandler(
                          500, routing -> routing.response().setStatusCode(503).end());
                    })));
    Response item = berth.http().get("/items/7");
    assertThat(berth(item)).startsWith("{\"id\":7,");
    assertThat(item.headers().get("x-router")).isEqualTo("yes");
    assertThat(item.headers().all("content-type")).containsExactly("application/json");
    assertThat(berth(berth.http().get("/events"))).isEqualTo("data: 1\n\n");
    assertThat(berth(berth.http().get("/last"))).isEqualTo("of the Router");
    assertThat(berth.http().get("/nothing").status()).isEqualTo(404);
    assertThat(berth.http().get("/wrong").status()).isEqualTo(503);
    String order = "{\"customer\":\"a\",\"lines\":[{\"sku\":\"b\",\"how_many\":2}]}";
    assertThat(berth.http().post("/orders", order).status()).isEqualTo(201);
    assertThat(berth.http().post("/orders", "").status()).isEqualTo(400);
    Request put = Request.post("/items/7", Buffer.buffer("{\"sku\":\"b\",\"how_many\":2}"));
    put = Request.of("PUT", put.path(), null, Headers.of("host", "localhost"), put.body());
    assertThat(berth.http().send(put).headers().get("location")).isEqualTo("/items/9");
    assertThat(berth(berth.http().get("/openapi.json"))).contains("listItems");
    Response labelled = berth.call(Request.get("/items/7"));
    assertThat(labelled.headers().all("x-berth-route")).containsExactly("/items/{id}");
    berth.assertAtRest();
  }

  @Test
  void conflictingRoutesDoNotStart() {
    Deployment twice =
        WebDeployment.routes(
            "twice",
            (routes, replica) -> {
              routes.get("/a/{x}", String.class, (request, context) -> "");
              routes.get("/a/{y}", String.class, (request, context) -> "");
            });
    assertThatThrownBy(() -> TestBerth.start(Application.of(twice)))
        .hasStackTraceContaining("GET /a/{y} (TypedRoutesTest.java:")
        .hasStackTraceContaining("conflicts with GET /a/{x} (TypedRoutesTest.java:");
  }

  record Unfit(Map<String, String> all) {}

  @Test
  void aParameterOfAnUnfitTypeDoesNotStart() {
    Deployment unfit =
        WebDeployment.routes(
            "unfit",
            (routes, replica) ->
                routes.get("/a", Unfit.class, String.class, (request, context) -> ""));
    assertThatThrownBy(() -> TestBerth.start(Application.of(unfit)))
        .hasStackTraceContaining("parameter all: Map (expected: a scalar");
  }

  record Unset(@DefaultValue("many") int count) {}

  @Test
  void anInvalidDefaultDoesNotStart() {
    Deployment unset =
        WebDeployment.routes(
            "unset",
            (routes, replica) ->
                routes.get("/a", Unset.class, String.class, (request, context) -> ""));
    assertThatThrownBy(() -> TestBerth.start(Application.of(unset)))
        .hasStackTraceContaining("parameter count: default many (expected: a whole number)");
  }

  @Test
  void documentsAreServed() {
    JsonObject document = new JsonObject(berth(get("/openapi.json")));
    assertThat(document.getJsonObject("info").getString("title")).isEqualTo("Shop <1>");
    assertThat(document.getJsonArray("servers"))
        .isEqualTo(new JsonArray().add(new JsonObject().put("url", "/")));
    Response page = get("/docs", "accept", "text/html");
    assertThat(berth(page)).contains("docs/start.js", "openapi.json").doesNotContain("swagger-ui");
    assertThat(page.headers().get("content-security-policy")).startsWith("default-src 'self'");
    Response script = get("/docs/start.js");
    assertThat(berth(script)).contains("SwaggerUIBundle");
    String tag = script.headers().get("etag");
    assertThat(get("/docs/start.js", "if-none-match", tag).status()).isEqualTo(304);
    assertThat(get("/docs/swagger-ui.css").status()).isEqualTo(404);
    assertThat(get("/docs/..%2Fdocs.html").status()).isEqualTo(404);
  }

  @Test
  void filesOfSwaggerUiComeFromTheJarsOfTheApplication(@TempDir Path folder) throws Exception {
    Path maven = folder.resolve("META-INF/maven/org.webjars/swagger-ui");
    Path files = folder.resolve("META-INF/resources/webjars/swagger-ui/5.34.1");
    Files.createDirectories(maven);
    Files.createDirectories(files);
    Files.writeString(maven.resolve("pom.properties"), "artifactId=swagger-ui\nversion=5.34.1\n");
    Files.writeString(files.resolve("swagger-ui.css"), "css");
    Files.writeString(files.resolve("secret.js"), "no");
    URL[] urls = {folder.toUri().toURL()};
    try (URLClassLoader loader = new URLClassLoader(urls, null)) {
      Map<String, Buffer> found = DocumentRoutes.filesOf(loader);
      assertThat(found).containsOnlyKeys("start.js", "swagger-ui.css");
      assertThat(found.get("swagger-ui.css").toString()).isEqualTo("css");
    }
  }

  private String berth(Response response) {
    assertThat(response.status()).isEqualTo(200);
    return berth.text(response);
  }

  @Test
  void documentsCanBeRemoved() {
    berth =
        TestBerth.start(
            Application.of(
                WebDeployment.routes(
                    "bare",
                    (routes, replica) -> {
                      routes.withoutDocuments();
                      routes.get(
                          "/a", String.class, (request, context) -> Future.succeededFuture("b"));
                    })));
    assertThat(berth(get("/a"))).isEqualTo("b");
    assertThat(get("/openapi.json").status()).isEqualTo(404);
    assertThat(get("/docs").status()).isEqualTo(404);
  }
}
