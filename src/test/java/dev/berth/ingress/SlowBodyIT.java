package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.LimitOptions;
import dev.berth.config.ServeConfig;
import dev.berth.ingress.FakeUpstream.Call;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Uploads that never stand still, and never end either. */
@Timeout(60)
class SlowBodyIT {
  private static final int LEAST = 10_000; // bytes per second
  private static final Duration GRACE = Duration.ofMillis(600);
  private static final String TOO_SLOW = "Request body was slower than 10000 bytes per second.";

  @AutoClose private IngressRig rig;

  @BeforeEach
  void start() throws Exception {
    rig = IngressRig.brisk(LEAST, GRACE);
  }

  private static void pause(long millis) throws InterruptedException {
    assertThat(new CountDownLatch(1).await(millis, TimeUnit.MILLISECONDS)).isFalse();
  }

  private static RawClient chunk(RawClient raw, int bytes) throws IOException {
    return raw.send(Integer.toHexString(bytes) + "\r\n" + "x".repeat(bytes) + "\r\n");
  }

  private interface Sending {
    void piece() throws IOException;
  }

  /** A byte each 50 ms, until the other side has had enough. */
  private static void trickle(Sending sending) throws InterruptedException {
    try {
      for (int i = 0; i < 60; i++) {
        pause(50);
        sending.piece();
      }
    } catch (IOException closed) {
      // as it must be
    }
  }

  @Test
  void aTrickleIs408BeforeItsSlotIsHeldForLong() throws Exception {
    rig.upstream.streamRequests();
    RawClient raw = rig.raw();
    chunk(raw.post("/", "Transfer-Encoding: chunked"), 40_000);
    Call call = rig.upstream.nextCall();
    call.credit(1 << 20);
    trickle(() -> chunk(raw, 1));
    assertThat(call.cancelledWithin(10)).isTrue();
    assertThat(raw.readToEnd()).startsWith("HTTP/1.1 408 ").contains(TOO_SLOW);
  }

  @Test
  void aShortBodyThatTricklesIs408Too() throws Exception {
    RawClient raw = rig.raw().post("/", "Content-Length: 1000");
    trickle(() -> raw.send("x"));
    assertThat(raw.readToEnd()).startsWith("HTTP/1.1 408 ").contains(TOO_SLOW);
  }

  @Test
  void aTrickleOverHttp2Is408AndItsNeighbourGoesOn() throws Exception {
    RawHttp2 raw = rig.http2();
    raw.post(1, "/").get(3, "/");
    Call other = rig.upstream.nextCall();
    trickle(() -> raw.frame(RawHttp2.DATA, 0, 1, new byte[1]));
    assertThat(raw.next(RawHttp2.DATA, 1).text()).isEqualTo(TOO_SLOW);
    other.respond("other");
    assertThat(raw.next(RawHttp2.DATA, 3).text()).isEqualTo("other");
  }

  @Test
  void whoIsHeldBackIsNotBlamed() throws Exception {
    rig.upstream.streamRequests();
    RawClient raw = rig.raw();
    chunk(raw.post("/", "Transfer-Encoding: chunked"), 40_000);
    Call call = rig.upstream.nextCall();
    pause(4 * GRACE.toMillis()); // its handler reads nothing
    chunk(raw, 20_000).send("0\r\n\r\n");
    call.credit(1 << 20);
    int size = call.message.request().bytes().length();
    while (size < 60_000) {
      size += call.nextFrame().data().length();
    }
    call.respond("all of it");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 200 ");
  }

  @Test
  void whoseConnectionIsFullOfWhatNobodyReadsIsNotBlamed() throws Exception {
    rig.upstream.streamRequests();
    RawHttp2 raw = rig.http2();
    fillTheConnection(raw);
    pause(4 * GRACE.toMillis());
    rig.upstream.behave(call -> call.respond("the first answer"));
    raw.get(101, "/"); // no window is needed for it
    RawHttp2.Frame first = raw.next(RawHttp2.HEADERS);
    assertThat(first.stream()).as(raw.next(RawHttp2.DATA).text()).isEqualTo(101);
  }

  /** Streams that take all of the connection's window, and one more that has begun. */
  private void fillTheConnection(RawHttp2 raw) throws Exception {
    int left = ServeConfig.DEFAULTS.get(LimitOptions.HTTP2_CONNECTION_WINDOW_BYTES);
    int stream = 1;
    for (; left > 0; stream += 2) {
      left -= send(raw.post(stream, "/"), stream, 10);
      rig.upstream.nextCall(); // from here on nothing of it is read
      for (int piece = 0; piece < 3 && left > 0; piece++) {
        left -= send(raw, stream, Math.min(left, 16 << 10));
      }
    }
    raw.post(stream, "/"); // and may not send anything
  }

  private static int send(RawHttp2 raw, int stream, int bytes) throws IOException {
    raw.frame(RawHttp2.DATA, 0, stream, new byte[bytes]);
    return bytes;
  }
}
