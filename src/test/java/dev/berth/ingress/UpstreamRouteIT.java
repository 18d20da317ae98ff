package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.ingress.FakeUpstream.Call;
import dev.berth.protocol.port.ViaEntry;
import dev.berth.routing.ProxyRules;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A route to a deployment whose replicas are upstreams. */
@Timeout(60)
class UpstreamRouteIT {
  private static final int REPLAY_BYTES = 200_000;
  private static final String LENGTH = "Content-Length: " + REPLAY_BYTES;

  @AutoClose private final IngressRig rig;

  UpstreamRouteIT() throws Exception {
    rig = new IngressRig(IngressRig.LOCAL).route("/");
    rig.upstream.streamRequests();
    rig.upstream.router().configure(new ProxyRules(true, List.of(), REPLAY_BYTES, false, -1));
  }

  private RawClient post(String... fields) throws Exception {
    RawClient raw = rig.raw().send("POST / HTTP/1.1\r\nHost: t\r\n");
    return raw.send(String.join("\r\n", fields) + "\r\n\r\n");
  }

  private String via() {
    return "Via: 1.0 fred\r\nVia: 1.1 a, " + ViaEntry.of(rig.ingress.incarnation).value();
  }

  private void served(RawClient raw) throws Exception {
    Call call = rig.upstream.nextCall();
    call.credit(1L << 40);
    call.respond("well");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 200 ");
  }

  @Test
  void requestThatPassedThisInstanceBeforeIsALoop() throws Exception {
    RawClient raw = post(via(), "Content-Length: 4").send("body");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 508 ").contains("x-should-retry: false");
    assertThat(rig.upstream.router().counters.handleRequests()).isZero();
  }

  @Test
  void requestsOfOthersAndToHandlersAreNoLoops() throws Exception {
    served(post("Via: 1.1 berth-1", "Content-Length: 4").send("body"));
    rig.upstream.router().configure(ProxyRules.NONE);
    served(post(via(), "Content-Length: 4").send("body"));
  }

  @Test
  void bodyThatMayBeReplayedIsReadBeforeTheRequestAcquiresASlot() throws Exception {
    RawClient raw = post(LENGTH).send("x".repeat(150_000));
    rig.eventually("the body is gathered", () -> rig.bodies.inUse() >= 80_000);
    assertThat(rig.upstream.router().counters.handleRequests()).isZero();
    served(raw.send("x".repeat(REPLAY_BYTES - 150_000)));
  }

  @ParameterizedTest
  @CsvSource({
    "Content-Length: 200001, true",
    "Transfer-Encoding: chunked, true",
    LENGTH + ", false"
  })
  void anyOtherBodyFollowsItsRequest(String field, boolean proxies) throws Exception {
    if (!proxies) {
      rig.upstream.router().configure(ProxyRules.NONE);
    }
    String chunk = field.endsWith("chunked") ? "249f0\r\n" : "";
    served(post(field).send(chunk + "x".repeat(150_000)));
  }
}
