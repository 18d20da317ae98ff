package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.ingress.FakeUpstream.Call;
import dev.berth.protocol.port.ViaEntry;
import dev.berth.routing.UpstreamRules;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A route to a deployment whose replicas are upstreams. */
@Timeout(60)
class UpstreamRouteIT {
  private static final int REPLAY_BYTES = 200_000;

  @AutoClose private final IngressRig rig;

  UpstreamRouteIT() throws Exception {
    rig = new IngressRig(IngressRig.LOCAL).route("/");
    rig.upstream.streamRequests();
    proxies(true);
  }

  private void proxies(boolean proxies) {
    rig.upstream
        .router()
        .configure(new UpstreamRules(proxies, List.of(), proxies ? REPLAY_BYTES : 0));
  }

  private String own() {
    return ViaEntry.of(rig.ingress.incarnation).value();
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "POST"})
  void requestThatPassedThisInstanceBeforeIsALoop(String method) throws Exception {
    HttpResponse<String> response =
        rig.answer(
            rig.request("/")
                .header("via", "1.0 fred")
                .header("via", "1.1 other, " + own())
                .header("accept", "application/json")
                .method(method, BodyPublishers.ofString("GET".equals(method) ? "" : "body")));
    assertThat(response.statusCode()).isEqualTo(508);
    assertThat(response.body()).contains("\"loop_detected\"");
    assertThat(response.headers().firstValue("x-should-retry")).hasValue("false");
    assertThat(rig.upstream.router().counters.handleRequests()).isZero();
  }

  @ParameterizedTest
  @CsvSource({"true, 1.1 berth-1", "false, own"})
  void otherRequestsPass(boolean proxies, String via) throws Exception {
    proxies(proxies);
    CompletableFuture<HttpResponse<String>> response =
        rig.send(rig.request("/").header("via", via.equals("own") ? own() : via));
    rig.upstream.nextCall().respond("well");
    assertThat(response.get().statusCode()).isEqualTo(200);
  }

  @Test
  void bodyThatMayBeReplayedIsReadBeforeTheRequestAcquiresASlot() throws Exception {
    RawClient raw = rig.raw().send(head("Content-Length: " + REPLAY_BYTES)).send(bytes(150_000));
    rig.eventually("the body is gathered", () -> rig.bodies.inUse() >= 80_000);
    assertThat(rig.upstream.router().counters.handleRequests()).isZero();
    raw.send(bytes(REPLAY_BYTES - 150_000));
    served(raw);
  }

  @ParameterizedTest
  @CsvSource({
    "true, Content-Length: 200001, ''",
    "true, Transfer-Encoding: chunked, 249f0",
    "false, Content-Length: 200000, ''"
  })
  void anyOtherBodyFollowsItsRequest(boolean proxies, String field, String size) throws Exception {
    proxies(proxies);
    served(
        rig.raw().send(head(field)).send(size.isEmpty() ? "" : size + "\r\n").send(bytes(150_000)));
  }

  private static String head(String field) {
    return "POST / HTTP/1.1\r\nHost: t\r\n" + field + "\r\n\r\n";
  }

  private static String bytes(int count) {
    return "x".repeat(count);
  }

  private void served(RawClient raw) throws Exception {
    Call call = rig.upstream.nextCall();
    assertThat(call.message.bodyFollows()).isTrue();
    call.credit(1L << 40);
    call.respond("well");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 200 ");
  }
}
