package dev.berth.web;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.Cookie;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.auth.User;
import io.vertx.ext.auth.authentication.UsernamePasswordCredentials;
import io.vertx.ext.web.FileUpload;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.BasicAuthHandler;
import io.vertx.ext.web.handler.BodyHandler;
import io.vertx.ext.web.handler.CSRFHandler;
import io.vertx.ext.web.handler.CorsHandler;
import io.vertx.ext.web.handler.FileSystemAccess;
import io.vertx.ext.web.handler.ResponseContentTypeHandler;
import io.vertx.ext.web.handler.SessionHandler;
import io.vertx.ext.web.handler.StaticHandler;
import io.vertx.ext.web.handler.TimeoutHandler;
import io.vertx.ext.web.sstore.LocalSessionStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** Routers that configurations and tests name. */
public final class WebApplications {
  /** Folder of the static files, set by a test. */
  public static volatile Path webroot = Path.of("webroot");

  /** The directory of uploads of the last shop. */
  public static volatile String uploads = "";

  /** Events of handlers that a test waits for, by name. */
  public static final Map<String, CompletableFuture<String>> EVENTS = new ConcurrentHashMap<>();

  private static final io.vertx.core.Handler<Void> FAILS =
      none -> {
        throw new IllegalStateException("a handler that fails");
      };

  private WebApplications() {}

  /** A Router with each handler of vertx-web, and a deployment that it calls. */
  public static Application shop() {
    return Application.of(
        WebDeployment.router(
                "shop",
                (router, replica) -> {
                  uploads = replica.uploads();
                  routes(router, replica.vertx(), replica.uploads());
                  router.get("/origin").handler(WebApplications::origin);
                  router
                      .get("/prices/:id")
                      .handler(
                          routing ->
                              WebDeployment.context(routing)
                                  .handle("prices")
                                  .call(Request.get("/" + routing.pathParam("id")))
                                  .compose(price -> price.bytes(100))
                                  .onSuccess(price -> routing.end(price))
                                  .onFailure(routing::fail));
                })
            .withMaxOngoingRequests(3),
        Deployment.async(
            "prices",
            (request, context) ->
                Future.succeededFuture(
                    Response.text(
                        request.path().equals("/origin")
                            ? text(context)
                            : request.path()
                                + " of "
                                + context.requestId()
                                + context.routePrefix()))));
  }

  /** The client's address, the scheme and the host of a request. */
  static String text(RequestContext context) {
    return context.clientAddress() + " " + context.scheme() + " " + context.host();
  }

  /** Answers with the origin of a request, by all that knows it. */
  private static void origin(RoutingContext routing) {
    HttpServerRequest request = routing.request();
    HttpConnection connection = request.connection();
    String own =
        String.join(
            ", ",
            request.remoteAddress().host(),
            request.absoluteURI(),
            String.valueOf(request.authority()),
            connection.remoteAddress() + " " + connection.isSsl());
    routing.response().addCookie(Cookie.cookie("safe", "1").setSecure(request.isSSL()));
    WebDeployment.context(routing)
        .handle("prices")
        .call(Request.get("/origin"))
        .compose(answer -> answer.bytes(400))
        .onSuccess(call -> routing.end(own + ", " + call))
        .onFailure(routing::fail);
  }

  private static CompletableFuture<String> event(String name) {
    return EVENTS.computeIfAbsent(name, made -> new CompletableFuture<>());
  }

  /** The routes of the shop, for an HTTP server too. */
  public static void routes(Router router, Vertx vertx, String uploads) {
    router.get("/items/:id").handler(WebApplications::item);
    router.route(HttpMethod.POST, "/only-json").consumes("application/json").handler(ok("json"));
    router.get("/only-xml").produces("application/xml").handler(ok("<a/>"));
    router
        .get("/boom")
        .handler(
            routing -> {
              throw new IllegalStateException("boom");
            });
    router
        .get("/fails")
        .handler(routing -> routing.fail(418))
        .failureHandler(
            routing -> routing.response().setStatusCode(routing.statusCode()).end("a teapot"));
    router.get("/redirect").handler(routing -> routing.redirect("/items/2"));
    router
        .get("/text")
        .handler(ResponseContentTypeHandler.create())
        .produces("text/plain")
        .handler(ok("plain"));
    router
        .get("/cookie")
        .handler(
            routing -> {
              Cookie sent = routing.request().getCookie("taste");
              routing.response().addCookie(Cookie.cookie("seen", "yes").setPath("/").setMaxAge(60));
              routing.end(sent == null ? "none" : sent.getValue());
            });
    router
        .route("/cors/*")
        .handler(
            CorsHandler.create()
                .addOrigin("http://a.example")
                .allowedMethod(HttpMethod.PUT)
                .allowedHeader("x-a")
                .maxAgeSeconds(9));
    router.get("/cors/it").handler(ok("cors"));
    router.route("/slow/*").handler(TimeoutHandler.create(60));
    router.get("/slow/never").handler(routing -> {});
    router
        .route("/private/*")
        .handler(
            BasicAuthHandler.create(
                credentials ->
                    ((UsernamePasswordCredentials) credentials).getPassword().equals("secret")
                        ? Future.succeededFuture(
                            User.fromName(
                                ((UsernamePasswordCredentials) credentials).getUsername()))
                        : Future.failedFuture("wrong"),
                "shop"));
    router.get("/private/me").handler(routing -> routing.end(routing.user().subject()));
    router
        .route("/s/*")
        .handler(
            SessionHandler.create(
                LocalSessionStore.create(vertx, "s" + System.identityHashCode(router))));
    router
        .get("/s/count")
        .handler(
            routing -> {
              int count = 1 + Objects.requireNonNullElse((Integer) routing.session().get("n"), 0);
              routing.session().put("n", count);
              routing.end("visits " + count);
            });
    router
        .get("/s/login")
        .handler(
            routing -> {
              routing.session().regenerateId();
              routing.end("new id");
            });
    router.route("/form*").handler(BodyHandler.create(uploads));
    router.route("/form*").handler(CSRFHandler.create(vertx, "a secret of thirty-two characters"));
    router.get("/form").handler(routing -> routing.end("form"));
    router.post("/form").handler(ok("posted"));
    Router inner = Router.router(vertx);
    inner
        .get("/orders/:id")
        .handler(
            routing ->
                routing.end("order " + routing.pathParam("id") + " at " + routing.mountPoint()));
    inner.post("/orders").handler(ok("ordered"));
    router.route("/v1/*").subRouter(inner);
    router
        .route("/static/*")
        .handler(
            StaticHandler.create(FileSystemAccess.ROOT, webroot.toString())
                .setCachingEnabled(false));
    router.route("/in*").handler(BodyHandler.create(uploads).setBodyLimit(2_000_000));
    router.post("/in/json").handler(routing -> routing.json(routing.body().asJsonObject()));
    router
        .post("/in/echo")
        .handler(
            routing ->
                routing.end(
                    routing.body().buffer() == null
                        ? Buffer.buffer("empty")
                        : routing.body().buffer()));
    router.post("/in/file").handler(WebApplications::file);
    router
        .post("/in/held")
        .handler(
            routing -> event("held").complete(routing.fileUploads().get(0).uploadedFileName()));
    router.get("/flood").handler(routing -> flood(routing.response().setChunked(true)));
    router
        .get("/busy")
        .handler(
            routing -> {
              long until = System.nanoTime() + 300_000_000L;
              while (System.nanoTime() < until) {
                Thread.onSpinWait();
              }
              routing.end("busy");
            });
    router
        .get("/late-end")
        .handler(
            routing -> {
              routing.response().setChunked(true).write("first");
              vertx.setTimer(50, fired -> event("late-end").thenAccept(go -> routing.end("last")));
            });
    router
        .get("/label/:name")
        .handler(
            routing ->
                routing
                    .response()
                    .putHeader("x-berth-route", "/label/" + routing.pathParam("name"))
                    .end("labelled"));
    router
        .route("/me")
        .handler(
            routing ->
                routing.end(
                    routing.request().absoluteURI() + " " + routing.request().getHeader("host")));
    router.get("/late").handler(routing -> vertx.setTimer(5, fired -> routing.end("late")));
    router
        .post("/pipe")
        .handler(
            routing -> {
              routing.response().setChunked(true);
              routing.request().pipeTo(routing.response());
            });
    router
        .post("/async-pipe")
        .handler(
            routing ->
                vertx.setTimer(5, fired -> routing.request().body().onSuccess(routing::end)));
    router
        .get("/chunks")
        .handler(
            routing -> {
              routing.response().setChunked(true).putHeader("content-type", "text/plain");
              chunk(routing, vertx, 0);
            });
    router
        .get("/blocking")
        .blockingHandler(
            routing ->
                routing.end(
                    "on "
                        + (Thread.currentThread().getName().contains("eventloop")
                            ? "loop"
                            : "worker")));
    router
        .get("/twice")
        .handler(
            routing -> {
              routing.end("once");
              try {
                routing.end("twice");
              } catch (IllegalStateException refused) {
                event("twice").complete(refused.getMessage());
              }
            });
    router
        .get("/length")
        .handler(routing -> routing.response().putHeader("content-length", "5").end("12345"));
    router
        .get("/short")
        .handler(
            routing -> {
              routing.response().putHeader("content-length", "10").write("12345");
              vertx.setTimer(5, fired -> routing.end());
            });
    router
        .get("/long")
        .handler(
            routing -> {
              routing.response().putHeader("content-length", "3").write("123");
              vertx.setTimer(5, fired -> routing.response().write("456"));
            });
    router.get("/no-content").handler(routing -> routing.response().setStatusCode(204).end());
    router.get("/status-600").handler(routing -> routing.response().setStatusCode(600).end());
    router
        .get("/fail-600")
        .handler(routing -> vertx.setTimer(1, fired -> routing.fail(600))); // a status of its own
    router.get("/polls").blockingHandler(WebApplications::poll);
    router
        .get("/broken/:where")
        .handler(
            routing ->
                vertx.setTimer(
                    1,
                    fired -> {
                      boolean atEnd = routing.pathParam("where").equals("end");
                      (atEnd ? routing.response() : routing.response().headersEndHandler(FAILS))
                          .setChunked(true);
                      if (routing.pathParam("where").equals("write")) {
                        routing.response().write("some");
                      } else {
                        routing.response().endHandler(FAILS).end("all");
                      }
                    }));
    router
        .post("/bare-upload")
        .handler(
            routing ->
                routing
                    .request()
                    .setExpectMultipart(true)
                    .uploadHandler(
                        upload -> upload.endHandler(none -> routing.end(upload.filename()))));
    router
        .post("/stored")
        .handler(
            routing ->
                routing
                    .request()
                    .setExpectMultipart(true)
                    .uploadHandler(
                        upload ->
                            upload
                                .streamToFileSystem(webroot.resolve("stored.bin").toString())
                                .onSuccess(
                                    stored -> {
                                      routing
                                          .response()
                                          .closeHandler(none -> event("left").complete("yes"));
                                      event("stored").complete("yes");
                                    })));
    router.get("/ticks").handler(WebApplications::ticks);
    router.get("/stuck").handler(routing -> event("stuck").complete("called"));
    router.get("/error-page").handler(routing -> routing.fail(new IllegalArgumentException("bad")));
    router.errorHandler(409, routing -> routing.end("conflict page"));
    router.get("/conflict").handler(routing -> routing.fail(409));
  }

  private static io.vertx.core.Handler<RoutingContext> ok(String text) {
    return routing -> routing.end(text);
  }

  private static void item(RoutingContext routing) {
    String id = routing.pathParam("id");
    if (id.equals("0")) {
      routing.next();
      return;
    }
    routing
        .response()
        .putHeader("content-type", "text/plain")
        .end("item " + id + " " + routing.queryParam("q"));
  }

  private static void chunk(RoutingContext routing, Vertx vertx, int number) {
    if (number == 3) {
      routing.end();
      return;
    }
    routing.response().write("chunk " + number + "\n");
    vertx.setTimer(3, fired -> chunk(routing, vertx, number + 1));
  }

  /** Writes until the client is slow, and then as it drains. */
  private static void flood(io.vertx.core.http.HttpServerResponse response) {
    int sent = 0;
    while (!response.writeQueueFull() && sent++ < 10_000) {
      response.write(Buffer.buffer(new byte[10_000]));
    }
    event("flood").complete(Integer.toString(sent));
    response.drainHandler(
        none -> {
          event("drained").complete("yes");
          response.end();
        });
  }

  /** Waits for the client's leave, then for the test, and does not respond. */
  private static void poll(RoutingContext routing) {
    event("polling").complete("yes");
    while (!routing.response().closed()) {
      Thread.onSpinWait();
    }
    event("polled").complete("yes");
    event("finish").join();
  }

  private static void ticks(RoutingContext routing) {
    routing.response().setChunked(true).write("tick");
    routing.response().closeHandler(none -> event("ticks").complete("closed"));
    event("ticking").complete("yes");
  }

  private static void file(RoutingContext routing) {
    List<String> parts = new ArrayList<>();
    for (FileUpload upload : routing.fileUploads()) {
      Path file = Path.of(upload.uploadedFileName());
      parts.add(
          upload.name()
              + "="
              + upload.fileName()
              + ":"
              + upload.size()
              + ":"
              + upload.contentType()
              + ":"
              + Files.exists(file));
    }
    routing.end(parts + " " + routing.request().formAttributes().get("note"));
  }
}
