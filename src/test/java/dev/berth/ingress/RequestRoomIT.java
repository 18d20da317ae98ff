package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Headers;
import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.FakeUpstream.Call;
import dev.berth.protocol.port.Reservations.ReservationCaller;
import dev.berth.protocol.port.Reservations.ReservationRequest;
import dev.berth.routing.reserve.ReservationLimits;
import dev.berth.routing.reserve.ReservationTable;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Requests beyond what they may take together are refused before anything of them has run. */
class RequestRoomIT {
  private static final int SMALL =
      RequestMemoryBudget.REQUEST_BYTES + RequestMemoryBudget.HEADER_BYTES; // Host

  /** A client on a busy machine is slow, and not for that cut. */
  private static final Duration PATIENT = Duration.ofSeconds(20);

  private static final String LARGE = "berth_http_large_answer_bytes";
  private static final String LARGE_WAITING = "berth_http_large_answer_bytes_waiting";

  @AutoClose private IngressRig rig;

  private List<RawClient> fill(int requests) throws Exception {
    List<RawClient> clients = new ArrayList<>();
    for (int i = 0; i < requests; i++) {
      clients.add(rig.raw().get("/"));
    }
    rig.eventually("all are under way", () -> rig.ongoing() == requests);
    return clients;
  }

  @Test
  void aRequestForWhichThereIsNoRoomIs503AndReachesNoReplica() throws Exception {
    rig = IngressRig.narrow(8 * SMALL);
    List<RawClient> clients = fill(8);
    RawClient refused = rig.raw().get("/");
    assertThat(refused.readHead()).startsWith("HTTP/1.1 503").contains("Retry-After: 1");
    assertThat(refused.read(31)).isEqualTo("Too many requests are in flight");
    for (int i = 0; i < 8; i++) {
      rig.upstream.nextCall().respond("done");
    }
    assertThat(clients.get(0).readUntil("done")).startsWith("HTTP/1.1 200");
    refused.readUntil(".");
    refused.get("/");
    rig.upstream.nextCall().respond("again");
    assertThat(refused.readUntil("again")).startsWith("HTTP/1.1 200");
    assertThat(rig.metric("berth_http_requests_refused_total")).isEqualTo(1);
  }

  @Test
  void aClientThatLeavesGivesItsRoomBack() throws Exception {
    rig = IngressRig.narrow(8 * SMALL);
    for (RawClient client : fill(8)) {
      client.close();
    }
  }

  @Test
  void aConnectionWithManyRequestsLeavesRoomForOthers() throws Exception {
    rig = IngressRig.narrow(100 * SMALL);
    RawHttp2 greedy = rig.http2();
    RawHttp2 other = rig.http2();
    for (int stream = 1; stream < 200; stream += 2) {
      greedy.get(stream, "/");
    }
    assertThat(greedy.next(RawHttp2.HEADERS).text()).contains("503");
    rig.eventually("the others wait", () -> rig.ongoing() <= 5);
    other.get(1, "/").get(3, "/");
    rig.eventually("both are under way", () -> rig.ongoing() >= 6);
  }

  @Test
  void aRequestWhoseAnswerIsNotReadKeepsItsRoomUntilItIsCut() throws Exception {
    rig = IngressRig.narrow(8 * SMALL);
    RawHttp2 raw = rig.http2();
    raw.frame(RawHttp2.SETTINGS, 0, 0, new byte[] {0, 4, 0, 0, 0, 0}).get(1, "/");
    rig.upstream.nextCall().respond("never read");
    rig.eventually("answered", () -> rig.answered(200) == 1);
    assertThat(rig.ongoing()).as("under way until it is taken").isEqualTo(1);
    assertThat(rig.requestBytes()).isEqualTo(SMALL);
    raw.next(RawHttp2.RST_STREAM, 1);
  }

  @Test
  void ofARefusedStreamNothingIsKeptThoughItsWindowIsShut() throws Exception {
    rig = IngressRig.narrow(8 * SMALL);
    RawHttp2 raw = rig.http2();
    raw.frame(RawHttp2.SETTINGS, 0, 0, new byte[] {0, 4, 0, 0, 0, 0}).get(1, "/");
    rig.upstream.nextCall();
    raw.get(3, "/");
    RawHttp2.Frame refusal = raw.next(RawHttp2.HEADERS, 3);
    assertThat(refusal.text()).contains("503");
    assertThat(refusal.flags() & 1).as("END_STREAM").isEqualTo(1);
    rig.eventually("only the first is left", () -> rig.ongoing() == 1);
  }

  /** Two requests under way, where an answer that was taken has shown how large they are. */
  private final class TwoLarge {
    private final RawClient one = rig.raw().get("/");
    private final RawClient two = rig.raw();
    private final Call first;
    private final Call second;

    TwoLarge(int bytes) throws Exception {
      Buffer large = Buffer.buffer(new byte[bytes]);
      rig.upstream.nextCall().respond(200, Headers.empty(), large);
      one.readHead();
      one.read(bytes);
      rig.eventually("nothing is held", () -> rig.metric(LARGE) == 0);
      one.get("/");
      first = rig.upstream.nextCall();
      two.get("/");
      second = rig.upstream.nextCall();
    }

    void end() {
      first.respond("done");
      second.respond("done");
    }
  }

  @Test
  void aRequestForALargeAnswerWaitsUntilClientsHaveTheirs() throws Exception {
    rig = IngressRig.narrow(4 << 20);
    TwoLarge large = new TwoLarge(2 << 20);
    RawClient three = rig.raw().get("/");
    rig.eventually("all are under way", () -> rig.ongoing() == 3);
    assertThat(rig.metric(LARGE)).isEqualTo(4 << 20);
    large.first.respond("small this time");
    rig.upstream.nextCall().respond("the third");
    assertThat(three.readUntil("the third")).startsWith("HTTP/1.1 200");
    large.second.respond("the second");
    assertThat(large.two.readUntil("the second")).startsWith("HTTP/1.1 200");
  }

  @Test
  void aRequestForALargeAnswerIsRefusedWhenItWaitedTooLong() throws Exception {
    rig = IngressRig.narrow(4 << 20);
    TwoLarge large = new TwoLarge(4 << 20);
    RawClient three = rig.raw().get("/");
    assertThat(three.readHead()).startsWith("HTTP/1.1 503").contains("Retry-After: 1");
    assertThat(rig.metric("berth_http_requests_refused_total")).isEqualTo(1);
    large.end();
  }

  @Test
  void aClientThatLeavesWhileItWaitsForRoomIsNotServed() throws Exception {
    rig = IngressRig.narrow(4 << 20);
    TwoLarge large = new TwoLarge(4 << 20);
    RawClient three = new RawClient(rig.port()).get("/");
    rig.eventually("all are under way", () -> rig.ongoing() == 3);
    three.close();
    rig.eventually("it is given up", () -> rig.ongoing() == 2);
    large.end();
  }

  @Test
  void whoAsksForLargeAnswersAndLeavesGetsNoReaderCut() throws Exception {
    rig = new IngressRig(wide(48 << 20)).route("/");
    Buffer large = Buffer.buffer(new byte[24 << 20]); // more than the kernel takes on both sides
    RawClient reader = rig.raw().get("/");
    RawClient other = rig.raw();
    rig.upstream.nextCall().respond(200, Headers.empty(), large);
    reader.readHead();
    long since = System.nanoTime();
    rig.eventually("it is not taken", () -> rig.metric(LARGE) == large.length());
    other.get("/");
    Call running = rig.upstream.nextCall();
    for (int i = 0; i < 5; i++) {
      RawClient gone = new RawClient(rig.port()).get("/");
      rig.eventually("it waits for room", () -> rig.metric(LARGE_WAITING) == large.length());
      gone.close();
      rig.eventually("it is given up", () -> rig.ongoing() == 2);
      assertThat(rig.metric(LARGE_WAITING)).isZero();
    }
    rig.eventually(
        "the reader has stood still for longer than who is in the way may",
        () -> System.nanoTime() - since > 3 * WriteStall.AFTER_NANOS / 2);
    assertThat(reader.read(large.length())).hasSize(large.length());
    assertThat(rig.metric("berth_http_answers_stood_still_total")).isZero();
    running.respond("done");
  }

  @Test
  void aReservationThatRunsOutWhileItsRequestWaitsForRoomIsGone() throws Exception {
    rig = new IngressRig(wide(4 << 20)).route("/");
    AtomicLong now = new AtomicLong(System.nanoTime());
    ReservationTable table =
        new ReservationTable(
            rig.upstream.routers(),
            new ReservationLimits(10, 10, 10, 10, 10, 1),
            now::get,
            new SplittableRandom(1)::nextLong);
    rig.ingress.serveReservations(table, null);
    TwoLarge large = new TwoLarge(4 << 20);
    RawClient three = rig.raw();
    String token =
        IngressRig.await(
                table
                    .reserve(
                        new ReservationRequest(
                            rig.upstream.router().deployment(), 1_000_000_000L, 0, ""),
                        new ReservationCaller("c", null))
                    .answer())
            .token();
    three.send("GET / HTTP/1.1\r\nHost: test\r\nX-Berth-Reservation: " + token + "\r\n\r\n");
    rig.eventually("it waits for room", () -> rig.metric(LARGE_WAITING) > 0);
    now.addAndGet(2_000_000_000L);
    table.sweep();
    large.first.respond("done");
    assertThat(three.readHead()).startsWith("HTTP/1.1 410");
    large.second.respond("done");
    rig.eventually("no slot is held", () -> rig.upstream.router().counters.reserved() == 0);
  }

  /** With room for so much, and time for who stands still. */
  private static Settings wide(long bytes) {
    return IngressRig.limits(100, IngressRig.LOCAL, Duration.ofSeconds(30))
        .with(LimitOptions.REQUEST_BYTES_TOTAL, bytes);
  }

  @Test
  void aRequestThatGoesOnWithoutItsClientKeepsItsRoom() throws Exception {
    rig = IngressRig.narrow(8 * SMALL);
    Call call;
    try (RawHttp2 raw = new RawHttp2(rig.port())) {
      raw.get(1, "/", "x-request-disconnect-disabled", "?1");
      call = rig.upstream.nextCall();
    }
    rig.eventually("the connection is closed", () -> rig.connections() == 0);
    assertThat(rig.requestBytes()).isPositive();
    call.respond("for nobody");
  }

  @Test
  void aBodyTakesRoomAsItComes() throws Exception {
    rig = IngressRig.narrow(64 << 10);
    RawClient raw = rig.raw();
    raw.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 60000\r\n\r\n" + "x".repeat(30_000));
    rig.eventually("what came is charged", () -> rig.requestBytes() > 30_000);
    raw.send("x".repeat(30_000));
    assertThat(raw.readHead()).startsWith("HTTP/1.1 503");
  }

  @Test
  void ofAClientThatAsksAndNeverReadsOneAnswerIsKept() throws Exception {
    rig = IngressRig.narrow(8 * SMALL);
    rig.upstream.behave(
        call -> call.respond(200, Headers.empty(), Buffer.buffer(new byte[16 << 20])));
    RawClient raw = rig.raw();
    raw.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n".repeat(20));
    rig.upstream.nextCall();
    rig.eventually("it is closed", () -> rig.connections() == 0);
    assertThat(rig.answered(200)).isEqualTo(1);
  }

  @Test
  void whoReadsGetsAllAnswersThatItAskedForAtOnce() throws Exception {
    rig = IngressRig.narrow(8 * SMALL, PATIENT);
    int size = 8 << 20;
    rig.upstream.behave(call -> call.respond(200, Headers.empty(), Buffer.buffer(new byte[size])));
    RawClient raw = rig.raw();
    raw.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n".repeat(5));
    for (int i = 0; i < 5; i++) {
      assertThat(raw.readHead()).startsWith("HTTP/1.1 200");
      assertThat(raw.read(size)).hasSize(size);
    }
  }

  /**
   * It is held back until the answer before it has left by and large: if a part of that still takes
   * the room it is refused, else it is taken. Of the two it is one, and nothing stays charged.
   */
  @Test
  void aBodyBehindAnUnreadAnswerIsRefusedOrComesAfterIt() throws Exception {
    rig = IngressRig.narrow(8 * SMALL, PATIENT);
    int size = 16 << 20;
    try (RawClient raw = new RawClient(rig.port()).get("/")) {
      rig.upstream.nextCall().respond(200, Headers.empty(), Buffer.buffer(new byte[size]));
      assertThat(raw.readHead()).startsWith("HTTP/1.1 200"); // from now on it stands unread
      raw.send(
          "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n"
              + "Connection: close\r\n\r\nbody");
      rig.upstream.behave(call -> call.respond("taken"));
      assertThat(raw.read(size)).hasSize(size);
      String last = raw.readToEnd();
      boolean refused = last.startsWith("HTTP/1.1 503 ");
      assertThat(refused || last.startsWith("HTTP/1.1 200 ") && last.endsWith("taken"))
          .as(last)
          .isTrue();
      rig.eventually("the room is given back", () -> rig.requestBytes() == 0);
    } catch (IOException late) {
      throw new AssertionError("answers were lost", late);
    }
  }
}
