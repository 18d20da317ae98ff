package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.LimitOptions;
import dev.berth.ingress.FakeUpstream.Call;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies for a handler that takes them whole are read before their requests ask for a slot. */
@Timeout(60)
class GatheredBodyIT {
  private static final int TOTAL = 1 << 20; // half of it for those who have no slot yet
  private static final int MOST = 300_000; // of one body
  private static final long WINDOW = 262_144; // stream_window_bytes
  private static final String TAIL = "x".repeat(1000);

  @AutoClose private final IngressRig rig;

  GatheredBodyIT() throws Exception {
    rig =
        new IngressRig(IngressRig.LOCAL.with(LimitOptions.BUFFERED_BODY_BYTES_TOTAL, (long) TOTAL))
            .route("/");
    rig.upstream.takeBodiesWhole(MOST);
    rig.upstream.streamRequests(); // the test sees what comes with a slot and what after it
  }

  /** A body but for its last thousand bytes. */
  private static RawClient begun(RawClient raw, int length, String... fields) throws IOException {
    raw.send("POST /slow HTTP/1.1\r\nHost: t\r\n");
    for (String field : fields) {
      raw.send(field + "\r\n");
    }
    raw.send("Content-Length: " + length + "\r\n\r\n");
    return raw.send("x".repeat(length - TAIL.length()));
  }

  private void gathered(long bytes) throws Exception {
    rig.eventually(bytes + " bytes are gathered", () -> rig.bodies.inUse() >= bytes);
  }

  private int running() {
    return rig.upstream.router().counters.running();
  }

  /** All of it, as a replica gathers it that gives credit. */
  private static int size(Call call) throws InterruptedException {
    call.credit(1L << 40);
    int size = call.message.request().bytes().length();
    while (call.message.bodyFollows()) {
      var frame = call.nextFrame();
      size += frame.data().length();
      if (frame.last()) {
        return size;
      }
    }
    return size;
  }

  /** The next call gets a body of so many bytes, and its client an answer. */
  private void served(RawClient raw, int bytes) throws Exception {
    Call call = rig.upstream.nextCall();
    assertThat(size(call)).isEqualTo(bytes);
    call.respond("all");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 200 ");
  }

  @Test
  void slowUploadsHoldNoSlot() throws Exception {
    List<RawClient> slow = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      slow.add(begun(new RawClient(rig.port()), 150_000, "X: " + i));
    }
    gathered(4 * 80_000);
    assertThat(running()).isZero();
    try (RawClient quick = new RawClient(rig.port()).get("/quick")) {
      Call first = rig.upstream.nextCall();
      assertThat(first.request().path()).isEqualTo("/quick");
      first.respond("quick");
      assertThat(quick.readHead()).startsWith("HTTP/1.1 200 ");
    }
    for (RawClient raw : slow) {
      raw.send(TAIL);
      served(raw, 150_000);
      raw.close();
    }
    rig.eventually("all is given back", () -> rig.bodies.inUse() == 0);
  }

  @Test
  void aGatheredBodyIsCountedUntilItsResponse() throws Exception {
    RawClient raw = begun(rig.raw(), 200_000);
    raw.send(TAIL);
    Call call = rig.upstream.nextCall();
    assertThat(size(call)).isEqualTo(200_000);
    assertThat(rig.bodies.inUse()).isBetween(100_000L, 200_000L); // the rest is room of the request
    call.respond("all");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 200 ");
    rig.eventually("all is given back", () -> rig.bodies.inUse() == 0);
  }

  @Test
  void aBodyWithoutCreditIsReadUpToItsWindow() throws Exception {
    RawClient raw = rig.raw().post("/", "Content-Length: 8000000");
    Thread sender = new Thread(() -> sendAll(raw, 8_000_000));
    sender.start();
    Call call = rig.upstream.nextCall();
    gathered(WINDOW / 2);
    assertThat(new CountDownLatch(1).await(100, TimeUnit.MILLISECONDS)).isFalse();
    assertThat(rig.bodies.inUse()).isLessThanOrEqualTo(WINDOW);
    assertThat(size(call)).isEqualTo(8_000_000);
    sender.join();
    assertThat(rig.bodies.inUse()).isZero();
    call.respond("all");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 200 ");
  }

  private static void sendAll(RawClient raw, int bytes) {
    try {
      raw.send("x".repeat(bytes));
    } catch (IOException closed) {
      throw new UncheckedIOException(closed);
    }
  }

  @Test
  void soDoThoseOfUnknownLength() throws Exception {
    RawClient raw = rig.raw().post("/", "Transfer-Encoding: chunked");
    raw.send("4\r\nbody\r\n"); // which has gone on, with a slot, before this
    assertThat(new CountDownLatch(1).await(50, TimeUnit.MILLISECONDS)).isFalse();
    assertThat(running()).isZero();
    raw.send("186a0\r\n" + "x".repeat(100_000) + "\r\n0\r\n\r\n");
    served(raw, 100_004);
  }

  @Test
  void whoWaitsToBeToldToGoOnIsToldAtOnce() throws Exception {
    RawClient raw = rig.raw().post("/", "Expect: 100-continue", "Content-Length: 200000");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 100 ");
    assertThat(running()).isZero();
    raw.send("x".repeat(200_000));
    served(raw, 200_000);
  }

  @Test
  void whatIsLongerThanTheyTakeGoesOnWithASlot() throws Exception {
    try (RawClient raw = begun(new RawClient(rig.port()), MOST + 1)) {
      Call call = rig.upstream.nextCall();
      assertThat(rig.bodies.inUse()).as("it said so at once").isLessThanOrEqualTo(WINDOW);
      raw.send(TAIL);
      assertThat(size(call)).isEqualTo(MOST + 1);
      call.respond("all");
      assertThat(raw.readHead()).startsWith("HTTP/1.1 200 ");
    }
    RawClient raw = rig.raw().post("/", "Transfer-Encoding: chunked");
    raw.send("7a120\r\n" + "x".repeat(500_000) + "\r\n");
    Call call = rig.upstream.nextCall();
    raw.send("0\r\n\r\n");
    assertThat(size(call)).isEqualTo(500_000);
    call.respond("all");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 200 ");
  }

  @Test
  void beyondHalfOfTheTotalABodyGoesOnWithASlot() throws Exception {
    RawClient one = begun(rig.raw(), MOST);
    RawClient two = begun(rig.raw(), MOST);
    RawClient three = begun(rig.raw(), MOST);
    Call first = rig.upstream.nextCall(); // of the three, one found no room
    assertThat(rig.bodies.inUse()).isLessThanOrEqualTo(TOTAL / 2);
    for (RawClient raw : List.of(one, two, three)) {
      raw.send(TAIL);
    }
    for (Call call : List.of(first, rig.upstream.nextCall(), rig.upstream.nextCall())) {
      assertThat(size(call)).isEqualTo(MOST);
      call.respond("all");
    }
    for (RawClient raw : List.of(one, two, three)) {
      assertThat(raw.readHead()).startsWith("HTTP/1.1 200 ");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whoLeavesGivesBackWhatItHeld(boolean whole) throws Exception {
    try (RawClient raw = begun(new RawClient(rig.port()), 200_000)) {
      gathered(100_000);
      if (whole) {
        raw.send(TAIL);
        rig.upstream.nextCall(); // and gives no credit
      }
      raw.reset();
    }
    rig.eventually("all is given back", () -> rig.bodies.inUse() == 0);
  }

  @Test
  void whoHasASlotByATokenUsesItAtOnce() throws Exception {
    RawClient raw = begun(rig.raw(), 200_000, "X-Berth-Reservation: none of ours");
    assertThat(raw.readHead()).as("its lease runs").startsWith("HTTP/1.1 404 ");
    assertThat(rig.bodies.inUse()).isZero();
  }

  @Test
  void theTimeOfARequestIsOverWhileItsBodyComesToo() throws Exception {
    try (RawClient raw =
        begun(new RawClient(rig.port()), 200_000, "X-Request-Timeout-Seconds: 0.3")) {
      assertThat(raw.readHead()).startsWith("HTTP/1.1 408 ");
    }
    rig.eventually("all is given back", () -> rig.bodies.inUse() == 0);
  }

  @Test
  void aTrickleIs408WithoutASlot() throws Exception {
    try (IngressRig brisk = IngressRig.brisk(10_000, Duration.ofMillis(300))) {
      brisk.upstream.takeBodiesWhole(MOST);
      try (RawClient raw = begun(new RawClient(brisk.port()), 60_000)) {
        assertThat(raw.readToEnd()).startsWith("HTTP/1.1 408 ");
      }
      brisk.assertAtRest();
    }
  }

  @Test
  void overHttp2Too() throws Exception {
    RawHttp2 raw = rig.http2();
    raw.post(1, "/").frame(RawHttp2.DATA, 0, 1, new byte[16_000]);
    for (int piece = 0; piece < 3; piece++) {
      raw.frame(RawHttp2.DATA, 0, 1, new byte[16_000]);
    }
    raw.get(3, "/quick");
    Call quick = rig.upstream.nextCall();
    assertThat(quick.request().path()).isEqualTo("/quick");
    quick.respond("quick");
    raw.next(RawHttp2.DATA, 3);
    raw.frame(RawHttp2.DATA, 0, 1, new byte[16_000]);
    raw.frame(RawHttp2.DATA, RawHttp2.END_STREAM, 1, new byte[8_000]);
    Call slow = rig.upstream.nextCall();
    assertThat(size(slow)).isEqualTo(5 * 16_000 + 8_000);
    slow.respond("slow");
    assertThat(raw.next(RawHttp2.DATA, 1).text()).isEqualTo("slow");
  }
}
