package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.AWAY;
import static dev.berth.replica.ReplicaRig.answering;
import static dev.berth.replica.ReplicaRig.call;
import static dev.berth.replica.ReplicaRig.callId;
import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.Response.Body.Whole;
import dev.berth.fakes.LogLines;
import dev.berth.fakes.ManualSource;
import dev.berth.fakes.Replicas;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.replica.ReplicaRig.Waiting;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** One request: how it ends, what its caller is told, and that its slot comes back once. */
class InvocationTest {
  private static final Duration GRACE = Duration.ofNanos(ReplicaLimits.DEFAULTS.cancelGraceNanos());

  private final ReplicaRig rig = new ReplicaRig();
  private final Waiting handler = new Waiting();

  static Stream<Arguments> brokenHandlers() {
    return Stream.of(
        Arguments.of("throws", broken(() -> boom(new IllegalStateException("secret")))),
        Arguments.of("throws an error", broken(() -> boom(new StackOverflowError("secret")))),
        Arguments.of("fails", failing(new IllegalStateException("secret"))),
        Arguments.of("fails and fails to say why", failing(new Unspeakable())),
        Arguments.of(
            "fails for a wrapped reason that is not to be had",
            failing(
                new CompletionException("secret", null) {
                  @Override
                  public Throwable getCause() {
                    throw new IllegalStateException("secret");
                  }
                })),
        Arguments.of(
            "fails for a reason that is its own",
            failing(
                new CompletionException("secret", null) {
                  @Override
                  public Throwable getCause() {
                    return this;
                  }
                })),
        Arguments.of("no future", broken(() -> null)),
        Arguments.of("no response", broken(() -> Future.succeededFuture(null))),
        Arguments.of("no body", answering(Response.of(200, Headers.empty(), null))),
        Arguments.of("no headers", answering(Response.of(200, null, new Whole(Buffer.buffer())))),
        Arguments.of("no bytes", answering(with(new Whole(null)))),
        Arguments.of("no producer", answering(with(new Response.Body.Produced(null)))),
        Arguments.of("no stream", answering(with(new Response.Body.Received(null, () -> {})))));
  }

  private static Response with(Response.Body body) {
    return Response.of(200, Headers.empty(), body);
  }

  private static AsyncHandler broken(Supplier<Future<Response>> code) {
    return (request, context) -> code.get();
  }

  private static AsyncHandler failing(Throwable failure) {
    return (request, context) -> Future.failedFuture(failure);
  }

  private static <E extends Throwable> Future<Response> boom(E failure) throws E {
    throw failure;
  }

  private static final class Unspeakable extends RuntimeException {
    private static final long serialVersionUID = 1L;

    @Override
    public String getMessage() {
      throw new UnsupportedOperationException("secret");
    }
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("brokenHandlers")
  void aBrokenHandlerIsAFailedCallThatTellsNoInternalsAndFreesItsSlot(
      String how, AsyncHandler broken) {
    Replica replica = rig.busy(1, broken, callId(1, 1));
    rig.runAll();

    CallFailed failed = rig.answer(CallFailed.class);
    assertThat(failed.kind()).isEqualTo(BerthException.Kind.HANDLER_FAILED);
    assertThat(failed.message()).contains(replica.replicaId()).doesNotContain("secret", "java.");
    assertThat(LoadReport.ongoing(failed.load())).isZero();
    assertThat(replica.errors().values()).containsExactly(1L);
    assertThat(rig.loop().invocations()).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void aBerthExceptionKeepsItsKindAlsoWhenItComesWrapped() {
    BerthException child =
        new BerthException.BackPressure("child is full", OptionalInt.of(3), OptionalInt.of(429));
    for (Throwable failure : List.of(child, new CompletionException(child))) {
      Replica replica = rig.busy(1, failing(failure), callId(1, 1));
      CallFailed failed = rig.answer(CallFailed.class);
      assertThat(failed.kind()).isEqualTo(BerthException.Kind.BACK_PRESSURE);
      assertThat(failed.message()).isEqualTo("child is full");
      assertThat(failed.failure())
          .isInstanceOfSatisfying(
              BerthException.BackPressure.class,
              full -> {
                assertThat(full.retryAfterSeconds()).hasValue(3);
                assertThat(full.statusCode()).hasValue(429);
              });
      assertThat(replica.failures.counts.sums()).as("expected, so not of the log").isEmpty();
    }
  }

  @Test
  void theSlotIsFreeBeforeTheAnswerIsSent() {
    Replica replica = rig.start(1, handler);
    List<Integer> ongoingAtSend = new ArrayList<>();
    rig.bus.onSend(sent -> ongoingAtSend.add(replica.slots().ongoing()));

    rig.sendHeld(replica, callId(1, 1));
    handler.answer();
    rig.sendHeld(replica, callId(1, 2));
    handler.promises.remove().fail("no");

    assertThat(ongoingAtSend).containsExactly(0, 0);
  }

  @Test
  void aCompletionHandsItsSlotToWhoeverWaitsInOneStep() {
    Replica replica = rig.start(1, handler);
    List<SlotLease> handed = new ArrayList<>();
    rig.host.observe(
        replica.address(),
        new SlotObserver() {
          @Override
          public boolean completing(Slots slots, int done) {
            SlotLease lease = slots.completeAndHold(Duration.ofSeconds(1).toNanos());
            if (lease == null) {
              return false;
            }
            handed.add(lease);
            return true;
          }

          @Override
          public void onSlotFreed(Slots slots) {
            throw new AssertionError("freed (expected: handed over)");
          }
        });
    rig.sendHeld(replica, callId(1, 1));

    handler.answer();

    assertThat(handed).hasSize(1);
    assertThat(LoadReport.ongoing(rig.answer(CallResponse.class).load())).isEqualTo(1);
    assertThat(replica.slots().reserved()).isEqualTo(1);
  }

  @Test
  void anAnswerFromAnotherThreadHopsToTheLoop() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    ReplicaRig.elsewhere(handler::answer);
    assertThat(rig.bus.take()).isEmpty();
    assertThat(replica.slots().ongoing()).isEqualTo(1);
    rig.runAll();
    rig.answer(CallResponse.class);
    assertAtRest(replica.slots());
  }

  // --- cancel ---

  @Test
  void aCancelledRequestKeepsItsSlotUntilItsHandlerSettlesAndIsNotAnswered() {
    Replica replica = rig.busy(1, handler, callId(1, 1));

    rig.cancel(replica, callId(1, 1));
    rig.runAll();

    assertThat(handler.contexts.element().cancelled()).isTrue();
    assertThat(replica.slots().ongoing()).isEqualTo(1);
    handler.answer();
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
  }

  @Test
  void aCancelActionOfAnAnsweredRequestNeverRuns() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    List<String> ran = new ArrayList<>();
    handler.contexts.element().onCancel(() -> ran.add("ran"));
    handler.answer();

    rig.cancel(replica, callId(1, 1));
    rig.runAll();

    assertThat(ran).isEmpty();
    assertThat(handler.contexts.element().cancelled()).isFalse();
  }

  @Test
  void anAnswerThatIsAReceivedStreamIsCancelledWhenNoOneWantsItAnyMore() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    rig.cancel(replica, callId(1, 1));
    ManualSource source = new ManualSource();

    handler.promises.remove().complete(source.response());
    rig.runAll();

    assertThat(source.cancels()).isEqualTo(1);
    assertAtRest(replica.slots());
  }

  @Test
  void afterCompletesWhenItsDelayIsOver() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    Future<Void> after = handler.contexts.element().after(Duration.ofMillis(40));
    assertThat(after.isComplete()).isFalse();
    assertThat(rig.timers.get(0).delayNanos).isEqualTo(Duration.ofMillis(40).toNanos());
    rig.timers.get(0).task.run();
    assertThat(after.succeeded()).isTrue();
  }

  @Test
  void afterFailsWithCancelledWhenTheRequestIsCancelledFirst() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    Future<Void> before = handler.contexts.element().after(Duration.ofSeconds(4));

    rig.cancel(replica, callId(1, 1));
    rig.runAll();
    Future<Void> late = handler.contexts.element().after(Duration.ofSeconds(4));
    rig.runAll();

    assertThat(before.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(late.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(rig.timers).hasSize(1);
    assertThat(rig.timers.get(0).cancelled).isTrue();
  }

  @Test
  void afterGoesWhenTheRequestIsAnsweredFirst() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    RequestContext context = handler.contexts.element();
    Future<Void> before = context.after(Duration.ofHours(4));
    List<String> ran = new ArrayList<>();
    context.onCancel(() -> ran.add("cancelled"));

    handler.promises.remove().complete(Response.text("done"));
    rig.runAll();
    Future<Void> late = context.after(Duration.ofHours(4));
    rig.runAll();

    assertThat(rig.answer(CallResponse.class).response().status()).isEqualTo(200);
    assertThat(rig.timers).hasSize(1);
    assertThat(rig.timers.get(0).cancelled).isTrue();
    assertThat(before.cause())
        .isInstanceOf(BerthException.Cancelled.class)
        .hasMessageContaining("answered");
    assertThat(late.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(ran).isEmpty();
    assertAtRest(replica.slots());
  }

  // --- time ---

  @Test
  void aRequestKnowsHowMuchTimeIsLeft() {
    Replica replica = rig.start(2, handler);
    replica.slots().tryAcquire();
    rig.send(call(replica).deadlineMs(300));
    rig.sendHeld(replica, callId(2, 1));
    rig.clock.advance(Duration.ofMillis(100));

    RequestContext bounded = handler.contexts.remove();
    assertThat(bounded.remaining()).contains(Duration.ofMillis(200));
    assertThat(bounded.requestId()).isEqualTo("req-1");
    assertThat(bounded.replicaId()).isEqualTo(replica.replicaId());
    assertThat(handler.contexts.remove().remaining()).isEmpty();
    rig.clock.advance(Duration.ofMillis(900));
    assertThat(bounded.remaining()).contains(Duration.ZERO);
  }

  @Test
  void aPassedDeadlineCancelsTheRequestAndKeepsItsSlotUntilItSettles() {
    Replica replica = rig.start(2, handler);
    replica.slots().tryAcquire();
    rig.send(call(replica).deadlineMs(300));
    rig.sendHeld(replica, callId(2, 1));

    rig.pass(Duration.ofMillis(275));
    assertThat(handler.contexts.element().cancelled()).isFalse();
    rig.pass(Duration.ofMillis(25));

    assertThat(handler.contexts.remove().cancelled()).isTrue();
    assertThat(handler.contexts.remove().cancelled()).as("it has no deadline").isFalse();
    assertThat(replica.timeouts.sum()).isEqualTo(1);
    assertThat(rig.bus.take()).as("the router tells its caller itself").isEmpty();
    assertThat(replica.slots().ongoing()).isEqualTo(2);
    handler.answer();
    handler.answer();
    assertAtRest(replica.slots());
  }

  @Test
  void aLaterRequestWithAnEarlierDeadlineIsCancelledInTime() {
    Replica replica = rig.start(3, handler);
    long[] deadlines = {60_000, 100, 30_000};
    for (int i = 0; i < deadlines.length; i++) {
      replica.slots().tryAcquire();
      rig.send(call(replica).id(callId(i, 1)).deadlineMs(deadlines[i]));
    }

    rig.pass(Duration.ofMillis(100));
    assertThat(handler.contexts.stream().map(RequestContext::cancelled))
        .containsExactly(false, true, false);
    rig.pass(Duration.ofMillis(29_900));
    assertThat(handler.contexts.stream().map(RequestContext::cancelled))
        .containsExactly(false, true, true);
  }

  @Test
  void aCancelledRequestThatDoesNotSettleInItsGraceIsAZombieUntilItDoes() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    rig.cancel(replica, callId(1, 1));

    rig.pass(GRACE.minusMillis(25));
    assertThat(replica.zombies()).isZero();
    rig.pass(Duration.ofMillis(25));
    assertThat(replica.zombies()).isEqualTo(1);
    rig.pass(GRACE);
    assertThat(replica.zombies()).as("counted once").isEqualTo(1);
    assertThat(replica.view().zombies()).isEqualTo(1);
    assertThat(replica.slots().ongoing()).isEqualTo(1);

    handler.answer();
    assertThat(replica.zombies()).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void aDeploymentsOwnGraceCountsAndNotTheInstances() {
    ReplicaLimits own =
        ReplicaLimits.DEFAULTS.withOwn(Duration.ofSeconds(1).toNanos(), 0, 4 << 20, "");
    ReplicaSpec hasty = rig.spec(5, context -> handler, own, null);
    var begun = rig.host.begin(hasty, List.of(rig.seat(0))).running();
    rig.runAll();
    Replica replica = begun.result();
    rig.sendHeld(replica, callId(1, 1));
    rig.cancel(replica, callId(1, 1));
    rig.pass(Duration.ofMillis(950));
    assertThat(replica.zombies()).isZero();
    rig.pass(Duration.ofMillis(100));
    assertThat(replica.zombies()).isEqualTo(1);
    assertThat(replica.state()).isEqualTo(ReplicaState.UNHEALTHY);
    handler.answer();
    assertAtRest(replica.slots());
  }

  private static void cancelled(ReplicaRig rig, int from, int to) {
    for (int i = from; i < to; i++) {
      rig.sendHeld(rig.replica(), callId(i, 1));
      rig.cancel(rig.replica(), callId(i, 1));
    }
  }

  @Test
  void aReplicaUnhealthyForItsZombiesIsWellAgainWhenNoMoreLingerThanMay() {
    ReplicaRig strict =
        new ReplicaRig(ReplicaLimits.DEFAULTS.withOwn(GRACE.toNanos(), 1, 4 << 20, ""), 1);
    Replica replica = strict.start(4, handler);
    cancelled(strict, 0, 1);
    strict.pass(GRACE);
    assertThat(replica.state()).as("so many may linger").isEqualTo(ReplicaState.RUNNING);
    cancelled(strict, 1, 3);
    try (LogLines lines = new LogLines(Replica.class, Level.WARN)) {
      strict.pass(GRACE);
      assertThat(replica.unhealthyReason()).isEqualTo("zombies: 3 (expected: at most 1)");

      handler.answer();
      assertThat(replica.state()).as("two linger").isEqualTo(ReplicaState.UNHEALTHY);
      assertThat(lines.all()).as("it is said once").hasSize(1);
    }
    strict.sendHeld(replica, callId(9, 1));
    assertThat(handler.calls).as("it serves on until told otherwise").isEqualTo(4);
    handler.answer();

    assertThat(replica.state()).isEqualTo(ReplicaState.RUNNING);
    assertThat(replica.unhealthyReason()).isEmpty();
    assertThat(strict.states)
        .containsExactly(ReplicaState.RUNNING, ReplicaState.UNHEALTHY, ReplicaState.RUNNING);
    handler.answer();
    handler.answer();
    assertAtRest(replica.slots());
  }

  @Test
  void aReplicaThatMayHaveMoreZombiesFromNowOnIsWellAtOnce() {
    ReplicaLimits none = ReplicaLimits.DEFAULTS.withOwn(GRACE.toNanos(), 0, 4 << 20, "");
    ReplicaRig strict = new ReplicaRig(none, 1);
    Replica replica = strict.start(1, handler);
    cancelled(strict, 0, 1);
    strict.pass(GRACE);
    assertThat(replica.state()).isEqualTo(ReplicaState.UNHEALTHY);

    replica.configure(1, none.withOwn(GRACE.toNanos(), 1, 4 << 20, ""), Replicas.HEALTH_CHECKS);

    assertThat(replica.zombies()).isEqualTo(1);
    assertThat(replica.state()).isEqualTo(ReplicaState.RUNNING);
  }

  @Test
  void aCancelFromElsewhereFindsItsOwnCallAndNoOther() {
    Replica replica = rig.start(2, handler);
    AttemptId attempt = rig.attempt();
    rig.send(call(replica).from(AWAY).attempt(attempt).ifFree());
    rig.sendHeld(replica, callId(1, 1)); // the same call id, from another router

    rig.loop().onMessage(new CancelCall(callId(1, 1), AWAY, attempt, replica.address(), false));

    assertThat(handler.contexts.remove().cancelled()).isTrue();
    assertThat(handler.contexts.remove().cancelled()).isFalse();
  }

  @Test
  void anInstanceThatLeftHasItsRequestsCancelledAndTheOthersGoOn() {
    Replica replica = rig.start(2, handler);
    rig.send(rig.away(replica));
    rig.sendHeld(replica, callId(1, 1));
    rig.bus.take();

    rig.loop().routersLost(AWAY.node());

    assertThat(handler.contexts.remove().cancelled()).isTrue();
    assertThat(handler.contexts.remove().cancelled()).isFalse();
    handler.answer();
    assertThat(rig.bus.take()).isEmpty();
    handler.answer();
    rig.answer(CallResponse.class);
    assertAtRest(replica.slots());
  }
}
