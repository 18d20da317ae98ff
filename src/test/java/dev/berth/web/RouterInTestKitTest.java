package dev.berth.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Application;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.testkit.TestBerth;
import dev.berth.testkit.TestBody;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.nio.file.Files;
import java.nio.file.Path;
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
      assertThat(berth.text(berth.http().get("/host"))).isEqualTo("localhost 0.0.0.0:0");
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
