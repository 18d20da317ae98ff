package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.config.HttpOptions;
import dev.berth.config.LimitOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A body that comes after its request was answered is no part of the next request. */
class UnreadBodyIT {
  private static final String NEXT = "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";

  @AutoClose private IngressRig rig;

  /** Heads have less time than connections without a request. */
  @BeforeEach
  void start() throws Exception {
    rig =
        new IngressRig(
                IngressRig.limits(100, IngressRig.LOCAL, IngressRig.SHORTEST)
                    .with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, Duration.ofSeconds(10))
                    .with(LimitOptions.MAX_BODY_BYTES, 4L << 20))
            .route("/");
    rig.upstream.behave(call -> call.respond("next"));
  }

  private void pass(Duration time) throws Exception {
    CompletableFuture<Void> later = new CompletableFuture<>();
    rig.vertx.setTimer(time.toMillis(), id -> later.complete(null));
    later.get(10, TimeUnit.SECONDS);
  }

  @ParameterizedTest
  @CsvSource({
    "/-/nothing, Content-Length: 10, hello, hello, 404",
    "/-/healthz, Content-Length: 10, hello, hello, 200",
    "/-/nothing, Transfer-Encoding: chunked, '5\r\nhel', 'lo\r\n0\r\n\r\n', 404",
  })
  void lateBodyIsNotTheNextHead(String path, String field, String begin, String rest, int status)
      throws Exception {
    RawClient raw = rig.raw().post(path, field);
    assertThat(raw.readHead()).startsWith("HTTP/1.1 " + status).doesNotContain("close");
    raw.send(begin);
    pass(IngressRig.SHORTEST.multipliedBy(3));
    String told = raw.send(rest + NEXT).readToEnd();
    assertThat(told).contains("HTTP/1.1 200").endsWith("next").doesNotContain("408");
  }

  @Test
  void connectionIsIdleOnceALateBodyHasEnded() throws Exception {
    RawClient raw = rig.raw().post("/-/nothing", "Content-Length: 10");
    raw.readHead();
    raw.send("hellohello");
    pass(IngressRig.SHORTEST.multipliedBy(3));
    assertThat(raw.send(NEXT).readToEnd()).contains("HTTP/1.1 200").doesNotContain("408");
  }

  @Test
  void bodyBehindAnAnswerThatIsNotFinishedInTimeClosesItsConnection() throws Exception {
    rig.close();
    rig = IngressRig.tight(100, IngressRig.LOCAL, IngressRig.SHORTEST);
    RawClient raw = rig.raw().post("/-/nothing", "Content-Length: 10").send("hello");
    assertThat(raw.readToEnd()).startsWith("HTTP/1.1 404").doesNotContain("408");
  }

  @Test
  void longBodyThatIsNotReadClosesItsConnection() throws Exception {
    RawClient raw = rig.raw().post("/-/nothing", "Content-Length: 1048577");
    assertThat(raw.readToEnd()).startsWith("HTTP/1.1 404").contains("connection: close");
  }

  @Test
  void endlessBodyThatIsNotReadClosesItsConnection() throws Exception {
    RawClient raw = rig.raw().post("/-/nothing", "Transfer-Encoding: chunked");
    raw.readHead();
    String chunk = "10000\r\n" + "x".repeat(1 << 16) + "\r\n";
    long[] sent = {0};
    assertThatThrownBy(
            () -> {
              for (; sent[0] < 4L << 30; sent[0] += 1 << 16) {
                raw.send(chunk);
              }
            })
        .isInstanceOf(IOException.class);
    assertThat(sent[0]).isGreaterThan(1 << 20);
    rig.eventually("the connection is closed", () -> rig.connections() == 0);
  }
}
