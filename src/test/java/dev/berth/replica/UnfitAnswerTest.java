package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.BerthException.Kind;
import dev.berth.api.Response;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.port.HeadBytes;
import io.vertx.core.Future;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An answer that cannot be sent ends its call with the reason, wherever its router is. */
class UnfitAnswerTest {
  private static final Response LARGE =
      Response.text("ok").withHeader("x", "a".repeat(HeadBytes.MAX));

  private final ReplicaRig rig = new ReplicaRig();

  private CallFailed failedOf(Response response, boolean elsewhere) {
    return failedOf((request, context) -> Future.succeededFuture(response), elsewhere);
  }

  private CallFailed failedOf(dev.berth.api.AsyncHandler handler, boolean elsewhere) {
    Replica replica = rig.start(1, handler);
    rig.bus.take();
    if (elsewhere) {
      rig.send(rig.away(replica));
    } else {
      rig.sendHeld(replica, ReplicaRig.callId(1, 1));
    }
    rig.runAll();
    var answers = rig.bus.take().stream().filter(each -> !(each instanceof CallAccepted)).toList();
    assertThat(answers).hasSize(1).first().isInstanceOf(CallFailed.class);
    rig.pass(Duration.ofSeconds(1));
    assertThat(rig.bus.take()).as("once").isEmpty();
    rig.assertAtRest();
    return (CallFailed) answers.get(0);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void headOverItsLimitFailsAlikeHereAndElsewhere(boolean elsewhere) {
    CallFailed failed = failedOf(LARGE, elsewhere);
    assertThat(failed.kind()).isEqualTo(Kind.HANDLER_FAILED);
    assertThat(failed.message()).matches("head_bytes: 10486\\d\\d \\(expected: at most 1048576\\)");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void headOfAStreamFailsAlike(boolean elsewhere) {
    Response stream =
        Response.stream("text/plain", writer -> writer.write(io.vertx.core.buffer.Buffer.buffer()))
            .withHeader("x", "a".repeat(HeadBytes.MAX));
    assertThat(failedOf(stream, elsewhere).message()).startsWith("head_bytes: ");
  }

  @Test
  void responseWithoutAWireFormFailsAtOnceWithTheReason() {
    rig.bus.unfit(CallResponse.class::isInstance);
    CallFailed failed = failedOf(Response.text("ok"), true);
    assertThat(failed.kind()).isEqualTo(Kind.HANDLER_FAILED);
    assertThat(failed.message()).isEqualTo("the response could not be sent: no wire form");
  }

  @Test
  void headOfAStreamWithoutAWireFormFailsAtOnceWithTheReason() {
    rig.bus.unfit(CallResponse.class::isInstance);
    Response stream =
        Response.stream(
            "text/plain", writer -> writer.write(io.vertx.core.buffer.Buffer.buffer("a")));
    assertThat(failedOf(stream, true).message()).startsWith("the response could not be sent: ");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void messageOfAFailureIsCutAlikeHereAndElsewhere(boolean elsewhere) {
    CallFailed failed =
        failedOf(
            (request, context) ->
                Future.failedFuture(
                    new BerthException.HandlerFailed("b".repeat(2 * HeadBytes.MAX), null)),
            elsewhere);
    assertThat(failed.message()).hasSize(BusMessage.MAX_TEXT).startsWith("bbb").endsWith("b…");
  }
}
