package dev.berth.replica;

import static dev.berth.replica.BodyMemoryLimits.MAX_FRAME_BYTES;
import static dev.berth.replica.ReplicaRig.AWAY;
import static dev.berth.replica.ReplicaRig.answering;
import static dev.berth.replica.ReplicaRig.call;
import static dev.berth.replica.ReplicaRig.callId;
import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import dev.berth.fakes.ManualSource;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.StreamFrame;
import dev.berth.protocol.BusMessage.StreamReset;
import dev.berth.protocol.LoadReport;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Streamed responses: bytes leave only against credit, in order, bounded, and end once. */
class ResponseStreamTest {
  private static final long ID = callId(1, 1);
  private static final Duration IDLE =
      Duration.ofNanos(ReplicaLimits.DEFAULTS.streamIdleTimeoutNanos());

  private final ReplicaRig rig = new ReplicaRig();
  private final Streaming handler = new Streaming();
  private final ManualSource source = new ManualSource(); // of a body that is passed on

  /** Hands its writer to the test, which plays the producer. */
  private static final class Streaming implements AsyncHandler {
    ResponseWriter writer = piece -> Future.failedFuture("no stream yet");
    Promise<Void> done = Promise.promise();
    RequestContext context;

    @Override
    public Future<Response> handle(dev.berth.api.Request request, RequestContext context) {
      this.context = context;
      return Future.succeededFuture(
          Response.stream(
              "text/plain",
              given -> {
                writer = given;
                return done.future();
              }));
    }
  }

  private Replica open(int window) {
    Replica replica = rig.start(1, handler);
    rig.sendHeld(call(replica).window(window));
    CallResponse head = rig.answer(CallResponse.class);
    assertThat(head.streamed()).isTrue();
    assertThat(head.body().length()).isZero();
    assertThat(LoadReport.ongoing(head.load())).isEqualTo(1);
    return replica;
  }

  private static Buffer bytes(int length) {
    byte[] content = new byte[length];
    new Random(length).nextBytes(content);
    return Buffer.buffer(content);
  }

  private List<StreamFrame> frames() {
    rig.runAll();
    return rig.bus.take().stream().map(StreamFrame.class::cast).toList();
  }

  @Test
  void piecesOfOneTickLeaveAsOneFrameAndTheirWritesComplete() {
    open(1_000);

    Future<Void> first = handler.writer.write("a");
    Future<Void> second = handler.writer.write("b");
    assertThat(rig.bus.take()).as("before the tick ends").isEmpty();
    assertThat(first.isComplete()).isFalse();

    List<StreamFrame> frames = frames();
    assertThat(frames).hasSize(1);
    assertThat(frames.get(0).data().toString()).isEqualTo("ab");
    assertThat(frames.get(0).last()).isFalse();
    assertThat(first.succeeded() && second.succeeded()).isTrue();

    handler.writer.write("c");
    StreamFrame next = frames().get(0);
    assertThat(next.sequence()).isEqualTo(1);
    assertThat(next.data().toString()).isEqualTo("c");
  }

  @Test
  void theLastFrameSaysSoAndReportsTheSlotAsFree() {
    Replica replica = open(1_000);
    handler.writer.write("all");

    handler.done.complete();

    List<StreamFrame> frames = frames();
    assertThat(frames).hasSize(1);
    assertThat(frames.get(0).last()).isTrue();
    assertThat(LoadReport.ongoing(frames.get(0).load())).isZero();
    assertAtRest(replica.slots());
    assertThat(rig.loop().invocations()).isZero();
  }

  @Test
  void aBodyThatEndsAfterAPauseIsClosedByAnEmptyFrameThatNeedsNoCredit() {
    Replica replica = open(3);
    handler.writer.write("abc");
    assertThat(frames()).hasSize(1);
    assertThat(replica.slots().ongoing()).isEqualTo(1);

    handler.done.complete();

    StreamFrame end = frames().get(0);
    assertThat(end.data().length()).isZero();
    assertThat(end.last()).isTrue();
    assertThat(end.sequence()).isEqualTo(1);
    assertAtRest(replica.slots());
  }

  @Test
  void aBodyWithoutPiecesIsOneMessage() {
    AsyncHandler empty = answering(Response.stream("a/b", writer -> Future.succeededFuture()));
    Replica replica = rig.settled(rig.busy(1, empty, ID));
    CallResponse answer = (CallResponse) rig.answer();
    assertThat(answer.streamed()).isFalse();
    assertThat(answer.body().length()).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void aBodyThatEndsInItsFirstTickIsOneMessageThatNeedsNoCredit() {
    List<Future<Void>> writes = new ArrayList<>();
    Replica replica = rig.start(1, answering(Response.stream("text/plain", hundred(writes, 600))));
    rig.sendHeld(call(replica).window(0));
    rig.runAll();

    CallResponse answer = (CallResponse) rig.answer();
    assertThat(answer.streamed()).isFalse();
    assertThat(answer.body().length()).isEqualTo(60_000);
    assertThat(LoadReport.ongoing(answer.load())).isZero();
    assertThat(writes).hasSize(100).allMatch(Future::succeeded);
    assertAtRest(replica.slots());
    assertThat(rig.loop().invocations()).isZero();
  }

  @Test
  void aBodyThatEndsInItsFirstTickAndIsTooLargeForOneMessageWaitsForCredit() {
    Replica replica =
        rig.start(1, answering(Response.stream("text/plain", hundred(new ArrayList<>(), 700))));
    rig.sendHeld(call(replica).window(5));
    rig.runAll();

    List<BusMessage> sent = rig.bus.take();
    assertThat(((CallResponse) sent.get(0)).streamed()).isTrue();
    assertThat(((CallResponse) sent.get(0)).follows()).as("not known").isEqualTo(-1);
    assertThat(((StreamFrame) sent.get(1)).data().length()).isEqualTo(5);
    assertThat(sent).hasSize(2);
  }

  private static Response.Producer hundred(List<Future<Void>> writes, int size) {
    return writer -> {
      for (int i = 0; i < 100; i++) {
        writes.add(writer.write(bytes(size)));
      }
      return Future.succeededFuture();
    };
  }

  private Replica produce(int window, Response.Producer producer) {
    Replica replica = rig.start(1, answering(Response.stream("text/plain", producer)));
    rig.sendHeld(call(replica).window(window));
    return replica;
  }

  @Test
  void aBodyThatEndsWithItsLastWriteInOneTickIsOneMessage() {
    Replica replica =
        produce(
            3_000,
            writer -> {
              for (int i = 1; i < 100; i++) {
                writer.write("data: " + i % 10 + "\n\n");
              }
              return writer.write("last");
            });

    CallResponse answer = rig.answer(CallResponse.class);
    assertThat(answer.streamed()).isFalse();
    assertThat(answer.body().toString())
        .hasSize(99 * 9 + 4)
        .startsWith("data: 1\n\ndata: 2\n\n")
        .endsWith("data: 9\n\nlast");
    assertThat(LoadReport.ongoing(answer.load())).isZero();
    rig.runAll();
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
    assertThat(rig.loop().invocations()).isZero();
    assertThat(rig.streams.bytes()).isZero();
  }

  @Test
  void anEndInTheSameTickAsAChunkIsOneFrame() {
    Replica replica = open(1_000);
    handler.writer.write("a").onSuccess(none -> handler.done.complete());

    List<StreamFrame> frames = frames();

    assertThat(frames).extracting(f -> f.data() + " " + f.last()).containsExactly("a true");
    assertAtRest(replica.slots());
  }

  @Test
  void theFirstChunkIsSentBeforeTheProducerGoesOn() {
    Promise<Void> pause = Promise.promise();
    Replica replica =
        produce(
            1_000,
            writer ->
                writer.write("a").compose(none -> pause.future()).compose(n -> writer.write("b")));

    List<BusMessage> first = rig.bus.take();
    assertThat(((CallResponse) first.get(0)).streamed()).isTrue();
    assertThat(((StreamFrame) first.get(1)).data().toString()).isEqualTo("a");
    assertThat(first).hasSize(2);
    pause.complete();
    assertThat(frames()).extracting(f -> f.data() + " " + f.last()).containsExactly("b true");
    assertAtRest(replica.slots());
  }

  @Test
  void anEndlessChainOfAwaitedWritesLeavesTheLoopToOthers() {
    open(1_000);
    int[] written = {0};
    writeNext(Buffer.buffer(), written);
    for (int i = 1; i <= 3; i++) {
      rig.tasks.runOne();
      assertThat(written[0]).isBetween(i, 2 * i);
    }
    rig.cancel(rig.replica(), ID);
  }

  @Test
  void writesBeyondTheCreditCompleteWhenTheyAreSent() {
    Replica replica = open(3);
    Future<Void> covered = handler.writer.write("abc");
    Future<Void> waiting = handler.writer.write("d");
    assertThat(frames()).extracting(f -> f.data().toString()).containsExactly("abc");
    assertThat(covered.succeeded()).isTrue();
    assertThat(waiting.isComplete()).isFalse();

    rig.credit(replica, ID, 1);

    assertThat(frames()).extracting(f -> f.data().toString()).containsExactly("d");
    assertThat(waiting.succeeded()).isTrue();
  }

  @Test
  void aBusyLinkCompletesNoFurtherWrite() {
    Replica replica = open(1_000);
    rig.bus.acceptOnly(sent -> false);
    Future<Void> first = handler.writer.write("a");
    rig.runAll();
    assertThat(first.succeeded()).as("accepted before the link refused it").isTrue();
    Future<Void> second = handler.writer.write("b");
    Future<Void> third = handler.writer.write("c");
    rig.runAll();
    assertThat(second.isComplete() || third.isComplete()).isFalse();
    assertThat(rig.streams.bytes()).isEqualTo(3);

    rig.bus.acceptOnly(sent -> true);
    rig.pass(Duration.ofMillis(25));

    assertThat(frames()).extracting(f -> f.data().toString()).containsExactly("abc");
    assertThat(second.succeeded() && third.succeeded()).isTrue();
    assertThat(rig.streams.bytes()).isZero();
    handler.done.complete();
    assertAtRest(replica.slots());
  }

  @Test
  void aProducerThatFailsAfterACompletedWriteResetsItsStreamBehindTheChunk() {
    Replica replica =
        produce(1_000, writer -> writer.write("a").compose(none -> Future.failedFuture("secret")));

    List<BusMessage> sent = rig.bus.take();
    assertThat(((CallResponse) sent.get(0)).streamed()).isTrue();
    assertThat(((StreamFrame) sent.get(1)).data().toString()).isEqualTo("a");
    assertThat(((StreamReset) sent.get(2)).kind()).isEqualTo(BerthException.Kind.HANDLER_FAILED);
    rig.runAll();
    assertThat(rig.bus.take()).isEmpty();
    assertThat(sent).hasSize(3);
    assertAtRest(replica.slots());
    assertThat(rig.loop().invocations()).isZero();
  }

  @Test
  void aProducerThatFailsWithoutACompletedWriteIsAFailedCall() {
    List<Future<Void>> writes = new ArrayList<>();
    Replica replica =
        produce(
            1_000,
            writer -> {
              writes.add(writer.write("a"));
              throw new IllegalStateException("secret");
            });

    assertThat(rig.answer(CallFailed.class).message()).doesNotContain("secret");
    rig.runAll();
    assertThat(writes.get(0).cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
  }

  @Test
  void aHeadWithoutAWireFormFailsOnceThoughAWriteHasCompleted() {
    rig.bus.unfit(CallResponse.class::isInstance);
    Replica replica =
        produce(1_000, writer -> writer.write("a").compose(none -> Future.failedFuture("later")));

    assertThat(rig.answer(CallFailed.class).message()).contains("no wire form");
    rig.runAll();
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
  }

  @Test
  void aCancelBetweenACompletedWriteAndItsSendingFailsTheNextWrite() {
    Replica replica = open(1_000);
    Future<Void> first = handler.writer.write("a").onSuccess(none -> rig.cancel(rig.replica(), ID));
    assertThat(frames()).isEmpty();

    assertThat(first.succeeded()).isTrue();
    assertThat(handler.writer.write("b").cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(rig.streams.bytes()).isZero();
    assertThat(replica.slots().ongoing()).isEqualTo(1);
    handler.done.complete();
    assertAtRest(replica.slots());
    assertThat(rig.loop().invocations()).isZero();
  }

  @Test
  void aCompletedWriteDoesNotCountAgainstTheBoundOfWaitingBytes() {
    Replica replica = open(4 << 20);
    Buffer large = bytes(ReplicaLimits.DEFAULTS.streamBufferBytes());
    Future<Void> second = handler.writer.write("x").compose(none -> handler.writer.write(large));

    assertThat(sentBytes()).isEqualTo(large.length() + 1);
    assertThat(second.succeeded()).isTrue();
    handler.done.complete();
    assertAtRest(replica.slots());
  }

  @Test
  void joinedChunksChangeNeitherTheWritersBufferNorAFrame() {
    open(1_000);
    Buffer own = Buffer.buffer("a");
    handler.writer.write(own);
    handler.writer.write("b");
    handler.writer.write("c");
    StreamFrame frame = frames().get(0);
    rig.bus.acceptOnly(sent -> false);
    handler.writer.write("d");
    handler.writer.write("e");
    rig.runAll();
    handler.writer.write("f");
    rig.bus.acceptOnly(sent -> true);
    rig.pass(Duration.ofMillis(25));

    assertThat(frames()).extracting(f -> f.data().toString()).containsExactly("def");
    assertThat(own.toString()).isEqualTo("a");
    assertThat(frame.data().toString()).isEqualTo("abc");
  }

  @Test
  void lateSmallerCreditTakesNothingBack() {
    Replica replica = open(0);
    rig.credit(replica, ID, 8);
    rig.loop()
        .onMessage(
            new BusMessage.StreamCredit(ID, ReplicaRig.OWN, replica.address(), 3)); // overtaken
    handler.writer.write(Buffer.buffer("01234567"));
    assertThat(frames()).extracting(f -> f.data().toString()).containsExactly("01234567");
  }

  @Test
  void noMoreBytesLeaveThanTheReceiverGaveCreditFor() {
    Replica replica = open(10);
    Future<Void> write = handler.writer.write(Buffer.buffer("0123456789ABCDE"));

    assertThat(frames()).extracting(f -> f.data().toString()).containsExactly("0123456789");
    assertThat(write.isComplete()).isFalse();
    rig.credit(replica, ID, 3);
    assertThat(frames()).extracting(f -> f.data().toString()).containsExactly("ABC");
    assertThat(write.isComplete()).isFalse();
    rig.credit(replica, ID, 100);
    assertThat(frames()).extracting(f -> f.data().toString()).containsExactly("DE");
    assertThat(write.succeeded()).isTrue();

    handler.writer.write(bytes(200));
    assertThat(frames()).extracting(f -> f.data().length()).containsExactly(98);
  }

  @Test
  void creditThatIsNotPositiveOrForAnotherCallIsIgnored() {
    Replica replica = open(0);
    handler.writer.write("x");

    rig.credit(replica, ID, 0);
    rig.credit(replica, ID, -5);
    rig.credit(replica, callId(1, 2), 5);
    rig.credit(replica, callId(7, 1), 5);
    assertThat(frames()).isEmpty();
    rig.credit(replica, ID, 1);

    assertThat(frames()).hasSize(1);
  }

  @Test
  void fullFramesLeaveBeforeTheTickEnds() {
    open(1 << 20);
    Future<Void> write = handler.writer.write(bytes(MAX_FRAME_BYTES));
    assertThat(rig.bus.take()).hasSize(1);
    assertThat(write.isComplete()).as("its callbacks get a task of their own").isFalse();
    rig.runAll();
    assertThat(write.succeeded()).isTrue();
  }

  @Test
  void aWriterThatAwaitsEachPieceIsDrivenByCredit() {
    Replica replica = open(4);
    int[] written = {0};
    writeNext(Buffer.buffer("x"), written);
    rig.runAll();
    assertThat(written[0]).isEqualTo(4);

    rig.credit(replica, ID, 6);
    rig.runAll();

    assertThat(written[0]).isEqualTo(10);
    handler.done.complete();
  }

  private void writeNext(Buffer piece, int[] written) {
    Future<Void> write = handler.writer.write(piece);
    if (written[0] < 1_000) {
      write.onSuccess(none -> written[0]++).onSuccess(none -> writeNext(piece, written));
    }
  }

  @Test
  void aWholeBodyTooLargeForOneMessageIsStreamedAndKeepsItsSlotUntilItIsSent() {
    Buffer body = bytes(MAX_FRAME_BYTES + 1);
    Replica replica = rig.start(1, answering(Response.of(200, "a/b", body)));
    assertThat(replica.slots().tryAcquire()).isTrue();
    long others = rig.streams.boundBytes() / 4 * 3 - MAX_FRAME_BYTES;
    rig.streams.hold(others); // so that it may not leave at once

    rig.send(call(replica).window(MAX_FRAME_BYTES));

    List<BusMessage> sent = rig.bus.take();
    assertThat(((CallResponse) sent.get(0)).streamed()).isTrue();
    assertThat(((CallResponse) sent.get(0)).follows()).isEqualTo(MAX_FRAME_BYTES + 1);
    assertThat(((StreamFrame) sent.get(1)).data()).isEqualTo(body.slice(0, MAX_FRAME_BYTES));
    assertThat(sent).hasSize(2);
    assertThat(replica.slots().ongoing()).isEqualTo(1);
    assertThat(rig.streams.bytes()).as("what waits at its writer").isEqualTo(others + 1);
    rig.credit(replica, ID, 100);
    assertThat(rig.streams.bytes()).isEqualTo(others);
    StreamFrame last = (StreamFrame) rig.answer();
    assertThat(last.last()).isTrue();
    assertThat(last.data()).isEqualTo(body.slice(MAX_FRAME_BYTES, MAX_FRAME_BYTES + 1));
    assertAtRest(replica.slots());
  }

  @Test
  void aWholeBodyTooLargeForOneMessageLeavesAtOnceWithinTheInstanceWhileThereIsRoom() {
    Buffer body = bytes(1 << 20);
    Replica replica = rig.busy(1, answering(Response.of(200, "a/b", body)), ID);

    CallResponse answer = rig.answer(CallResponse.class);
    assertThat(answer.streamed()).isFalse();
    assertThat(answer.body()).isSameAs(body);
    assertThat(rig.streams.bytes()).as("until its router has it").isEqualTo(1 << 20);
    assertAtRest(replica.slots());
  }

  @Test
  void aWholeBodyTooLargeForOneMessageThatCannotLeaveHoldsNoRoom() {
    Replica replica = rig.start(1, answering(Response.of(200, "a/b", bytes(1 << 20))));
    rig.bus.acceptOnly(sent -> false);
    rig.sendHeld(replica, ID);
    assertThat(rig.streams.bytes()).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void aWholeBodyTooLargeForOneMessageLeavesInFramesForAnotherInstance() {
    Replica replica = rig.start(1, answering(Response.of(200, "a/b", bytes(1 << 20))));

    rig.send(call(replica).from(AWAY).ifFree().window(MAX_FRAME_BYTES));

    List<BusMessage> sent = rig.bus.take();
    assertThat(sent).hasSize(3);
    assertThat(((CallResponse) sent.get(1)).streamed()).isTrue();
    assertThat(((CallResponse) sent.get(1)).follows()).isEqualTo(1 << 20);
    assertThat(rig.streams.bytes()).isEqualTo((1 << 20) - MAX_FRAME_BYTES);
  }

  @Test
  void aWholeBodyOfSixtyFourKibibytesRidesInTheMessage() {
    Replica replica = rig.busy(1, answering(Response.of(200, "a/b", bytes(MAX_FRAME_BYTES))), ID);
    assertThat(rig.answer(CallResponse.class).streamed()).isFalse();
  }

  @Test
  void anyMixOfPiecesAndCreditArrivesWholeAndInOrder() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      ReplicaRig fresh = new ReplicaRig();
      Streaming streaming = new Streaming();
      Replica replica = fresh.start(1, streaming);
      assertThat(replica.slots().tryAcquire()).isTrue();
      fresh.send(call(replica).window(random.nextInt(1_000)));
      Buffer expected = Buffer.buffer();
      Buffer received = Buffer.buffer();
      List<Future<Void>> writes = new ArrayList<>();
      int pieces = random.nextInt(40);
      for (int i = 0; i < pieces; i++) {
        Buffer piece = bytes(random.nextInt(10) == 0 ? random.nextInt(150_000) : random.nextInt(9));
        long unsent = expected.length() - received(fresh, received).length();
        if (unsent + piece.length() < 900_000) {
          expected.appendBuffer(piece);
          writes.add(streaming.writer.write(piece));
        }
        if (random.nextBoolean()) {
          fresh.tasks.runOne();
        }
        if (random.nextInt(3) == 0) {
          fresh.credit(replica, ID, random.nextInt(100_000));
        }
      }
      streaming.done.complete();
      for (int i = 0; i < 400 && replica.slots().ongoing() > 0; i++) {
        fresh.runAll();
        fresh.credit(replica, ID, 1 + random.nextInt(100_000));
      }
      fresh.runAll();
      assertThat(received(fresh, received)).as("seed %d round %d", seed, round).isEqualTo(expected);
      assertThat(writes).as("seed %d round %d", seed, round).allMatch(Future::succeeded);
      assertAtRest(replica.slots());
    }
  }

  /** Adds what has arrived since, in pieces that may travel. */
  private static Buffer received(ReplicaRig from, Buffer so) {
    for (BusMessage message : from.bus.take()) {
      if (message instanceof StreamFrame frame) {
        assertThat(frame.data().length()).isLessThanOrEqualTo(MAX_FRAME_BYTES);
        so.appendBuffer(frame.data());
      }
    }
    return so;
  }

  // --- bounds ---

  @Test
  void aProducerThatDoesNotAwaitIsFailedAtTheBoundOfWaitingBytes() {
    Replica replica = open(0);
    int bound = ReplicaLimits.DEFAULTS.streamBufferBytes();
    Future<Void> first = handler.writer.write(bytes(bound / 2));
    Future<Void> beyond = handler.writer.write(bytes(bound / 2 + 1));
    Future<Void> again = handler.writer.write(bytes(bound));

    assertThat(beyond.cause()).isInstanceOf(BerthException.HandlerFailed.class);
    assertThat(beyond.cause()).hasMessageContaining("stream_buffer_bytes");
    assertThat(again.failed()).isTrue();
    rig.runAll();

    StreamReset reset = rig.answer(StreamReset.class);
    assertThat(reset.kind()).isEqualTo(BerthException.Kind.HANDLER_FAILED);
    assertThat(first.failed()).isTrue();
    assertThat(handler.context.cancelled()).isTrue();
    assertThat(replica.slots().ongoing()).as("until the producer settles").isEqualTo(1);
    handler.done.fail("stopped");
    rig.runAll();
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
  }

  @Test
  void whatPiecesCostIsGivenBackAsTheyLeave() {
    open(0);
    int most = ReplicaLimits.DEFAULTS.streamBufferBytes() / ResponseStream.PIECE_OVERHEAD_BYTES;
    for (int i = 0; i <= most; i++) {
      Future<Void> written = handler.writer.write(Buffer.buffer(0));
      rig.runAll();
      assertThat(written.succeeded()).isTrue();
    }
  }

  @Test
  void manyTinyPiecesAreBoundedByWhatTheyCostNotByTheirBytes() {
    open(0);
    int accepted = 0;
    while (!handler.writer.write("x").failed()) {
      accepted++;
    }

    assertThat(accepted)
        .isEqualTo(
            ReplicaLimits.DEFAULTS.streamBufferBytes() / (1 + ResponseStream.PIECE_OVERHEAD_BYTES));
  }

  @Test
  void onePieceAloneMayBeLargerThanTheBound() {
    Replica replica = open(0);
    Future<Void> write =
        handler.writer.write(bytes(2 * ReplicaLimits.DEFAULTS.streamBufferBytes()));
    rig.runAll();

    rig.credit(replica, ID, Integer.MAX_VALUE);
    rig.runAll();

    assertThat(write.succeeded()).isTrue();
  }

  @Test
  void aProducerThatDoesNotAwaitIsFailedAtTheBoundWhileTheLinkIsBusyWhateverItsCredit() {
    open(8 << 20);
    rig.bus.acceptOnly(sent -> false);
    Buffer piece = bytes(1_024);
    int accepted = 0;
    while (accepted < 8_000 && !handler.writer.write(piece).failed()) {
      accepted++;
    }
    assertThat(accepted * 1_024)
        .isLessThanOrEqualTo(ReplicaLimits.DEFAULTS.streamBufferBytes() + MAX_FRAME_BYTES);
    rig.bus.acceptOnly(sent -> true);
    rig.runAll();
    assertThat(rig.bus.take()).last().isInstanceOf(StreamReset.class);
  }

  @Test
  void aThreadThatWritesWithoutAwaitingCannotOutrunTheBound() {
    open(0);
    int[] accepted = {0};
    ReplicaRig.elsewhere(
        () -> {
          for (int i = 0; i < 100; i++) {
            if (!handler.writer.write(bytes(64 * 1024)).failed()) {
              accepted[0]++;
            }
          }
        });

    assertThat(accepted[0]).as("though the loop has not run").isEqualTo(15);
    rig.runAll();
    rig.answer(StreamReset.class);
  }

  @Test
  void aReceiverThatGivesNoCreditForTheIdleTimeIsGivenUp() {
    Replica replica = open(4);
    Future<Void> write = handler.writer.write("more than four");
    rig.runAll();
    rig.bus.take();

    rig.pass(IDLE.minusMillis(25));
    assertThat(rig.bus.take()).isEmpty();
    rig.pass(Duration.ofMillis(25));

    StreamReset reset = rig.answer(StreamReset.class);
    assertThat(reset.kind()).isEqualTo(BerthException.Kind.TIMEOUT);
    assertThat(reset.message()).contains("stream_idle_timeout_s");
    assertThat(write.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(handler.context.cancelled()).isTrue();
    handler.done.complete();
    assertAtRest(replica.slots());
  }

  @Test
  void everyCreditStartsTheIdleTimeAnew() {
    Replica replica = open(1);
    handler.writer.write("a long text");
    for (int i = 0; i < 5; i++) {
      rig.pass(IDLE.minusMillis(100));
      rig.credit(replica, ID, 1);
      assertThat(frames()).isNotEmpty();
    }
  }

  @Test
  void aSlowProducerWithCreditIsNotIdle() {
    open(1_000);
    handler.writer.write("a");
    assertThat(frames()).hasSize(1);
    rig.pass(IDLE.multipliedBy(3));
    assertThat(rig.bus.take()).isEmpty();
    assertThat(handler.context.cancelled()).isFalse();
  }

  @Test
  void aFrameThePeerCannotTakeNowIsTriedAgainAndNothingIsLostOrDoubled() {
    Replica replica = open(1_000);
    handler.writer.write("abc");
    rig.bus.acceptOnly(sent -> false);
    rig.runAll();
    handler.done.complete();
    rig.runAll();
    rig.pass(Duration.ofSeconds(1));
    assertThat(rig.bus.take()).isEmpty();

    rig.bus.acceptOnly(sent -> true);
    rig.pass(Duration.ofMillis(25));

    StreamFrame frame = rig.answer(StreamFrame.class);
    assertThat(frame.sequence()).isZero();
    assertThat(frame.data().toString()).isEqualTo("abc");
    assertThat(frame.last()).isTrue();
    assertAtRest(replica.slots());
    assertThat(rig.loop().invocations()).isZero();
  }

  @Test
  void aPeerThatNeverTakesTheHeadIsGivenUpAfterTheIdleTime() {
    Replica replica = rig.start(1, handler);
    assertThat(replica.slots().tryAcquire()).isTrue();
    rig.bus.acceptOnly(sent -> false);
    rig.send(call(replica));

    rig.pass(IDLE.plusMillis(25));

    assertThat(handler.context.cancelled()).isTrue();
    handler.done.complete();
    assertAtRest(replica.slots());
  }

  // --- ends ---

  @Test
  void aProducerThatFailsResetsItsStreamSoThatAShortBodyNeverLooksWhole() {
    Replica replica = open(1_000);
    handler.writer.write("half");
    frames();
    handler.writer.write("lost");

    handler.done.fail(new IllegalStateException("secret"));

    StreamReset reset = rig.answer(StreamReset.class);
    assertThat(reset.kind()).isEqualTo(BerthException.Kind.HANDLER_FAILED);
    assertThat(reset.message()).doesNotContain("secret");
    assertThat(LoadReport.ongoing(reset.load())).isZero();
    rig.runAll();
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
  }

  @ParameterizedTest
  @ValueSource(strings = {"throws", "fails", "null"})
  void aProducerThatFailsBeforeItsHeadLeftIsAFailedCall(String how) {
    Response.Producer producer =
        writer ->
            switch (how) {
              case "throws" -> throw new IllegalStateException("secret");
              case "fails" -> Future.failedFuture("secret");
              default -> null;
            };
    Replica replica = rig.busy(1, answering(Response.stream("a/b", producer)), ID);
    rig.runAll();

    CallFailed failed = rig.answer(CallFailed.class);
    assertThat(failed.kind()).isEqualTo(BerthException.Kind.HANDLER_FAILED);
    assertThat(failed.message()).doesNotContain("secret");
    assertAtRest(replica.slots());
  }

  @Test
  void aCancelFailsWaitingWritesAndKeepsTheSlotUntilTheProducerSettles() {
    Replica replica = open(0);
    Future<Void> waiting = handler.writer.write("x");
    rig.runAll();

    rig.cancel(replica, ID);
    rig.runAll();

    assertThat(waiting.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(handler.writer.write("y").cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(replica.slots().ongoing()).isEqualTo(1);
    handler.done.complete();
    assertAtRest(replica.slots());
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void aCancelOfAFinishedButUnsentBodyFreesItsSlotAtOnce() {
    Replica replica = open(0);
    handler.writer.write("x");
    handler.done.complete();
    rig.runAll();
    assertThat(replica.slots().ongoing()).isEqualTo(1);

    rig.cancel(replica, ID);

    assertAtRest(replica.slots());
  }

  @Test
  void aWriteAfterTheEndFails() {
    open(100);
    handler.done.complete();
    rig.runAll();
    assertThat(handler.writer.write("late").failed()).isTrue();
  }

  @Test
  void aProducerThatSettlesOnAnotherThreadHopsToTheLoop() {
    Replica replica = open(100);
    ReplicaRig.elsewhere(
        () -> {
          handler.writer.write("x");
          handler.done.complete();
        });
    assertThat(rig.bus.take()).isEmpty();

    assertThat(frames()).extracting(StreamFrame::last).containsExactly(true);
    assertAtRest(replica.slots());
  }

  // --- relay ---

  private Replica relay(int window) {
    Replica replica = rig.start(1, answering(source.response()));
    rig.sendHeld(call(replica).window(window));
    assertThat(rig.answer(CallResponse.class).streamed()).isTrue();
    return replica;
  }

  @Test
  void aReceivedBodyIsPassedOnPieceByPiece() {
    Replica replica = relay(1_000);

    source.give("one ");
    assertThat(frames()).extracting(f -> f.data().toString()).containsExactly("one ");
    source.give("two");
    source.end();

    assertThat(frames()).extracting(f -> f.data() + " " + f.last()).containsExactly("two true");
    assertAtRest(replica.slots());
    assertThat(source.cancels()).isZero();
  }

  @Test
  void aSlowReceiverPausesTheSourceAndCreditResumesIt() {
    Replica replica = relay(10);
    int given = 0;
    for (; source.isFlowing(); given++) {
      source.give(bytes(MAX_FRAME_BYTES / 2));
    }
    assertThat(given).isEqualTo(3);
    int sent = sentBytes();
    assertThat(source.isFlowing()).isFalse();
    rig.credit(replica, ID, 1 << 20);
    rig.runAll();
    for (; given < 10; given++) {
      source.give(bytes(MAX_FRAME_BYTES / 2));
    }
    source.end();
    assertThat(sent + sentBytes()).isEqualTo(5 * MAX_FRAME_BYTES);
    assertAtRest(replica.slots());
  }

  private int sentBytes() {
    return frames().stream().mapToInt(frame -> frame.data().length()).sum();
  }

  @Test
  void aReceiverThatLeavesCancelsTheSourceAndFreesTheSlot() {
    Replica replica = relay(10);

    rig.cancel(replica, ID);
    rig.runAll();

    assertThat(source.cancels()).isEqualTo(1);
    assertAtRest(replica.slots());
    source.force("late");
    source.end();
    rig.runAll();
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void aSourceThatFailsResetsTheStreamWithItsOwnKind() {
    Replica replica = relay(10);

    source.fail(new BerthException.OutcomeUnknown("peer lost"));

    assertThat(rig.answer(StreamReset.class).kind()).isEqualTo(BerthException.Kind.OUTCOME_UNKNOWN);
    rig.runAll();
    assertThat(source.cancels()).as("it has ended by itself").isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void aSourceThatIgnoresItsPauseIsCutAtTheBound() {
    Replica replica = relay(0);
    int sent = 0;
    while (source.cancels() == 0 && sent < 100) {
      source.force(bytes(MAX_FRAME_BYTES));
      rig.runAll();
      sent++;
    }

    assertThat(sent * (long) MAX_FRAME_BYTES)
        .isLessThanOrEqualTo(ReplicaLimits.DEFAULTS.streamBufferBytes() + 2L * MAX_FRAME_BYTES);
    rig.answer(StreamReset.class);
    assertAtRest(replica.slots());
  }

  // --- others ---

  @Test
  void aStreamedResponseStillHasItsDeadline() {
    Replica replica = rig.start(1, handler);
    rig.send(rig.away(replica).deadlineMs(500).window(1_000));
    assertThat(rig.bus.take().get(0)).isInstanceOf(CallAccepted.class);
    handler.writer.write("x");

    rig.pass(Duration.ofMillis(500));

    assertThat(handler.context.cancelled()).isTrue();
    handler.done.complete();
    assertAtRest(replica.slots());
  }
}
