package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.config.Backpressure;
import dev.berth.config.HttpOptions;
import dev.berth.config.LogEncoding;
import dev.berth.ingress.access.AccessLog;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the access log says of requests over real sockets. */
class AccessLogIT {
  private static final Duration SHORT = Duration.ofSeconds(1);

  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final AccessLog log = new AccessLog(100, System::currentTimeMillis, lines::add);
  private final Thread writer = new Thread(log, "writer");
  @AutoClose private IngressRig rig;
  private FakeUpstream upstream;

  @BeforeEach
  void start() throws Exception {
    rig =
        new IngressRig(
            IngressRig.LOCAL.with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, SHORT),
            made -> made.logAccess(log, LogEncoding.JSON));
    upstream = rig.upstream;
    rig.ingress.update(
        RouteTable.of("", Map.of("/logged", route(LogEncoding.JSON), "/silent", route(null))));
    writer.start();
  }

  private IngressRoute route(@Nullable LogEncoding logged) {
    return new IngressRoute("app", upstream.router(), Backpressure.DEFAULTS, logged);
  }

  @AfterEach
  void stop() throws Exception {
    log.close();
    writer.join(10_000);
  }

  private JsonObject line() throws Exception {
    String line = lines.poll(10, TimeUnit.SECONDS);
    assertThat(line).as("a line within 10 s").isNotNull();
    return new JsonObject(line);
  }

  private JsonObject line(int status, String flag) throws Exception {
    JsonObject line = line();
    assertThat(line.getMap()).containsEntry("status", status).containsEntry("flag", flag);
    return line;
  }

  @Test
  void aReservationsTokenIsNotInItsPath() throws Exception {
    String token = "0123456789abcdef0123456789abcdef";
    upstream.behave(call -> call.respond("hello"));
    rig.raw().get("/logged/reservations/" + token).readUntil("hello");
    String text = lines.poll(10, TimeUnit.SECONDS);
    assertThat(text).isNotNull().doesNotContain(token);
    assertThat(new JsonObject(text).getString("path")).isEqualTo("/logged/reservations/-");
  }

  @Test
  void routeOfALineHasTheTemplateOfItsResponse() throws Exception {
    Headers named = Headers.of("x-berth-route", "/items/{id}", "x-other", "stays");
    upstream.behave(call -> call.respond(200, named, Buffer.buffer("hello")));
    String response = rig.raw().get("/logged/items/7").readUntil("hello");
    assertThat(response).contains("x-other: stays").doesNotContain("x-berth-route");
    assertThat(line(200, "-").getString("route")).isEqualTo("/logged/items/{id}");
  }

  @Test
  void templateThatIsNoPathIsIgnored() throws Exception {
    Headers named = Headers.of("x-berth-route", "items{id}");
    upstream.behave(call -> call.respond(200, named, Buffer.buffer("hello")));
    rig.raw().get("/logged/items/7").readUntil("hello");
    assertThat(line(200, "-").getString("route")).isEqualTo("/logged");
  }

  @Test
  void aLineSaysWhoAskedWhatWhereAndHowLongItTook() throws Exception {
    upstream.behave(call -> call.respond("hello"));
    RawClient client = rig.raw();
    client.send(
        "POST /logged/a?token=secret HTTP/1.1\r\nHost: test\r\nX-Request-ID: r-1\r\n"
            + "Authorization: secret\r\nContent-Length: 3\r\n\r\nabc");
    client.readUntil("hello");
    String text = lines.poll(10, TimeUnit.SECONDS);
    assertThat(text).isNotNull().doesNotContain("secret");
    JsonObject line = new JsonObject(text);
    assertThat(line.getMap())
        .containsAllEntriesOf(
            new JsonObject(
                    """
                    {"method": "POST", "route": "/logged", "path": "/logged/a",
                     "application": "app", "deployment": "model", "replica": "app#model#1",
                     "status": 200, "flag": "-", "bytes_in": 3, "bytes_out": 5,
                     "request_id": "r-1", "protocol": "HTTP/1.1"}
                    """)
                .getMap());
    assertThat(line.getString("peer")).startsWith("127.0.0.1:");
    assertThat(line.getDouble("queue_ms")).isNotNegative();
    assertThat(line.getDouble("handler_ms")).isPositive();
    assertThat(line.getDouble("total_ms"))
        .isGreaterThanOrEqualTo(line.getDouble("queue_ms") + line.getDouble("handler_ms") - 0.002);
  }

  @ParameterizedTest
  @CsvSource({
    "TIMEOUT, 408, UT",
    "BACK_PRESSURE, 503, UO",
    "DEPLOYMENT_UNAVAILABLE, 503, UH",
    "REPLICA_UNAVAILABLE, 503, UF",
    "OUTCOME_UNKNOWN, 502, UC",
    "HANDLER_FAILED, 500, UR"
  })
  void aFailureHasEnvoysFlag(BerthException.Kind kind, int status, String flag) throws Exception {
    upstream.behave(call -> call.fail(kind, "for the test"));
    rig.raw().get("/logged").readHead();
    line(status, flag);
  }

  @Test
  void aDeadlineThatPassesWhileTheHandlerRunsIsUt() throws Exception {
    RawClient client = rig.raw().get("/logged", "X-Request-Timeout-Seconds: 0.1");
    upstream.nextCall();
    client.readHead();
    JsonObject line = line(408, "UT");
    assertThat(line.getDouble("total_ms")).isGreaterThan(90);
  }

  @Test
  void aClientThatLeavesIsDc() throws Exception {
    RawClient client = rig.raw().get("/logged");
    upstream.nextCall();
    client.close();
    JsonObject line = line(499, "DC");
    assertThat(line.getInteger("bytes_out")).isZero();
  }

  @Test
  void aStreamThatIsResetIsUrWithTheBytesThatWereSent() throws Exception {
    upstream.behave(
        call -> {
          call.startStream(Headers.empty());
          call.frame(Buffer.buffer("12345"), false);
          call.reset(BerthException.Kind.HANDLER_FAILED);
        });
    rig.raw().get("/logged").readToEnd();
    JsonObject line = line();
    assertThat(line.getString("flag")).isEqualTo("UR");
    assertThat(line.getInteger("bytes_out")).isGreaterThanOrEqualTo(5);
  }

  @Test
  void aStreamIsOneLineAtItsEnd() throws Exception {
    RawClient client = rig.raw().get("/logged");
    FakeUpstream.Call call = upstream.nextStream();
    call.frame(Buffer.buffer("12345"), false);
    client.readUntil("12345");
    assertThat(lines).isEmpty();
    call.frame(Buffer.buffer("67"), true);
    client.readUntil("67");
    line(200, "-");
    assertThat(lines).isEmpty();
  }

  @Test
  void aPathWithoutARouteIsNr() throws Exception {
    rig.raw().get("/nowhere").readHead();
    JsonObject line = line(404, "NR");
    assertThat(line.getString("route")).isEmpty();
    assertThat(line.getValue("queue_ms")).isNull();
  }

  @Test
  void aHeadThatIsNotHttpIsDpe() throws Exception {
    RawClient client = rig.raw();
    client.send("GET /logged HTTP/9.9.9\r\n\r\n");
    client.readHead();
    line(400, "DPE");
  }

  @Test
  void routesThatDoNotAskAndHealthChecksHaveNoLine() throws Exception {
    upstream.behave(call -> call.respond("hello"));
    RawClient client = rig.raw();
    client.get("/silent").readUntil("hello");
    client.get("/-/healthz").readUntil("success");
    client.get("/-/routes").readUntil("}");
    client.get("/logged").readUntil("hello");
    assertThat(line().getString("route")).isEqualTo("/logged");
    assertThat(lines).isEmpty();
  }
}
