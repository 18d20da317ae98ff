package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.AdminOptions;
import dev.berth.config.ServeConfig;
import dev.berth.ingress.RawHttp2;
import dev.berth.protocol.port.Reservations;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.SocketAddress;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * HTTP on the admin port: its versions, HEAD, whom it is asked for, and where a stranger is led.
 */
@Timeout(30)
class AdminHttpIT {
  private static final String PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  /** What came back, whichever version it came by. */
  private record Got(int status, String version, Buffer body) {}

  @AutoClose private static final AdminClient HTTP1 = admin(false);
  @AutoClose private static final AdminClient HTTP2 = admin(true);

  /** Kept here, for one that nobody refers to is closed. */
  private static final HttpClientAgent BY_HTTP2 =
      HTTP2.vertx.createHttpClient(
          new HttpClientOptions()
              .setProtocolVersion(HttpVersion.HTTP_2)
              .setHttp2ClearTextUpgrade(false));

  private static AdminClient admin(boolean http2) {
    return new AdminClient(
        ServeConfig.DEFAULTS.with(AdminOptions.HTTP2, http2),
        meters ->
            List.of(
                new HealthRoutes(meters),
                AdminClient.serving(new FakeCommands(), (deployment, replica) -> false, meters),
                new EndpointRoutes("/api/v1/applications/*", reservations())));
  }

  /** Never asked: only its paths are looked at. */
  private static ReservationEndpoint reservations() {
    Reservations none =
        (Reservations)
            Proxy.newProxyInstance(
                Reservations.class.getClassLoader(),
                new Class<?>[] {Reservations.class},
                (proxy, method, arguments) -> {
                  throw new AssertionError(method.getName());
                });
    ReservationBody bodies = new ReservationBody(Duration.ZERO, Duration.ZERO, 1);
    return new ReservationEndpoint(none, bodies, null, () -> 8000, () -> false);
  }

  /** Asks by HTTP/2, by prior knowledge, under any name. */
  private static Got ask2(HttpMethod method, String path, String host) {
    RequestOptions options =
        new RequestOptions()
            .setServer(SocketAddress.inetSocketAddress(HTTP2.port, "127.0.0.1"))
            .setHost(host)
            .setPort(HTTP2.port)
            .setMethod(method)
            .setURI(path);
    return AdminClient.await(
        BY_HTTP2.request(options).compose(request -> request.send("{}")).compose(AdminHttpIT::got));
  }

  private static io.vertx.core.Future<Got> got(HttpClientResponse answer) {
    return answer
        .body()
        .map(body -> new Got(answer.statusCode(), answer.version().alpnName(), body));
  }

  private static String ask(String method, String path, String... headers) throws IOException {
    String head = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    return HTTP1.raw(head + String.join("", headers) + "\r\n");
  }

  @Test
  void aNameOfAnotherMachineIsRefusedByHttp2Too() {
    for (HttpMethod method : List.of(HttpMethod.GET, HttpMethod.PUT)) {
      Got refused = ask2(method, "/api/serve/applications/", "evil.example");
      assertThat(refused.status()).isEqualTo(403);
      assertThat(refused.body().toJsonObject().getString("code")).isEqualTo("host_not_allowed");
    }
    Got own = ask2(HttpMethod.GET, "/api/ray/version", "localhost");
    assertThat(own.status()).isEqualTo(200);
    assertThat(own.version()).isEqualTo("h2");
  }

  @Test
  void http2IsNotSpokenUnlessItIsAskedFor() throws Exception {
    assertThat(HTTP1.raw(PREFACE)).startsWith("HTTP/2.0 501 "); // in the form of HTTP/1
    String upgrade =
        ask(
            "GET",
            "/-/healthz",
            "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
            "Connection: Upgrade, HTTP2-Settings\r\n");
    assertThat(upgrade).startsWith("HTTP/1.1 200 OK").endsWith("success");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"/", "/-/healthz", "/metrics", "/api/ray/version", "/api/serve/applications/"})
  void headIsTheHeadOfGet(String path) throws Exception {
    String head = ask("HEAD", path);
    String get = ask("GET", path);
    assertThat(head).startsWith("HTTP/1.1 200 OK").endsWith("\r\n\r\n");
    assertThat(get).startsWith("HTTP/1.1 200 OK").doesNotEndWith("\r\n\r\n");
    assertThat(typeOf(head)).isEqualTo(typeOf(get));
  }

  private static String typeOf(String answer) {
    return answer
        .lines()
        .filter(line -> line.startsWith("content-type"))
        .findFirst()
        .orElseThrow(() -> new AssertionError("content-type: none in " + answer));
  }

  @Test
  void theRootListsThePathsWithTheirMethods() {
    JsonObject paths = HTTP1.json("/").getJsonObject("paths");
    String application = "/api/v1/applications/{application}";
    String token = application + "/deployments/{deployment}/reservations/{token}";
    assertThat(paths.getJsonArray("/metrics")).isEqualTo(new JsonArray().add("GET"));
    assertThat(paths.getJsonArray("/api/serve/applications/").encode())
        .isEqualTo("[\"DELETE\",\"GET\",\"PUT\"]");
    assertThat(paths.getJsonArray(application + "/rollback").encode()).isEqualTo("[\"POST\"]");
    assertThat(paths.getJsonArray(token).encode()).isEqualTo("[\"DELETE\",\"PATCH\"]");
    assertThat(paths.fieldNames()).noneMatch(path -> path.contains("*") || path.contains(":"));
  }

  @ParameterizedTest
  @CsvSource({"GET, /api/v1/nothing", "POST, /nothing", "HEAD, /nothing"})
  void aStrangerIsLedToThePathsThatAre(String method, String path) throws Exception {
    String answer = ask(method, path);
    assertThat(answer).startsWith("HTTP/1.1 404");
    if (!method.equals("HEAD")) {
      assertThat(answer).contains("GET / lists the paths", "http_options.port");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "GET, http, 9000, headers_too_large",
    "GET, http, 10500, headers_too_large",
    "GET, http, 32500, headers_too_large",
    "G T, http, 1, bad_request",
    "GET, ftp, 1, bad_request",
    "TRACE, http, 1, method_not_allowed",
    "POST, http, 9000, headers_too_large"
  })
  void malformedHeadEndsItsStreamAloneOnTheAdminPort(
      String method, String scheme, int bytes, String code) throws Exception {
    String[] head = {
      ":method",
      method,
      ":scheme",
      scheme,
      ":path",
      "/",
      ":authority",
      "localhost",
      "a",
      "x".repeat(bytes)
    };
    try (RawHttp2 raw = new RawHttp2(HTTP2.port)) {
      for (int stream = 1; stream < 7; stream += 2) {
        raw.headers(stream, !method.equals("POST"), head);
        assertThat(raw.next(RawHttp2.DATA, stream).text()).contains(code);
      }
      raw.headers(7, true, ":method", "CONNECT", ":authority", "localhost:1");
      assertThat(raw.next(RawHttp2.DATA, 7).text()).contains("method_not_allowed");
      raw.headers(
          9,
          true,
          ":method",
          "GET",
          ":scheme",
          "http",
          ":path",
          "/-/healthz",
          ":authority",
          "localhost");
      assertThat(raw.next(RawHttp2.DATA, 9).text()).isEqualTo("success");
    }
  }

  @Test
  void limitOfHeadersIsAnnouncedAsItIs() throws Exception {
    try (RawHttp2 raw = new RawHttp2(HTTP2.port)) {
      byte[] last = {};
      for (int i = 0; i < 3; i++) { // the server's, its acknowledgement, the limit
        byte[] settings = raw.next(RawHttp2.SETTINGS).payload();
        last = settings.length == 0 ? last : settings;
      }
      assertThat(last).containsExactly(0, 6, 0, 0, 0x20, 0); // 8192
    }
  }
}
