package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.call;
import static dev.berth.replica.ReplicaRig.callId;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BatchHandler;
import dev.berth.api.BatchResult;
import dev.berth.api.BerthException;
import dev.berth.api.BlockingHandler;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.HandlerTime.BatchPlace;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.port.ExplainedParent;
import dev.berth.replica.ReplicaRig.Waiting;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.Collections;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** What a replica says of the time of a request that is explained. */
class ExplainedInvocationTest {
  private static final long MS = 1_000_000;
  private static final long ID = callId(1, 1);

  private ReplicaRig rig = new ReplicaRig();
  private final Waiting handler = new Waiting();

  /** Runs a request that is explained. */
  private Replica explained(ReplicaHandler of) {
    Replica replica = rig.start(1, of);
    rig.sendHeld(call(replica).explained());
    return replica;
  }

  @Test
  void theAnswerSaysHowLongItsHandlerTook() {
    Replica replica = explained(handler);
    rig.clock.advanceNanos(5 * MS);
    handler.answer();
    assertThat(rig.answer(CallResponse.class).time())
        .isEqualTo(new HandlerTime(0, 5 * MS, RequestFailure.NONE));
  }

  @Test
  void aFailureSaysItToo() {
    Replica replica = explained(handler);
    rig.clock.advanceNanos(5 * MS);
    handler.promises.remove().fail(new IllegalStateException("no stock"));
    CallFailed told = rig.answer(CallFailed.class);
    assertThat(told.time())
        .isEqualTo(
            new HandlerTime(
                0,
                5 * MS,
                new RequestFailure("app#echo", "java.lang.IllegalStateException", "no stock")));
    assertThat(told.message()).as("its caller is told no more than before").doesNotContain("stock");
  }

  /** Who only passes a failure on is not who failed. */
  @Test
  void aFailureOfACallIsThatOfTheDeploymentCalled() {
    explained(handler);
    RequestFailure why = new RequestFailure("app#prices", "java.lang.Error", "sold out");
    BerthException told = new BerthException.HandlerFailed("replica app#prices#1: failed", null);
    ((ExplainedParent) handler.contexts.element().withTimeout(Duration.ofDays(1)))
        .callFailed(told, why);
    handler.promises.remove().fail(new CompletionException(told));
    assertThat(rig.answer(CallFailed.class).time()).isEqualTo(new HandlerTime(0, 0, why));
  }

  @Test
  void gatheringABodyIsNotTheHandlersTime() {
    Replica replica = rig.start(1, handler);
    rig.sendHeld(call(replica).following(Buffer.buffer("half")).explained());
    rig.bus.take();
    rig.clock.advanceNanos(2 * MS);
    rig.frame(replica, ID, 0, Buffer.buffer("rest"), true);
    rig.clock.advanceNanos(3 * MS);
    rig.bus.take();
    handler.answer();

    assertThat(rig.answer(CallResponse.class).time())
        .isEqualTo(new HandlerTime(2 * MS, 3 * MS, RequestFailure.NONE));
  }

  @Test
  void theWaitForABatchIsNeitherTheBodysNorTheHandlersTime() {
    BatchHandler echo =
        items -> {
          rig.clock.advanceNanos(3 * MS);
          return Collections.nCopies(items.size(), BatchResult.of(Response.text("ok")));
        };
    rig = new ReplicaRig(BatchingRig.limits(BatchingRig.rules(2, 100, 1)), 1);
    Replica replica = rig.start(4, echo);
    ReplicaRig.Call first = call(replica).following(Buffer.buffer("half")).explained();
    first.waitedMicros = 7_000;
    rig.sendHeld(first);
    rig.clock.advanceNanos(2 * MS);
    rig.frame(replica, ID, 0, Buffer.buffer("rest"), true);
    rig.clock.advanceNanos(4 * MS);
    rig.sendHeld(call(replica).id(ReplicaRig.callId(2, 1)).explained());
    rig.runAll();

    assertThat(rig.bus.take())
        .filteredOn(CallResponse.class::isInstance)
        .extracting(each -> ((CallResponse) each).time())
        .containsExactly(
            new HandlerTime(2 * MS, 3 * MS, RequestFailure.NONE, new BatchPlace(1, 2, 1, 4 * MS)),
            new HandlerTime(0, 3 * MS, RequestFailure.NONE, new BatchPlace(1, 2, 2, 0)));
  }

  @Test
  void theHeadOfAStreamSaysWhenItsHandlerSettled() {
    Replica replica =
        rig.start(
            1,
            (AsyncHandler)
                (request, context) ->
                    context
                        .after(Duration.ofMillis(4))
                        .map(
                            later ->
                                Response.stream(
                                    "text/plain",
                                    writer -> {
                                      writer.write(Buffer.buffer("begun"));
                                      return Promise.<Void>promise().future();
                                    })));
    rig.sendHeld(call(replica).explained());
    rig.clock.advanceNanos(4 * MS);
    rig.timers.get(0).task.run();
    rig.tasks.runAll();

    assertThat(rig.bus.take().get(0))
        .isInstanceOfSatisfying(
            CallResponse.class,
            head -> {
              assertThat(head.streamed()).isTrue();
              assertThat(head.time()).isEqualTo(new HandlerTime(0, 4 * MS, RequestFailure.NONE));
            });
  }

  @Test
  void aBlockingHandlersTimeIsToldToo() {
    Replica replica =
        rig.start(
            1,
            (BlockingHandler)
                (request, context) -> {
                  rig.clock.advanceNanos(6 * MS);
                  return Response.text("ok");
                });
    rig.sendHeld(call(replica).explained());
    rig.runAll();

    assertThat(rig.answer(CallResponse.class).time())
        .isEqualTo(new HandlerTime(0, 6 * MS, RequestFailure.NONE));
  }

  @Test
  void aRequestThatIsKilledHadItsHandlerUntilThen() {
    Replica replica = explained(handler);
    rig.clock.advanceNanos(7 * MS);
    rig.settled(replica.kill());
    assertThat(rig.answer(CallFailed.class).time())
        .isEqualTo(new HandlerTime(0, 7 * MS, RequestFailure.NONE));
  }

  @Test
  void itsHandlerMayHaveSoManyCallsExplained() {
    Replica replica = explained(handler);
    RequestContext context = handler.contexts.element();

    assertThat(context).isInstanceOf(ExplainedParent.class);
    ExplainedParent parent = (ExplainedParent) context;
    for (int call = 0; call < ExplainedParent.MAX_EXPLAINED_CALLS; call++) {
      assertThat(parent.tryExplainCall()).isTrue();
    }
    assertThat(parent.tryExplainCall()).isFalse();
  }

  @Test
  void anyOtherRequestHasNothingOfIt() {
    Replica replica = rig.start(1, handler);
    rig.sendHeld(call(replica));
    assertThat(handler.contexts.element()).isNotInstanceOf(ExplainedParent.class);
    handler.answer();
    assertThat(rig.answer(CallResponse.class).time()).isNull();
  }
}
