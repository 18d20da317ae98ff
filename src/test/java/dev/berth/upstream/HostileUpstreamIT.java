package dev.berth.upstream;

import static dev.berth.upstream.UpstreamRig.deployment;
import static dev.berth.upstream.UpstreamRig.upstream;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream;
import dev.berth.node.TestNode;
import dev.berth.upstream.UpstreamRig.ClientSocket;
import java.net.http.HttpResponse;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Upstreams that misbehave harm one request each, and hold no slot for ever. */
@Timeout(60)
class HostileUpstreamIT {
  private CountingUpstream hostile;
  private UpstreamRig rig;

  @BeforeEach
  void start() throws Exception {
    hostile = new CountingUpstream();
    rig =
        new UpstreamRig(
            "",
            "{name: models, berth: {cancel_grace_s: 0.3, upstreams: [%s]}}"
                .formatted(
                    upstream(
                        hostile.url(),
                        2,
                        "first_byte_timeout_s: 0.3",
                        "idle_timeout_s: 0.3",
                        "orphan_s: 0")));
    rig.awaitOpen(2);
  }

  @AfterEach
  void everySlotIsReturned() throws Exception {
    try (CountingUpstream upstream = hostile;
        UpstreamRig instance = rig) {
      instance.assertAtRest();
      TestNode.until(() -> upstream.ongoing() == 0, () -> "no exchange");
      assertThat(instance.node.get("/models/x").statusCode()).isEqualTo(200);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "never",
        "drop",
        "size=100&drip=60000", // a byte a minute
        "lie=long",
        "lie=twice",
        "lie=chunked",
        "head=200000",
        "cut=reset&wait=20",
        "status=99",
        "status=700",
        "status=101",
      })
  void requestFailsAndItsSlotIsReturned(String commands) throws Exception {
    ClientSocket client = rig.client().get("/models/x?" + commands, "Connection: close");
    String answer = client.readUntil("<the end>");
    if (!answer.startsWith("HTTP/1.1 502 ")) { // the head was passed on
      assertThat(answer)
          .startsWith("HTTP/1.1 200 ")
          .endsWith("<closed>")
          .doesNotContain("x".repeat(100));
    }
    rig.awaitSum("running", 0);
    assertThat(hostile.requests()).isEqualTo(1); // never sent again
  }

  @Test
  void endlessHeadersEndTheExchange() throws Exception {
    HttpResponse<String> answer = rig.node.get("/models/x?head=1000000000");
    assertThat(answer.statusCode()).isEqualTo(502);
    rig.awaitSum("running", 0);
  }

  @ParameterizedTest
  @CsvSource({"lie=short", "stray"})
  void bytesAfterAResponseCloseTheConnection(String commands) throws Exception {
    for (int i = 0; i < 3; i++) {
      HttpResponse<String> answer = rig.node.get("/models/x?size=5&" + commands);
      assertThat(answer.statusCode()).isIn(200, 502); // a request may meet late bytes
    }
    assertThat(hostile.connections()).isGreaterThanOrEqualTo(3);
  }

  @Test
  void eventStreamThatStallsIsAborted() throws Exception {
    ClientSocket client = rig.client().get("/models/x?events=2&every=60000");
    assertThat(client.readUntil("<the end>")).contains(" 0\n\n").endsWith("<closed>");
  }

  @Test
  void fiveFailuresInARowCloseTheUpstream() throws Exception {
    for (int i = 0; i < UpstreamWatch.MAX_FAILURES; i++) {
      assertThat(rig.node.get("/models/x?drop").statusCode()).isEqualTo(502);
    }
    rig.awaitOpen(2); // a probe succeeds
    assertThat(rig.node.get("/models/x").statusCode()).isEqualTo(200);
  }

  @Test
  void upstreamThatIgnoresTheCancelIsReset() throws Exception {
    ClientSocket client = rig.client().get("/models/x?events=1000&every=2&on", "x-request-id: r");
    client.readUntil(" 0\n\n");
    long left = System.nanoTime();
    client.close();
    rig.awaitSum("running", 0);
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - left)).isGreaterThan(250);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://169.254.169.254",
        "http://[fd00:ec2::254]",
        "http://0.0.0.0:8000",
        "http://224.0.0.1",
        "http://[::ffff:169.254.169.254]",
      })
  void forbiddenAddressIsNeverConnected(String url) throws Exception {
    try (UpstreamRig other = new UpstreamRig("", deployment("models", "", upstream(url, 1)))) {
      TestNode.until(() -> other.status().contains("closed: "), () -> "closed");
      assertThat(other.node.get("/models/x", "x-request-timeout-seconds", "0.3").statusCode())
          .isIn(408, 503);
    }
  }
}
