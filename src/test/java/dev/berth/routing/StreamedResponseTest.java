package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.stream.StreamMemoryBudget;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The receiving half of a streamed response: order, credit, ends, and what a lost frame means. */
class StreamedResponseTest {
  private static final int WINDOW = LoopLimits.DEFAULTS.streamWindowBytes();
  private static final int FIRST = StreamMemoryBudget.FIRST_BYTES;

  private final RoutingWorld world = new RoutingWorld();
  private final RoutingWorld.Replica replica = world.local("r1", 1);
  private final List<String> received = new ArrayList<>();
  private Response.Body.Received body;
  private final FakeCaller caller = new FakeCaller();
  private BusMessage.CallRequest request;

  @BeforeEach
  void theHeadHasCome() {
    world.publish();
    world.settled(
        RoutedCall.start(world.router, world.routers.loop(0), Request.get("/"), caller, 0));
    request = replica.running.get(0);
    world.run(replica::beginStream);
    body = (Response.Body.Received) Objects.requireNonNull(caller.response).body();
    body.stream()
        .handler(piece -> received.add(piece.toString()))
        .endHandler(end -> received.add("end"))
        .exceptionHandler(failure -> received.add(failure.getClass().getSimpleName()));
  }

  private void frame(int sequence, String data, boolean last) {
    replica.answer(
        request.source(),
        new BusMessage.StreamFrame(request.callId(), sequence, Buffer.buffer(data), last, 0));
    world.run();
  }

  private void cancel() {
    body.cancel().run();
    world.run();
  }

  @AfterEach
  void nothingIsLeft() {
    world.assertAtRest();
    assertThat(caller.told).containsExactly("routed r1", "response of r1");
    assertThat(RoutingProbe.over(world.router)).isOne();
    assertThat(RoutingProbe.notOver(world.router)).isZero();
  }

  @Test
  void piecesComeInOrderAndThenTheEnd() {
    body.stream().resume();
    frame(0, "a", false);
    frame(1, "b", false);
    frame(2, "", true);
    assertThat(received).containsExactly("a", "b", "end");
  }

  @Test
  void aPausedStreamHoldsWhatComesAndGivesNoCredit() {
    frame(0, "a".repeat(6_000), false);
    frame(1, "b".repeat(6_000), false);
    frame(2, "c".repeat(4_000), false);
    assertThat(received).isEmpty();
    assertThat(world.sent(BusMessage.StreamCredit.class)).isEmpty();
    body.stream().fetch(1);
    assertThat(received).hasSize(1);
    body.stream().resume();
    assertThat(received).hasSize(3);
    assertThat(world.sent(BusMessage.StreamCredit.class))
        .singleElement()
        .satisfies(credit -> assertThat(credit.limit()).isEqualTo(12_000 + FIRST));
    assertThat(world.routers.bounds.streams.bytes()).isEqualTo(12_000 + FIRST - 16_000);
    cancel();
  }

  @Test
  void aReaderThatReadsIsGrantedMoreEachTimeUpToItsWindow() {
    body.stream().resume();
    long limit = FIRST;
    for (int i = 0; i < 400; i++) {
      frame(i, "x".repeat(5_000), false);
      List<BusMessage.StreamCredit> credits = world.sent(BusMessage.StreamCredit.class);
      limit = credits.isEmpty() ? limit : credits.get(credits.size() - 1).limit();
      assertThat(limit - 5_000L * (i + 1)).isBetween(5_000L, (long) WINDOW);
      assertThat(world.routers.bounds.streams.bytes()).isEqualTo(limit - 5_000L * (i + 1));
    }
    assertThat(limit - 2_000_000).isGreaterThan(WINDOW / 2);
    cancel();
  }

  @Test
  void aFrameThatComesTwiceIsDropped() {
    body.stream().resume();
    frame(0, "a", false);
    frame(0, "a", false);
    frame(1, "b", true);
    assertThat(received).containsExactly("a", "b", "end");
    assertThat(world.routers.loop(0).duplicates.sum()).isOne();
  }

  @Test
  void aLostFrameEndsTheStreamAndNeverLooksWhole() {
    body.stream().resume();
    frame(0, "a", false);
    frame(2, "c", true);
    assertThat(received).containsExactly("a", "OutcomeUnknown");
    assertThat(replica.cancelled).hasSize(1);
  }

  @Test
  void whoSendsMoreThanWasGrantedIsCancelledAndNothingOfItIsKept() {
    frame(0, "a".repeat(FIRST), false);
    frame(1, "b", false);
    body.stream().resume();
    assertThat(received).containsExactly("OutcomeUnknown");
    assertThat(replica.cancelled).hasSize(1);
  }

  @Test
  void aResetFailsTheStream() {
    body.stream().resume();
    frame(0, "a", false);
    replica.answer(
        request.source(),
        new BusMessage.StreamReset(
            request.callId(), BerthException.Kind.HANDLER_FAILED, "it broke", 0));
    world.run();
    assertThat(received).containsExactly("a", "HandlerFailed");
  }

  @Test
  void cancellingTellsTheReplicaAndFailsTheStream() {
    body.stream().resume();
    frame(0, "a", false);
    cancel();
    assertThat(received).containsExactly("a", "Cancelled");
    assertThat(replica.cancelled).hasSize(1);
  }

  @Test
  void aLostPeerFailsTheStream() {
    body.stream().resume();
    frame(0, "a", false);
    world.routers.nodeLost(replica.info.address().node());
    world.run();
    assertThat(received).containsExactly("a", "OutcomeUnknown");
  }

  @Test
  void gatheringStopsAtItsBoundAndCancels() {
    Future<Buffer> gathered = Response.of(200, Headers.empty(), body).bytes(5);
    frame(0, "abc", false);
    frame(1, "defg", false);
    assertThat(gathered.cause()).hasMessageContaining("over 5 bytes");
    assertThat(replica.cancelled).hasSize(1);
  }

  @Test
  void gatheringGivesTheWholeBody() {
    Future<Buffer> gathered = Response.of(200, Headers.empty(), body).bytes(100);
    frame(0, "abc", false);
    frame(1, "def", true);
    assertThat(gathered.result()).hasToString("abcdef");
  }
}
