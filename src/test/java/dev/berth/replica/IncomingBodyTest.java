package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.WINDOW;
import static dev.berth.replica.ReplicaRig.call;
import static dev.berth.replica.ReplicaRig.callId;
import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException.Kind;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.fakes.StreamedHandler;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.RequestCredit;
import dev.berth.protocol.BusMessage.RequestFrame;
import dev.berth.protocol.BusMessage.StreamFrame;
import dev.berth.protocol.BusMessage.StreamReset;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The receiving half of a request's body: what is credited, gathered, delivered, and given back.
 */
class IncomingBodyTest {
  private static final long ID = callId(1, 1);
  private static final int FRAME = BodyMemoryLimits.MAX_FRAME_BYTES;
  private static final Duration IDLE =
      Duration.ofNanos(ReplicaLimits.DEFAULTS.streamIdleTimeoutNanos());

  private final Streaming streaming = new Streaming();
  private final ReplicaRig.Waiting gathering = new ReplicaRig.Waiting();
  private ReplicaRig rig = new ReplicaRig();
  private long granted;

  /** Gives its stream to the test, which reads it and settles. */
  static final class Streaming implements StreamedHandler {
    final Promise<Response> answer = Promise.promise();
    final List<String> seen = new ArrayList<>();
    ReadStream<Buffer> stream;
    RequestContext context;
    long bytes;
    int calls;

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      calls++;
      this.context = context;
      stream = request.stream();
      stream.handler(
          piece -> {
            bytes += piece.length();
            seen.add(piece.length() <= 8 ? piece.toString() : "#" + piece.length());
          });
      stream.endHandler(end -> seen.add("end"));
      stream.exceptionHandler(failure -> seen.add(failure.getClass().getSimpleName()));
      return answer.future();
    }
  }

  private Replica open(AsyncHandler handler, String first) {
    Replica replica = rig.start(1, handler);
    rig.sendHeld(call(replica).id(ID).following(Buffer.buffer(first)));
    return replica;
  }

  private static Buffer zeros(int length) {
    return Buffer.buffer(new byte[length]);
  }

  /** What was granted since the last look. */
  private long credited() {
    long before = granted;
    for (BusMessage message : rig.bus.take()) {
      if (message instanceof RequestCredit credit) {
        granted = Math.max(granted, credit.limit());
      }
    }
    return granted - before;
  }

  @AfterEach
  void nothingIsLeft() {
    rig.assertAtRest();
  }

  // --- a handler that streams ---

  @Test
  void aStreamingHandlerIsCalledAtOnceAndReadsWhatComesInOrder() {
    Replica replica = open(streaming, "first");
    assertThat(streaming.calls).isOne();
    assertThat(rig.answer(RequestCredit.class).limit()).isEqualTo(WINDOW - "first".length());
    assertThat(rig.bodyBounds.windows().inUse()).isEqualTo(WINDOW);

    streaming.stream.resume();
    rig.frame(replica, ID, 0, Buffer.buffer("a"), false);
    rig.frame(replica, ID, 1, Buffer.buffer("b"), true);
    assertThat(streaming.seen).containsExactly("first", "a", "b", "end");

    streaming.answer.complete(Response.text("ok"));
    assertThat(rig.answer(CallResponse.class).response().status()).isEqualTo(200);
  }

  @Test
  void aSmallBodyTooComesAsAStreamAndNeedsNoCredit() {
    Replica replica = rig.start(1, streaming);
    assertThat(replica.slots().tryAcquire()).isTrue();
    ReplicaRig.Call small = call(replica).id(ID).following(Buffer.buffer("all"));
    small.bodyFollows = false;
    rig.send(small);
    streaming.stream.resume();
    assertThat(streaming.seen).containsExactly("all", "end");
    assertThat(rig.bus.take()).isEmpty();
    streaming.answer.complete(Response.text("ok"));
    assertThat(rig.answer(CallResponse.class).response().status()).isEqualTo(200);
  }

  @Test
  void aPausedHandlerGetsNoMoreThanItsWindowAndIsNobodysFault() {
    Replica replica = open(streaming, "");
    assertThat(credited()).isEqualTo(WINDOW);
    for (int i = 0; i < WINDOW / FRAME; i++) {
      rig.frame(replica, ID, i, zeros(FRAME), false);
    }
    rig.pass(IDLE.multipliedBy(3));
    assertThat(rig.bus.take()).as("no credit and no failure").isEmpty();
    assertThat(streaming.context.cancelled()).isFalse();

    streaming.stream.resume();
    assertThat(credited()).isEqualTo(WINDOW);
    rig.frame(replica, ID, WINDOW / FRAME, zeros(0), true);
    streaming.answer.complete(Response.text("ok"));
    assertThat(streaming.seen).endsWith("end");
    rig.bus.take();
  }

  @Test
  void whoSendsMoreThanWasGrantedIsAnsweredAndNothingOfItIsKept() {
    Replica replica = open(streaming, "");
    for (int i = 0; i < WINDOW / FRAME; i++) {
      rig.frame(replica, ID, i, zeros(FRAME), false);
    }
    rig.bus.take();
    rig.frame(replica, ID, WINDOW / FRAME, zeros(1), false);
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.OUTCOME_UNKNOWN);
    rig.runAll();
    streaming.stream.resume();
    assertThat(streaming.seen).containsExactly("Cancelled");
    streaming.answer.fail("gave up");
  }

  @Test
  void aBodyThatIsAwaitedAndDoesNotComeTimesOut() {
    Replica replica = open(streaming, "x");
    streaming.stream.resume();
    rig.bus.take();
    rig.pass(IDLE.multipliedBy(2));
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.TIMEOUT);
    assertThat(streaming.seen).containsExactly("x", "Cancelled");
    assertThat(replica.slots().ongoing()).as("until it settles").isOne();
    streaming.answer.complete(Response.text("late"));
  }

  @Test
  void aTrickleIsNotIdle() {
    Replica replica = open(streaming, "");
    streaming.stream.resume();
    for (int i = 0; i < 6; i++) {
      rig.pass(IDLE.dividedBy(2));
      rig.frame(replica, ID, i, Buffer.buffer("."), i == 5);
    }
    assertThat(streaming.seen).hasSize(7).endsWith("end");
    streaming.answer.complete(Response.text("ok"));
    rig.bus.take();
  }

  @Test
  void aLostFrameEndsTheRequestAndTheReaderLearnsIt() {
    Replica replica = open(streaming, "");
    streaming.stream.resume();
    rig.frame(replica, ID, 0, Buffer.buffer("a"), false);
    rig.bus.take();
    rig.frame(replica, ID, 2, Buffer.buffer("c"), true);
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.OUTCOME_UNKNOWN);
    rig.runAll();
    assertThat(streaming.seen).containsExactly("a", "Cancelled");
    streaming.answer.fail("gave up");
  }

  @Test
  void aFrameThatComesTwiceIsDropped() {
    Replica replica = open(streaming, "");
    streaming.stream.resume();
    rig.frame(replica, ID, 0, Buffer.buffer("a"), false);
    rig.frame(replica, ID, 0, Buffer.buffer("a"), false);
    rig.frame(replica, ID, 1, Buffer.buffer("b"), true);
    rig.frame(replica, ID, 1, Buffer.buffer("b"), true);
    assertThat(streaming.seen).containsExactly("a", "b", "end");
    assertThat(rig.loop().duplicates.sum()).isEqualTo(2);
    streaming.answer.complete(Response.text("ok"));
    rig.bus.take();
  }

  @Test
  void cancellingFailsTheStreamAndTheSlotComesBackWhenTheHandlerSettles() {
    Replica replica = open(streaming, "x");
    streaming.stream.resume();
    rig.cancel(replica, ID);
    rig.runAll();
    assertThat(streaming.seen).containsExactly("x", "Cancelled");
    assertThat(rig.bodyBounds.windows().inUse()).isZero();
    assertThat(replica.slots().ongoing()).isOne();
    rig.frame(replica, ID, 0, Buffer.buffer("late"), true);
    assertThat(streaming.seen).hasSize(2);
    streaming.answer.complete(Response.text("late"));
  }

  @Test
  void anAnswerBeforeTheEndOfTheBodyEndsItsCreditAndTellsWhoeverReadsOn() {
    Replica replica = open(streaming, "");
    rig.bus.take();
    rig.frame(replica, ID, 0, zeros(FRAME), false);
    streaming.answer.complete(Response.text("enough"));
    assertThat(rig.answer(CallResponse.class).response().status()).isEqualTo(200);
    assertAtRest(replica.slots());
    streaming.stream.resume();
    rig.runAll();
    assertThat(rig.bus.take()).as("no credit").isEmpty();
    assertThat(streaming.seen).last().isEqualTo("Cancelled");
  }

  @Test
  void anEchoAnswersWhileItStillReads() {
    Promise<Void> over = Promise.promise();
    AsyncHandler echo =
        (StreamedHandler)
            (request, context) -> {
              return Future.succeededFuture(
                  Response.stream(
                      "text/plain",
                      writer -> {
                        request.stream()
                            .exceptionHandler(over::tryFail)
                            .endHandler(end -> over.tryComplete())
                            .handler(writer::write)
                            .resume();
                        return over.future();
                      }));
            };
    Replica replica = open(echo, "1");
    rig.runAll();
    assertThat(frames()).isEqualTo("1");
    for (int i = 0; i < 5; i++) {
      rig.frame(replica, ID, i, Buffer.buffer("<" + i + ">"), false);
      rig.runAll();
      assertThat(frames()).isEqualTo("<" + i + ">");
    }
    rig.frame(replica, ID, 5, Buffer.buffer(""), true);
    rig.runAll();
    List<BusMessage> sent = rig.bus.take();
    assertThat(((StreamFrame) sent.get(sent.size() - 1)).last()).isTrue();
  }

  private String frames() {
    StringBuilder text = new StringBuilder();
    for (BusMessage message : rig.bus.take()) {
      if (message instanceof StreamFrame frame) {
        text.append(frame.data());
      }
    }
    return text.toString();
  }

  @Test
  void aReaderThatThrowsEndsItsRequest() {
    Replica replica = open(streaming, "");
    streaming.stream.handler(
        piece -> {
          throw new IllegalStateException("cannot read this");
        });
    streaming.stream.resume();
    rig.bus.take();
    rig.frame(replica, ID, 0, Buffer.buffer("x"), false);
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.HANDLER_FAILED);
    assertAtRest(replica.slots());
    rig.runAll();
  }

  @Test
  void aResetTellsTheCallerWhenTheAnswerIsOnItsWay() {
    Replica replica = open(streaming, "");
    streaming.answer.complete(
        Response.stream("text/plain", writer -> Promise.<Void>promise().future()));
    rig.runAll();
    rig.bus.take();
    rig.frame(replica, ID, 3, Buffer.buffer("gap"), false);
    assertThat(rig.answer(StreamReset.class).kind()).isEqualTo(Kind.OUTCOME_UNKNOWN);
    assertThat(replica.slots().ongoing()).as("its producer has not settled").isOne();
    rig.runAll();
    rig = new ReplicaRig(); // the producer of the test never settles
  }

  // --- a handler that does not ---

  @Test
  void aBodyIsGatheredWholeAsItWasSentWhileTheSlotIsHeld() {
    List<Buffer> bodies = new ArrayList<>();
    Replica replica =
        open(
            (request, context) -> {
              bodies.add(request.bytes());
              return Future.succeededFuture(Response.text("ok"));
            },
            "one,");
    rig.frame(replica, ID, 0, Buffer.buffer("two,"), false);
    assertThat(bodies).isEmpty();
    assertThat(replica.slots().ongoing()).isOne();
    assertThat(rig.bodyBounds.gathered().inUse()).isEqualTo(8);
    rig.bus.take();
    rig.frame(replica, ID, 1, Buffer.buffer("three"), true);
    assertThat(bodies).singleElement().hasToString("one,two,three");
    assertThat(rig.answer(CallResponse.class).response().status()).isEqualTo(200);
  }

  @Test
  void aDeclaredBodyOverTheBoundIsRefusedBeforeItIsRead() {
    Replica replica = rig.start(1, gathering);
    rig.sendHeld(
        call(replica)
            .id(ID)
            .header("content-length", Integer.toString((4 << 20) + 1))
            .following(zeros(FRAME)));
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.PAYLOAD_TOO_LARGE);
    assertThat(gathering.calls).isZero();
  }

  @Test
  void aBodyInsideItsRequestIsRefusedOverTheBound() {
    rig = new ReplicaRig(ReplicaLimits.DEFAULTS.withOwn(10_000_000_000L, 16, 100_000, "", null), 1);
    Replica replica = rig.start(1, gathering);
    rig.sendHeld(whole(replica, ID, 100_001));
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.PAYLOAD_TOO_LARGE);
    assertAtRest(replica.slots());
    assertThat(gathering.calls).isZero();
    rig.sendHeld(whole(replica, callId(2, 1), 100_000));
    gathering.answer();
    assertThat(rig.answer(CallResponse.class).response().status()).isEqualTo(200);
  }

  @Test
  void aBodyInsideItsRequestIsCountedFromItsCancelUntilItsHandlerSettles() {
    Replica replica = rig.start(1, gathering);
    rig.sendHeld(whole(replica, ID, 100_000));
    assertThat(rig.loop().bodyBounds.gathered().inUse()).as("by its ingress").isZero();
    rig.cancel(replica, ID);
    rig.cancel(replica, ID);
    assertThat(rig.loop().bodyBounds.gathered().inUse()).isEqualTo(100_000);
    gathering.answer();
    rig.tasks.runAll();
    assertThat(rig.loop().bodyBounds.gathered().inUse()).isZero();
    assertAtRest(replica.slots());
  }

  private static ReplicaRig.Call whole(Replica replica, long id, int bytes) {
    ReplicaRig.Call whole = call(replica).id(id).following(zeros(bytes));
    whole.bodyFollows = false;
    return whole;
  }

  @Test
  void anUndeclaredBodyIsRefusedWhenItGrowsOverTheBound() {
    rig = new ReplicaRig(ReplicaLimits.DEFAULTS.withOwn(10_000_000_000L, 16, 100_000, "", null), 1);
    Replica replica = open(gathering, "");
    rig.frame(replica, ID, 0, zeros(60_000), false);
    rig.bus.take();
    rig.frame(replica, ID, 1, zeros(60_000), false);
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.PAYLOAD_TOO_LARGE);
    assertThat(gathering.calls).isZero();
  }

  @Test
  void theInstanceGathersNoMoreThanItsBound() {
    rig = new ReplicaRig(ReplicaLimits.DEFAULTS, 1, new BodyMemoryLimits(WINDOW, WINDOW, 100_000));
    Replica replica = open(gathering, "");
    rig.frame(replica, ID, 0, zeros(60_000), false);
    rig.bus.take();
    rig.frame(replica, ID, 1, zeros(60_000), false);
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.BACK_PRESSURE);
  }

  @Test
  void aBodyWithoutRoomForAWindowGetsAFrameAndThenNone() {
    rig =
        new ReplicaRig(
            ReplicaLimits.DEFAULTS, 1, new BodyMemoryLimits(WINDOW, WINDOW + FRAME, 1 << 20));
    Replica replica = rig.start(3, gathering);
    int[] credits = {WINDOW, FRAME, -1};
    for (int i = 0; i < 3; i++) {
      rig.sendHeld(call(replica).id(callId(i, 1)).following(Buffer.buffer("")));
      if (credits[i] >= 0) {
        assertThat(rig.answer(RequestCredit.class).limit()).isEqualTo(credits[i]);
      } else {
        assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.BACK_PRESSURE);
      }
    }
    rig.cancel(replica, callId(0, 1));
    rig.cancel(replica, callId(1, 1));
  }

  @Test
  void cancellingWhileABodyIsGatheredFreesTheSlotAtOnce() {
    Replica replica = open(gathering, "x");
    rig.cancel(replica, ID);
    assertAtRest(replica.slots());
    assertThat(gathering.calls).isZero();
    rig.bus.take();
  }

  @Test
  void aBodyThatStopsComingWhileItIsGatheredTimesOut() {
    Replica replica = open(gathering, "x");
    rig.bus.take();
    rig.pass(IDLE.multipliedBy(2));
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.TIMEOUT);
  }

  @Test
  void killingTheReplicaEndsWhatIsGathered() {
    Replica replica = open(gathering, "x");
    rig.bus.take();
    rig.settled(replica.kill());
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.OUTCOME_UNKNOWN);
    assertThat(replica.slots().ongoing()).isZero();
  }

  // --- all of it, at random ---

  /** A sender that keeps to its credit and a reader of moods, through the wire codec. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  void whatIsUnderWayNeverExceedsTheWindowAndAllArrivesOnceAndInOrder(long seed) {
    Random random = new Random(seed);
    int total = random.nextInt(12 * WINDOW);
    byte[] content = new byte[total];
    random.nextBytes(content);
    Buffer body = Buffer.buffer(content);
    Buffer received = Buffer.buffer();
    Replica replica = open(streaming, "");
    streaming.stream.handler(received::appendBuffer);
    long credit = credited();
    int sent = 0;
    int sequence = 0;
    boolean last = false;
    int steps = 0;
    while (!streaming.seen.contains("end")) {
      assertThat(steps++).as("steps, seed %s", seed).isLessThan(100_000);
      switch (random.nextInt(4)) {
        case 0 -> streaming.stream.pause();
        case 1 -> streaming.stream.fetch(1 + random.nextInt(3));
        case 2 -> streaming.stream.resume();
        default -> {}
      }
      int size = (int) Math.min(Math.min(credit, total - sent), 1 + random.nextInt(FRAME));
      if (!last && (size > 0 || sent == total)) {
        last = sent + size == total && random.nextBoolean();
        send(
            new RequestFrame(
                ID,
                ReplicaRig.OWN,
                replica.address(),
                sequence++,
                body.slice(sent, sent + size),
                last));
        sent += size;
        credit -= size;
      }
      credit += credited();
      assertThat(sent + credit - received.length())
          .as("under way and allowed, seed %s", seed)
          .isLessThanOrEqualTo(WINDOW);
    }
    assertThat(received).as("seed %s", seed).isEqualTo(body);
    streaming.answer.complete(Response.text("ok"));
  }

  private void send(BusMessage message) {
    Buffer wire = Buffer.buffer();
    WireCodec.encode(message, wire);
    rig.loop().onMessage(WireCodec.decode(0, wire));
  }
}
