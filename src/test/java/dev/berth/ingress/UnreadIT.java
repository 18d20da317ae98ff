package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Headers;
import dev.berth.ingress.FakeUpstream.Call;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Each bound on a connection holds for a client that never reads. Only the server can tell that it
 * has closed one: such a client would see it behind all that it has not read.
 */
class UnreadIT {
  private static final int ANSWER = 16 << 20; // more than the kernel takes on both sides
  private static final byte[] WIDE = {0, 4, 0x7f, -1, -1, -1}; // a window that never closes

  @AutoClose private IngressRig rig;

  @BeforeEach
  void start() throws Exception {
    rig = IngressRig.tight(10, IngressRig.LOCAL, IngressRig.SHORTEST);
  }

  private void assertClosed() throws Exception {
    rig.eventually("the connection is closed", () -> rig.connections() == 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"keep-alive", "close"})
  void aWholeAnswerThatIsNotReadIsDropped(String then) throws Exception {
    RawClient raw = rig.raw();
    raw.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: " + then + "\r\n\r\n");
    rig.upstream.nextCall().respond(200, Headers.empty(), Buffer.buffer(new byte[ANSWER]));
    assertClosed();
  }

  @ParameterizedTest
  @ValueSource(strings = {"1.0", "1.1"})
  void aStreamThatIsNotReadIsCutWithItsConnection(String version) throws Exception {
    RawClient raw = rig.raw();
    raw.send("GET / HTTP/" + version + "\r\nHost: test\r\n\r\n");
    Call call = rig.upstream.nextStream();
    call.pour();
    assertThat(call.cancelledWithin(10)).as("given up").isTrue();
    assertClosed();
  }

  @Test
  void whatAnHttp2ClientDoesNotReadOfItsSocketIsDropped() throws Exception {
    RawHttp2 raw = wide().get(1, "/");
    rig.upstream.nextCall().respond(200, Headers.empty(), Buffer.buffer(new byte[ANSWER]));
    raw.get(3, "/");
    rig.upstream.nextCall(); // a handler that takes its time does not keep it
    assertClosed();
  }

  @Test
  void aFloodOfResetsBehindAnUnreadAnswerClosesTheConnection() throws Exception {
    RawHttp2 raw = wide().get(1, "/");
    rig.upstream.nextCall().respond(200, Headers.empty(), Buffer.buffer(new byte[ANSWER]));
    rig.upstream.behave(call -> {});
    flood(raw);
    assertClosed();
  }

  private static void flood(RawHttp2 raw) {
    try {
      for (int stream = 3; stream < 2_000; stream += 2) {
        raw.get(stream, "/").reset(stream, 8);
      }
    } catch (IOException closed) {
      // which is what the flood is to come to
    }
  }

  @Test
  void whoSendsTooMuchAndReadsNothingIsClosed() throws Exception {
    RawClient raw = rig.raw().get("/");
    rig.upstream.nextCall().respond(200, Headers.empty(), Buffer.buffer(new byte[ANSWER]));
    raw.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 99999999\r\n\r\nsome of it");
    assertClosed();
  }

  @Test
  void stoppingDropsWhatIsNotRead() throws Exception {
    rig.close();
    rig = IngressRig.tight(10, IngressRig.LOCAL, IngressRig.SHORT.multipliedBy(2));
    RawClient raw = rig.raw();
    RawHttp2 other = wide();
    raw.get("/");
    rig.upstream.nextCall().respond(200, Headers.empty(), Buffer.buffer(new byte[ANSWER]));
    other.get(1, "/");
    rig.upstream.nextCall().respond(200, Headers.empty(), Buffer.buffer(new byte[ANSWER]));
    rig.ingress.drain();
    Future<Void> stopped = rig.undeploy();
    IngressRig.await(stopped);
    assertClosed();
  }

  @Test
  void aSlowReaderReadsItsAnswerToTheEnd() throws Exception {
    rig.close();
    rig = IngressRig.tight(10, IngressRig.LOCAL, IngressRig.SHORT);
    RawClient raw = rig.raw().get("/");
    rig.upstream.nextCall().respond(200, Headers.empty(), Buffer.buffer(new byte[ANSWER]));
    raw.readHead();
    int read = 0;
    for (int turn = 0; turn < 20; turn++) { // far longer than an idle one may be
      read += raw.read(512 << 10).length();
      CompletableFuture<Void> later = new CompletableFuture<>();
      rig.vertx.setTimer(100, id -> later.complete(null));
      later.get(10, TimeUnit.SECONDS);
    }
    assertThat(read + raw.read(ANSWER - read).length()).isEqualTo(ANSWER);
    assertClosed();
  }

  @Test
  void aStreamToASlowHttp10ReaderArrivesWhole() throws Exception {
    rig.close();
    rig = IngressRig.tight(10, IngressRig.LOCAL, Duration.ofSeconds(5));
    RawClient raw = rig.raw().send("GET / HTTP/1.0\r\nHost: test\r\n\r\n");
    Call call = rig.upstream.nextStream();
    long whole = call.pour() + (256 << 10); // the client held it back
    FutureTask<String> read = new FutureTask<>(raw::readToEnd);
    new Thread(read, "reader").start();
    assertThat(call.pour(whole)).isEqualTo(whole);
    assertThat(read.get(20, TimeUnit.SECONDS).length()).isGreaterThan((int) whole);
    assertClosed();
  }

  private RawHttp2 wide() throws IOException {
    RawHttp2 raw = rig.http2();
    raw.frame(RawHttp2.SETTINGS, 0, 0, WIDE);
    return raw.frame(RawHttp2.WINDOW_UPDATE, 0, 0, new byte[] {0x7f, -1, 0, 0});
  }
}
