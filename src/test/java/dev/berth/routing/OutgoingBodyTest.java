package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Pending;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.ManualSource;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.io.ByteArrayInputStream;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The sending half of a request's body: nothing before acceptance, then what credit allows. */
class OutgoingBodyTest {
  private static final int FRAME = LoopLimits.MAX_FRAME_BYTES;

  private final RoutingWorld world = new RoutingWorld();
  private final ManualSource source = new ManualSource();
  private RoutingWorld.Replica replica = world.local("r1", 1);
  private BusMessage.CallRequest request;
  private Future<Response> response;
  private Pending<Response> call;
  private long limit;

  private void start() {
    start(streamed());
  }

  /** And the replica has accepted it, and taken so many bytes of its body on account. */
  private void start(int creditBytes) {
    start();
    credit(creditBytes);
  }

  private Request streamed() {
    return Request.of("POST", "/", null, Headers.empty(), new Request.Body.Streamed(source));
  }

  private void endOfSource() {
    world.run(source::end);
  }

  private void start(Request what) {
    world.publish();
    call = world.handle().start(what);
    response = world.settled(call.future());
    request = replica.running.get(0);
  }

  private void credit(int bytes) {
    limit += bytes;
    replica.answer(request.source(), new BusMessage.RequestCredit(request.callId(), limit));
    world.run();
  }

  private List<BusMessage.RequestFrame> frames() {
    return world.sent(BusMessage.RequestFrame.class);
  }

  private String sentText() {
    StringBuilder text = new StringBuilder();
    frames().forEach(frame -> text.append(frame.data()));
    return text.toString();
  }

  @AfterEach
  void nothingIsLeft() {
    world.assertAtRest();
    assertThat(source.isFlowing()).isFalse();
  }

  @Test
  void nothingIsReadOrSentBeforeTheReplicaHasAccepted() {
    start();
    assertThat(request.bodyFollows()).isTrue();
    assertThat(request.request().bytes().length()).isZero();
    assertThat(source.isFlowing()).isFalse();
    assertThat(frames()).isEmpty();

    credit(1_000);
    assertThat(source.isFlowing()).isTrue();
    world.run(call::cancel);
  }

  @Test
  void aSmallWholeBodyTravelsInsideItsRequest() {
    start(Request.post("/", Buffer.buffer("x".repeat(FRAME))));
    assertThat(request.bodyFollows()).isFalse();
    assertThat(request.request().bytes().length()).isEqualTo(FRAME);
    replica.finish();
    assertThat(response.succeeded()).isTrue();
  }

  @Test
  void aLargeWholeBodyTravelsInsideItsRequestWithinTheInstance() {
    Buffer body = Buffer.buffer("x".repeat(3 * FRAME));
    start(Request.post("/", body));
    assertThat(request.bodyFollows()).isFalse();
    assertThat(request.request().bytes()).isSameAs(body);
    credit(10 * FRAME); // of a replica that errs
    assertThat(frames()).isEmpty();
    replica.finish();
    assertThat(response.succeeded()).isTrue();
  }

  @Test
  void aLargeWholeBodyThatAnotherInstanceRefusedTravelsWholeToALocalReplica() {
    goElsewhere();
    replica.ledger.tryAcquire(); // full, and the router does not know
    Buffer body = Buffer.buffer("x".repeat(3 * FRAME));
    world.publish();
    call = world.handle().start(Request.post("/", body));
    response = world.settled(call.future());
    assertThat(world.sent(BusMessage.CallRequest.class))
        .singleElement()
        .returns(true, BusMessage.CallRequest::bodyFollows);

    RoutingWorld.Replica full = replica;
    replica = world.local("r3", 1);
    world.publish();
    world.run();
    request = replica.running.get(0);
    assertThat(request.bodyFollows()).isFalse();
    assertThat(request.request().bytes()).isSameAs(body);
    replica.finish();
    assertThat(response.succeeded()).isTrue();
    full.ledger.complete();
  }

  private void goElsewhere() {
    RoutingWorld.Replica away = world.remote("r2", 1);
    world.remove(replica);
    replica = away;
  }

  @Test
  void aLargeWholeBodyGoesInFrames() {
    goElsewhere();
    String text = "x".repeat(FRAME) + "y".repeat(FRAME) + "z";
    start(Request.post("/", Buffer.buffer(text)));
    assertThat(request.request().bytes()).hasToString("x".repeat(FRAME));
    assertThat(request.bodyFollows()).isTrue();
    assertThat(frames()).isEmpty();
    credit(10 * FRAME);
    assertThat(sentText()).isEqualTo("y".repeat(FRAME) + "z");
    assertThat(frames()).extracting(BusMessage.RequestFrame::last).containsExactly(false, true);
    replica.finish();
  }

  @Test
  void piecesOfOneTickLeaveAsOneFrame() {
    start(10 * FRAME);
    source.give("a");
    source.give("b");
    assertThat(frames()).isEmpty();
    world.run();
    source.give("c");
    endOfSource();
    assertThat(frames()).extracting(frame -> frame.data().toString()).containsExactly("ab", "c");
    assertThat(frames()).extracting(BusMessage.RequestFrame::sequence).containsExactly(0, 1);
    assertThat(frames()).extracting(BusMessage.RequestFrame::last).containsExactly(false, true);
    replica.finish();
  }

  @Test
  void largePiecesAreNotCopied() {
    start(10 * FRAME);
    Buffer one = Buffer.buffer("x".repeat(16 << 10));
    Buffer two = Buffer.buffer("y".repeat(40 << 10));
    source.give(one);
    source.give("small");
    source.give(two);
    endOfSource();
    assertThat(frames()).first().extracting(BusMessage.RequestFrame::data).isSameAs(one);
    assertThat(frames()).extracting(frame -> frame.data().length()).startsWith(16 << 10, 40965);
    assertThat(sentText()).isEqualTo(one + "small" + two);
    replica.finish();
  }

  @Test
  void largePiecesThatWaitForCreditAreNotJoined() {
    start(10);
    Buffer two = Buffer.buffer("y".repeat(40 << 10));
    source.give("x".repeat(16 << 10));
    source.force(two);
    source.force("end");
    world.run();
    credit(10 * FRAME);
    assertThat(frames())
        .extracting(frame -> frame.data().length())
        .containsExactly(10, (16 << 10) - 10, 40 << 10, 3);
    assertThat(frames()).element(2).extracting(BusMessage.RequestFrame::data).isSameAs(two);
    world.run(call::cancel);
  }

  @Test
  void theSourceIsPausedWhenItsBytesHaveUsedUpTheCredit() {
    start(10);
    source.give("12345678");
    assertThat(source.isFlowing()).isTrue();
    source.give("90ab");
    assertThat(source.isFlowing()).isFalse();
    world.run();
    assertThat(sentText()).isEqualTo("1234567890");
    credit(1);
    assertThat(sentText()).isEqualTo("1234567890a");
    assertThat(source.isFlowing()).as("one byte waits, and there is no credit").isFalse();
    credit(5);
    assertThat(source.isFlowing()).isTrue();
    endOfSource();
    assertThat(sentText()).isEqualTo("1234567890ab");
    assertThat(frames().get(frames().size() - 1).last()).isTrue();
    replica.finish();
  }

  @Test
  void aCreditThatComesTwiceOrLateGrantsNothing() {
    start(3);
    replica.answer(request.source(), new BusMessage.RequestCredit(request.callId(), 3));
    replica.answer(request.source(), new BusMessage.RequestCredit(request.callId(), 1));
    world.run();
    source.give("abcdef");
    world.run();
    assertThat(sentText()).isEqualTo("abc");
    world.run(call::cancel);
  }

  @Test
  void theEndNeedsNoCredit() {
    start(3);
    source.give("abc");
    world.run();
    endOfSource();
    assertThat(frames())
        .last()
        .returns(true, BusMessage.RequestFrame::last)
        .returns(0, end -> end.data().length());
    replica.finish();
  }

  @Test
  void aRefusedRequestIsSentAgainWithItsFirstPiece() {
    goElsewhere();
    replica.ledger.tryAcquire(); // full, and the router does not know
    source.beginning("first");
    world.publish();
    call = world.handle().start(streamed());
    response = world.settled(call.future());
    assertThat(world.sent(BusMessage.CallRequest.class)).hasSize(1);
    assertThat(replica.running).isEmpty();
    assertThat(world.routers.bounds.queuedBytes()).isEqualTo("first".length());

    replica.ledger.complete();
    world.settled(replica.offer(0, 1, Duration.ofSeconds(1)));
    request = replica.running.get(0);
    assertThat(request.request().bytes()).hasToString("first");
    credit(100);
    source.give("rest");
    endOfSource();
    assertThat(sentText()).isEqualTo("rest");
    replica.finish();
    assertThat(response.succeeded()).isTrue();
  }

  @Test
  void aRefusalAfterAcceptanceIsNotTriedAgain() {
    start(100);
    replica.answer(request.source(), new BusMessage.CallRefused(request.callId(), Refusal.FULL, 0));
    world.run();
    assertThat(response.cause()).isInstanceOf(BerthException.OutcomeUnknown.class);
    assertThat(world.sent(BusMessage.CallRequest.class)).hasSize(1);
  }

  @Test
  void anAnswerBeforeTheEndStopsTheReading() {
    start(100);
    source.give("abc");
    replica.finish();
    assertThat(response.result().status()).isEqualTo(200);
    nothingIsLeft();
    int sent = frames().size();
    source.force("more");
    credit(100);
    assertThat(frames()).hasSize(sent);
  }

  @Test
  void aSourceThatFailsCancelsTheCall() {
    start(100);
    source.fail(new BerthException.Cancelled("its client left"));
    world.run();
    assertThat(response.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(replica.cancelled).hasSize(1);
  }

  @Test
  void aForeignFailureOfTheSourceIsTheCallersOwn() {
    start();
    source.fail(new IllegalStateException("disk"));
    world.run();
    assertThat(response.cause())
        .isInstanceOf(BerthException.HandlerFailed.class)
        .hasRootCauseMessage("disk");
    assertThat(replica.cancelled).hasSize(1);
  }

  @Test
  void cancellingStopsTheSource() {
    start(100);
    assertThat(source.isFlowing()).isTrue();
    world.run(call::cancel);
    assertThat(response.cause()).isInstanceOf(BerthException.Cancelled.class);
  }

  @Test
  void aDeadlineEndsItHoweverTheSourceStands() {
    world.publish();
    response = world.handle().withTimeout(Duration.ofMillis(100)).call(streamed());
    world.run();
    world.pass(Duration.ofMillis(200));
    assertThat(response.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(replica.cancelled).hasSize(1);
  }

  @Test
  void aSourceThatIgnoresPauseIsEndedBeforeItFillsTheMemory() {
    start(10);
    for (int i = 0; i < 40 && !response.isComplete(); i++) {
      source.force("x".repeat(FRAME));
      world.run();
    }
    assertThat(response.cause()).hasMessageContaining("a source that pauses");
  }

  @Test
  void anInputOfABlockingHandlerCannotBeSentOn() {
    world.publish();
    Request.Body input = new Request.Body.Input(new ByteArrayInputStream(new byte[0]));
    response =
        world.settled(world.handle().call(Request.of("POST", "/", null, Headers.empty(), input)));
    assertThat(response.cause())
        .isInstanceOf(BerthException.HandlerFailed.class)
        .hasMessageContaining("an input");
    assertThat(replica.ledger.ongoing()).isZero();
  }

  /** A replica that gives credit in moods, a source of random pieces, through the wire codec. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  void sentIsNeverMoreThanCreditedAndAllIsSentOnceAndInOrder(long seed) {
    Random random = new Random(seed);
    byte[] content = new byte[random.nextInt(3 << 20)];
    random.nextBytes(content);
    Buffer body = Buffer.buffer(content);
    start();
    long credited = 0;
    int given = 0;
    for (int steps = 0; given < content.length || steps == 0; steps++) {
      assertThat(steps).as("steps, seed %s", seed).isLessThan(100_000);
      if (random.nextInt(3) == 0) {
        int bytes = random.nextInt(2 * FRAME);
        credited += bytes;
        credit(bytes);
      }
      while (source.isFlowing() && given < content.length && random.nextInt(4) > 0) {
        int size =
            Math.min(
                content.length - given,
                1 + random.nextInt(random.nextInt(100) == 0 ? 4 * FRAME : 9_000));
        source.give(body.slice(given, given + size));
        given += size;
      }
      if (random.nextBoolean()) {
        world.run();
      }
      assertThat(sentBytes()).as("seed %s", seed).isLessThanOrEqualTo(credited);
      assertThat(given - sentBytes()).as("waits, seed %s", seed).isLessThanOrEqualTo(6L * FRAME);
    }
    source.end();
    credit(4 << 20);
    Buffer sent = Buffer.buffer();
    int expected = 0;
    for (BusMessage.RequestFrame frame : frames()) {
      Buffer wire = Buffer.buffer();
      WireCodec.encode(frame, wire);
      BusMessage.RequestFrame read = (BusMessage.RequestFrame) WireCodec.decode(0, wire);
      assertThat(read.sequence()).isEqualTo(expected++);
      assertThat(read.last()).isEqualTo(expected == frames().size());
      sent.appendBuffer(read.data());
    }
    assertThat(sent).as("seed %s", seed).isEqualTo(body);
    replica.finish();
  }

  private long sentBytes() {
    return frames().stream().mapToLong(frame -> frame.data().length()).sum();
  }
}
