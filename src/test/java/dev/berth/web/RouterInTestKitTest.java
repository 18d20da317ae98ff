package dev.berth.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.testkit.TestBerth;
import dev.berth.testkit.TestBody;
import dev.berth.testkit.TestHttp;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.SessionHandler;
import io.vertx.ext.web.sstore.LocalSessionStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A Router in the test kit, by {@code TestBerth.http()}. */
class RouterInTestKitTest {
  @Test
  void routesAnswerWithoutASocket(@TempDir Path folder) throws Exception {
    Files.writeString(folder.resolve("a.txt"), "0123456789");
    WebApplications.webroot = folder;
    try (TestBerth berth =
        TestBerth.of(WebApplications.shop()).routePrefix("default", "/shop").start()) {
      assertThat(berth.http().get("/items/1").status()).isEqualTo(404);
      Response item = berth.http().get("/shop/items/1?q=x");
      assertThat(item.status()).isEqualTo(200);
      assertThat(item.headers().get("content-type")).isEqualTo("text/plain");
      assertThat(item.headers().get("x-berth-route")).isNull();
      assertThat(berth.text(item)).isEqualTo("item 1 [x]");
      assertThat(berth.http().get("/shop/nothing").status()).isEqualTo(404);
      assertThat(berth.http().get("/shop/boom").status()).isEqualTo(500);
      assertThat(berth.text(berth.http().get("/shop/prices/7"))).startsWith("/7 of ");
      assertThat(berth.text(berth.http().post("/shop/in/echo", "hello"))).isEqualTo("hello");
      assertThat(berth.text(berth.http().get("/shop/static/a.txt", "range", "bytes=2-4")))
          .isEqualTo("234");
      assertThat(berth.text(berth.http().get("/shop/s/count"))).isEqualTo("visits 1");
      assertThat(berth.text(berth.http().get("/shop/late"))).isEqualTo("late");
      String form =
          "--X\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\r\n\r\nabc\r\n--X--\r\n";
      assertThat(
              berth.text(
                  berth
                      .http()
                      .post(
                          "/shop/in/file",
                          form,
                          "content-type",
                          "multipart/form-data; boundary=X")))
          .startsWith("[a=b:3");
    }
  }

  @Test
  void applicationsDoNotShareSessions() {
    Application counting =
        Application.of(
            WebDeployment.router(
                "counting",
                (router, replica) -> {
                  router
                      .route()
                      .handler(SessionHandler.create(LocalSessionStore.create(replica.vertx())));
                  router.get().handler(RouterInTestKitTest::count);
                }));
    try (TestBerth berth = TestBerth.of(counting).with("other", counting).start()) {
      String cookie = berth.http().get("/").headers().get("set-cookie").split(";")[0];
      assertThat(berth.text(berth.http().get("/other", "cookie", cookie))).isEqualTo("1");
      assertThat(berth.text(berth.http().get("/", "cookie", cookie))).isEqualTo("2");
    }
  }

  private static void count(RoutingContext routing) {
    int count = 1 + Objects.requireNonNullElse(routing.session().<Integer>get("n"), 0);
    routing.session().put("n", count);
    routing.end(Integer.toString(count));
  }

  @Test
  void uploadsOfAFailedStartAreRemoved() {
    List<WebReplica> replicas = new CopyOnWriteArrayList<>();
    List<Path> folders = new CopyOnWriteArrayList<>();
    Application failing =
        Application.of(
            WebDeployment.router(
                "failing",
                (router, replica) -> {
                  folders.add(Path.of(replica.uploads()));
                  replicas.add(replica);
                  throw new IllegalStateException("a builder that fails");
                }));
    assertThatThrownBy(() -> TestBerth.start(failing)).isInstanceOf(IllegalStateException.class);
    assertThat(folders).isNotEmpty().allSatisfy(each -> assertThat(each).doesNotExist());
    Application late =
        Application.of(WebDeployment.router("late", (router, replica) -> replicas.set(0, replica)));
    TestBerth.start(late).close();
    assertThatThrownBy(() -> replicas.get(0).uploads()).hasMessageContaining("stopped");
  }

  @Test
  void contextHasTheLineOfItsRequest() {
    Application echo =
        Application.of(
            dev.berth.api.Deployment.async(
                "echo",
                (request, context) ->
                    Future.succeededFuture(
                        Response.text(
                            context.method()
                                + " "
                                + context.path()
                                + " "
                                + context.query()
                                + " "
                                + context.routePrefix()))));
    try (TestBerth berth = TestBerth.of(echo).routePrefix("default", "/a").start()) {
      assertThat(berth.text(berth.http().post("/a/b?c=d", "x"))).isEqualTo("POST /a/b c=d /a");
      assertThat(berth.text(berth.http().get("/a"))).isEqualTo("GET /a null /a");
    }
  }

  @Test
  void bodiesStreamInBothDirections() {
    try (TestBerth berth = TestBerth.start(WebApplications.shop())) {
      TestBody upload = new TestBody();
      Future<Response> response = berth.http().start(upload.post("/pipe"));
      upload.write("some");
      assertThat(berth.await(response).status()).isEqualTo(200);
      upload.write(" more").end();
      assertThat(berth.text(response.result())).isEqualTo("some more");
    }
  }

  @Test
  void routerKnowsTheOriginOfTheClient() {
    try (TestBerth berth =
        TestBerth.of(WebApplications.shop()).routePrefix("default", "/shop").start()) {
      assertThat(berth.text(berth.http().get("/shop/origin")))
          .isEqualTo(
              "127.0.0.1, http://localhost/shop/origin, localhost, 127.0.0.1:0 false,"
                  + " 127.0.0.1 http localhost");
      TestHttp client = berth.http().from("2001:db8::1", "https");
      Response named = client.get("/shop/origin", "host", "shop.example:8443");
      assertThat(named.headers().get("set-cookie")).endsWith("; Secure");
      assertThat(berth.text(named))
          .isEqualTo(
              "2001:db8::1, https://shop.example:8443/shop/origin, shop.example:8443,"
                  + " 2001:db8::1:0 true, 2001:db8::1 https shop.example:8443");
      Response lie =
          client.get("/shop/origin", "x-forwarded-for", "6.6.6.6", "forwarded", "host=x");
      assertThat(berth.text(lie)).startsWith("2001:db8::1, https://localhost/");
      assertThat(berth.text(berth.call("prices", Request.get("/origin"))))
          .isEqualTo(" http localhost"); // no client
    }
    Deployment typed =
        WebDeployment.routes(
            "typed",
            (routes, replica) ->
                routes.get("/", String.class, (request, context) -> WebApplications.text(context)));
    try (TestBerth berth = TestBerth.start(Application.of(typed))) {
      assertThat(berth.text(berth.http().from("192.0.2.1", "https").get("/", "host", "a:1")))
          .isEqualTo("192.0.2.1 https a:1");
    }
  }

  @Test
  void headIsBodilessAndAMissingHostIsReplaced() {
    Application echo =
        Application.of(
            WebDeployment.router(
                "echo",
                (router, replica) ->
                    router
                        .route("/host")
                        .handler(
                            routing ->
                                routing.end(
                                    routing.request().authority()
                                        + " "
                                        + routing.request().remoteAddress()))));
    try (TestBerth berth = TestBerth.start(echo)) {
      assertThat(berth.text(berth.http().get("/host"))).isEqualTo("localhost 127.0.0.1:0");
      Response head =
          berth
              .http()
              .send(
                  Request.of(
                      "HEAD", "/host", null, dev.berth.api.Headers.empty(), Buffer.buffer()));
      assertThat(berth.text(head)).isEmpty();
    }
  }
}
