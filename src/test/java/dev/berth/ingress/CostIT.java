package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.Backpressure;
import dev.berth.config.LimitOptions;
import dev.berth.config.edge.CostOptions;
import dev.berth.ingress.FakeUpstream.Call;
import dev.berth.ingress.edge.CostRule;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The slots of requests by {@code berth.cost}, over real sockets. */
@Timeout(60)
class CostIT {
  private static final CostRule HEADER = new CostRule(CostOptions.HEADER, "X-Cost", 1, 0, 8);
  private static final CostRule BYTES =
      new CostRule(CostOptions.BODY_BYTES_PER_SLOT, "bytes", 65_536, 0, 16);
  private static final CostRule FIELD =
      new CostRule(CostOptions.JSON_FIELD, "max_tokens", 512, 0, 8);
  private static final String LARGE =
      "{\"messages\":[\"" + "m".repeat(9 << 20) + "\"],\"max_tokens\":%d}";

  @AutoClose private IngressRig rig = new IngressRig(IngressRig.LOCAL);

  CostIT() throws Exception {}

  private void route(CostRule rule) {
    rig.ingress.update(
        RouteTable.of(
            "",
            Map.of(
                "/",
                new IngressRoute("app", rig.upstream.router(), Backpressure.DEFAULTS, null)
                    .withCost(rule))));
  }

  private HttpRequest.Builder post(String body, boolean chunked) {
    byte[] bytes = body.getBytes(StandardCharsets.ISO_8859_1);
    return rig.request("/")
        .POST(
            chunked
                ? BodyPublishers.fromPublisher(BodyPublishers.ofByteArray(bytes))
                : BodyPublishers.ofByteArray(bytes));
  }

  /** The slots of a request that reaches the replica with its whole body. */
  private int cost(HttpRequest.Builder request, String body) throws Exception {
    CompletableFuture<HttpResponse<String>> response = rig.send(request);
    Call call = rig.upstream.nextCall();
    assertThat(call.request().bytes().toString().equals(body)).as("the body").isTrue();
    call.respond("ok");
    assertThat(IngressRig.said(response.join())).isEqualTo("200 ok");
    return call.message.cost();
  }

  private String refusal(HttpRequest.Builder request) throws Exception {
    String said = IngressRig.said(rig.answer(request));
    assertThat(rig.upstream.router().begunCount()).isZero();
    return said;
  }

  @Test
  void headerIsTheCostAndReachesTheHandler() throws Exception {
    route(HEADER);
    CompletableFuture<HttpResponse<String>> response =
        rig.send(rig.request("/").header("X-Cost", "3"));
    Call call = rig.upstream.nextCall();
    assertThat(call.message.cost()).isEqualTo(3);
    assertThat(call.request().headers().get("x-cost")).isEqualTo("3");
    call.respond("ok");
    assertThat(response.join().statusCode()).isEqualTo(200);
  }

  @Test
  void explanationShowsTheCost() throws Exception {
    route(HEADER);
    rig.upstream.behave(call -> call.respond("ok"));
    rig.answer(rig.request("/").header("X-Cost", "3").header("X-Berth-Explain", "1"));
    assertThat(rig.upstream.explained.take().steps())
        .anyMatch(step -> step.detail().endsWith("cost: 3"));
  }

  @Test
  void twoHeadersAreRefusedAndTheConnectionStaysOpen() throws Exception {
    route(HEADER);
    RawClient client = rig.raw().post("/", "X-Cost: 1", "X-Cost: 2", "Content-Length: 3");
    client.send("abc");
    assertThat(client.readHead()).contains("400 Bad Request");
    assertThat(client.readUntil("8)"))
        .isEqualTo("berth.cost.header: X-Cost: 1, 2 (expected: a whole number from 1 to 8)");
    client.get("/", "X-Cost: 65535");
    assertThat(client.readHead()).contains("400 Bad Request");
    assertThat(rig.upstream.router().begunCount()).isZero();
  }

  @Test
  void refusedUploadEndsBeforeItsBody() throws Exception {
    route(HEADER);
    RawClient client =
        rig.raw().post("/", "X-Cost: -1", "Content-Length: 9000000", "Expect: 100-continue");
    assertThat(client.readHead()).contains("400 Bad Request").doesNotContain("100 Continue");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void bytesOfAWholeBodyAreTheCost(boolean chunked) throws Exception {
    route(BYTES);
    String body = "b".repeat(3 * 65_536 + 1);
    assertThat(cost(post(body, chunked), body)).isEqualTo(4);
    assertThat(cost(rig.request("/"), "")).isEqualTo(1);
  }

  @Test
  void bodyOfKnownLengthStreamsToTheReplica() throws Exception {
    route(BYTES);
    rig.upstream.streamRequests();
    RawClient client = rig.raw().post("/", "Content-Length: 300000");
    client.send("b".repeat(70_000));
    Call call = rig.upstream.nextCall();
    assertThat(call.message.cost()).isEqualTo(5);
    assertThat(call.message.bodyFollows()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void bodyAboveAllSlotsIsRefused(boolean chunked) throws Exception {
    route(BYTES);
    assertThat(refusal(post("b".repeat(16 * 65_536 + 1), chunked)))
        .isEqualTo(
            "400 berth.cost.body_bytes_per_slot: bytes: 1048577 (expected: a whole number from 1 to"
                + " 1048576)");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void memberBehindNineMegabytesIsTheCost(boolean chunked) throws Exception {
    route(FIELD);
    String body = LARGE.formatted(1025);
    assertThat(cost(post(body, chunked), body)).isEqualTo(3);
  }

  @Test
  void largeMemberBehindNineMegabytesIsRefused() throws Exception {
    route(FIELD);
    assertThat(refusal(post(LARGE.formatted(1_000_000_000), false)))
        .isEqualTo(
            "400 berth.cost.json_field: max_tokens: 1000000000 (expected: a whole number from 1 to"
                + " 4096)");
  }

  @Test
  void bodyWithoutMemoryIsRefusedAsOverload() throws Exception {
    rig.close();
    rig = new IngressRig(IngressRig.LOCAL.with(LimitOptions.BUFFERED_BODY_BYTES_TOTAL, 1L << 20));
    route(FIELD);
    RawClient full = rig.raw().post("/", "Content-Length: 524288");
    full.send("{\"a\":\"" + "b".repeat(450_000));
    rig.eventually("a body is gathered", () -> rig.bodies.inUse() > 300_000);
    assertThat(refusal(post("{\"a\":\"" + "b".repeat(300_000) + "\",\"max_tokens\":1}", false)))
        .startsWith("503 ");
  }

  @Test
  void clientThatLeavesDuringTheScanHasNoCall() throws Exception {
    route(FIELD);
    String body = LARGE.formatted(1);
    RawClient client = rig.raw().post("/", "Content-Length: " + body.length());
    client.send(body).reset();
    rig.eventually("the memory is free", () -> rig.bodies.inUse() == 0);
    String next = "{\"max_tokens\":5}";
    assertThat(cost(post(next, false), next)).isEqualTo(1);
  }
}
