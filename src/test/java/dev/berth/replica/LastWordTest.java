package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.AWAY;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.BerthException.Kind;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.RecallCall;
import dev.berth.protocol.BusMessage.StreamCredit;
import dev.berth.protocol.BusMessage.StreamReset;
import dev.berth.replica.ReplicaRig.Waiting;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * How a call ended without a whole answer reaches its router, though its link takes nothing now.
 */
class LastWordTest {
  private final ReplicaRig rig = new ReplicaRig();
  private final Waiting handler = new Waiting();
  private final Promise<Void> body = Promise.promise();
  private @Nullable ResponseWriter writer;
  private Replica replica;
  private ReplicaRig.Call call;

  private void begin(dev.berth.api.AsyncHandler by) {
    replica = rig.start(2, by);
    call = rig.away(replica);
    rig.send(call);
    rig.runAll();
    rig.bus.take();
  }

  private void fail() {
    handler.promises.remove().fail(new BerthException.HandlerFailed("as it is known", null));
    rig.runAll();
  }

  private void beginStream() {
    begin(
        (request, context) ->
            Future.succeededFuture(
                Response.stream(
                    "text/plain",
                    to -> {
                      writer = to;
                      return body.future();
                    })));
    writer.write(Buffer.buffer("half"));
    rig.runAll();
    rig.bus.take();
  }

  private void failStream() {
    body.fail(new BerthException.HandlerFailed("as it is known", null));
    rig.runAll();
  }

  private void recall() {
    rig.loop().onMessage(new RecallCall(call.callId, AWAY, call.attempt, replica.address()));
  }

  private void credit() {
    rig.loop().onMessage(new StreamCredit(call.callId, AWAY, replica.address(), 1 << 20));
  }

  @Test
  void failureThatItsLinkDoesNotTakeIsSentOnceWhenItDoes() {
    begin(handler);
    rig.bus.acceptOnly(none -> false);
    fail();
    rig.assertAtRest();
    rig.pass(Duration.ofSeconds(2));
    rig.bus.acceptOnly(any -> true);

    rig.pass(Duration.ofMillis(25));

    assertThat(rig.answer(CallFailed.class).message()).isEqualTo("as it is known");
    rig.pass(Duration.ofSeconds(1));
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void resetThatItsLinkDoesNotTakeIsSentOnceWhenItDoes() {
    beginStream();
    rig.bus.acceptOnly(none -> false);
    failStream();
    rig.assertAtRest();
    rig.bus.acceptOnly(any -> true);
    rig.pass(Duration.ofMillis(25));
    assertThat(rig.answer(StreamReset.class).kind()).isEqualTo(Kind.HANDLER_FAILED);
    rig.pass(Duration.ofSeconds(1));
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void recallOfACallThatFailedIsAnsweredWithItsFailure() {
    begin(handler);
    fail();
    rig.bus.take();
    for (int time = 0; time < 2; time++) {
      recall();
      CallFailed again = rig.answer(CallFailed.class);
      assertThat(again.kind()).isEqualTo(Kind.HANDLER_FAILED);
      assertThat(again.message()).isEqualTo("as it is known");
    }
  }

  @Test
  void creditOfAStreamThatWasCutIsAnsweredWithItsEnd() {
    beginStream();
    failStream();
    rig.bus.take();
    credit();
    assertThat(rig.answer(StreamReset.class).message()).isEqualTo("as it is known");
  }

  @Test
  void creditOfAStreamThatEndedWellIsNotAnswered() {
    beginStream();
    body.complete();
    rig.runAll();
    rig.bus.take();
    credit();
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void killedCallKeepsItsLastWordToo() {
    begin(handler);
    rig.bus.acceptOnly(none -> false);
    replica.kill();
    rig.runAll();
    rig.bus.acceptOnly(any -> true);
    rig.pass(Duration.ofMillis(50));
    List<BusMessage> words = rig.bus.take();
    assertThat(words).hasSize(1).first().isInstanceOf(CallFailed.class);
    assertThat(((CallFailed) words.get(0)).kind()).isEqualTo(Kind.OUTCOME_UNKNOWN);
  }

  @Test
  void lastWordForANodeThatIsGoneIsGivenUp() {
    begin(handler);
    rig.bus.acceptOnly(none -> false);
    fail();
    rig.bus.gone(true);
    rig.pass(Duration.ofMillis(50));
    rig.bus.gone(false);
    rig.bus.acceptOnly(any -> true);
    rig.pass(Duration.ofSeconds(1));
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void endsAreRememberedUpToABound() {
    RouterSession peer = new RouterSession(AWAY, true);
    for (int id = 0; id <= RouterSession.MAX_LAST_WORDS; id++) {
      peer.recordEnd(new StreamReset(id, Kind.TIMEOUT, "", 0));
    }
    assertThat(peer.lastWord(0)).isNull();
    assertThat(peer.lastWord(1)).isNotNull();
    assertThat(peer.lastWord(RouterSession.MAX_LAST_WORDS)).isNotNull();
  }
}
