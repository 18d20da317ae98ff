package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Response;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.replica.PassiveHealth.PassiveHealthVerdict;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** What requests say of the replica that runs them. */
class PassiveHealthTest {
  private static final Duration LOOK = Duration.ofNanos(PassiveHealth.LOOK_NANOS);

  private final ReplicaRig rig = new ReplicaRig(ReplicaLimits.DEFAULTS, 2);
  private Supplier<Future<Response>> behaviour = PassiveHealthTest::fails;
  private final AsyncHandler handler = (request, context) -> behaviour.get();
  private final Replica replica = rig.start(100, handler);
  private int calls;

  private static Future<Response> fails() {
    throw new IllegalStateException("no model (expected: one)");
  }

  private static Future<Response> answers() {
    return Future.succeededFuture(Response.text("here"));
  }

  private static Future<Response> says(int status) {
    return Future.succeededFuture(Response.of(status, "text/plain", Buffer.buffer("on purpose")));
  }

  private long call() {
    long id = ReplicaRig.callId(++calls, 1);
    rig.sendHeld(replica, id);
    rig.runAll();
    return id;
  }

  private void callsOver(int count, Duration span) {
    for (int i = 0; i < count; i++) {
      call();
      rig.passLooking(span.dividedBy(count));
    }
    rig.passLooking(LOOK);
  }

  /** Eight of these, one after the other. */
  private void eight(LongConsumer calling) {
    for (int i = 0; i < 8; i++) {
      calling.accept(ReplicaRig.callId(++calls, 1));
      rig.runAll();
      rig.passLooking(Duration.ofMillis(300));
    }
    rig.passLooking(LOOK);
  }

  @Test
  void nothingButFailuresForAWhileMakesASuspect() {
    callsOver(8, Duration.ofSeconds(2));

    assertThat(replica.passive.suspect).isTrue();
    assertThat(rig.suspicions).hasSize(1);
    assertThat(rig.suspicions.get(0))
        .startsWith("suspect: requests: the last ")
        .endsWith("failed (expected: a response); the last: java.lang.IllegalStateException");
    assertThat(replica.state()).as("its checks have the last word").isEqualTo(ReplicaState.RUNNING);
  }

  @Test
  void anAnswerClearsIt() {
    callsOver(8, Duration.ofSeconds(2));
    behaviour = PassiveHealthTest::answers;
    call();
    rig.passLooking(LOOK.multipliedBy(2));
    assertThat(replica.passive.suspect).isFalse();
    assertThat(rig.suspicions).hasSize(2).last().isEqualTo("cleared");
  }

  @Test
  void anAnswerNowAndThenKeepsItAboveSuspicion() {
    for (int i = 0; i < 10; i++) {
      behaviour = PassiveHealthTest::fails;
      callsOver(4, Duration.ofMillis(600));
      behaviour = PassiveHealthTest::answers;
      callsOver(1, Duration.ofMillis(100));
    }

    assertThat(rig.suspicions).isEmpty();
  }

  @Test
  void aBurstOfFailuresIsNotEnough() {
    for (int i = 0; i < 50; i++) {
      call();
    }
    rig.passLooking(Duration.ofSeconds(5));
    assertThat(rig.suspicions).isEmpty();

    callsOver(6, Duration.ofSeconds(1));
    assertThat(rig.suspicions).as("but it was the first of more").hasSize(1);
  }

  @Test
  void aSuspectThatGoesOnFailingIsNamedAgain() {
    callsOver(8, Duration.ofSeconds(2));
    callsOver(12, Duration.ofSeconds(4));
    assertThat(rig.suspicions).hasSizeBetween(2, 4).allMatch(each -> each.startsWith("suspect"));
  }

  @Test
  void aServerErrorOnPurposeSpeaksNeitherForItNorAgainstIt() {
    behaviour = () -> says(503);
    callsOver(20, Duration.ofSeconds(4));
    assertThat(rig.suspicions).isEmpty();

    behaviour = PassiveHealthTest::fails;
    callsOver(8, Duration.ofSeconds(2));
    behaviour = () -> says(503);
    callsOver(4, Duration.ofSeconds(1));
    assertThat(replica.passive.suspect).isTrue();
  }

  @Test
  void whatTheHandlerAnswersOnPurposeAndOurOwnKindsOfFailureAreNoFaultOfIts() {
    behaviour = () -> says(404);
    callsOver(20, Duration.ofSeconds(4));
    behaviour =
        () ->
            Future.failedFuture(
                new BerthException.DeploymentUnavailable("deployment: app#other (expected: one)"));
    callsOver(20, Duration.ofSeconds(4));
    assertThat(rig.suspicions).isEmpty();
  }

  @Test
  void cancelledRequestsSayNothing() {
    behaviour = () -> Promise.<Response>promise().future();
    for (int i = 0; i < 20; i++) {
      rig.cancel(replica, call());
      rig.passLooking(Duration.ofMillis(200));
    }
    assertThat(rig.suspicions).isEmpty();
  }

  @Test
  void requestsThatRunOutOfTimeInTheHandlersHandsAreFailures() {
    behaviour = () -> Promise.<Response>promise().future();
    eight(id -> rig.sendHeld(ReplicaRig.call(replica).id(id).deadlineMs(100)));
    assertThat(rig.suspicions).isNotEmpty().first().asString().endsWith("its deadline passed");
    assertThat(replica.timeouts.sum()).isEqualTo(8);
  }

  @Test
  void aRouterWhoseClockIsATickAheadTellsTheSame() {
    behaviour = () -> Promise.<Response>promise().future();
    eight(
        id -> {
          rig.sendHeld(replica, id);
          rig.loop()
              .onMessage(
                  new CancelCall(id, ReplicaRig.OWN, rig.attempt(), replica.address(), true));
        });
    assertThat(rig.suspicions).isNotEmpty();
    assertThat(replica.timeouts.sum()).isEqualTo(8);
  }

  @Test
  void itsPartsOnAllLoopsAreSeenTogether() {
    Replica spread = rig.start(100, context -> handler, 2);
    eight(
        id -> {
          assertThat(spread.slots().tryAcquire()).isTrue();
          rig.loops.get(calls % 2).onMessage(ReplicaRig.call(spread).id(id).message());
        });
    assertThat(spread.passive.suspect).isTrue();
  }

  @Test
  void aReplicaThatAnswersIsNotLookedAt() {
    PassiveHealth health = new PassiveHealth();
    assertThat(health.looking.get()).isFalse();
    assertThat(health.onRequestFailed()).isTrue();
    assertThat(health.onRequestFailed()).as("it is being looked at").isFalse();
    health.look(0, 2, 0);
    assertThat(health.looking.get()).isTrue();
    assertThat(health.look(1, 2, PassiveHealth.LOOK_NANOS))
        .isEqualTo(PassiveHealthVerdict.NOTHING_NEW);
    assertThat(health.looking.get()).isFalse();
    assertThat(health.onRequestFailed()).isTrue();
  }

  @Test
  void oneThatDrainsIsNoLongerJudged() {
    callsOver(3, Duration.ofSeconds(1));
    for (int i = 0; i < 8; i++) {
      assertThat(replica.slots().tryAcquire()).isTrue();
    }
    replica.drain();
    eight(id -> rig.send(ReplicaRig.call(replica).id(id)));
    assertThat(replica.slots().ongoing()).isZero();
    assertThat(rig.suspicions).isEmpty();
  }

  @Test
  void aRequestThatIsNeverGivenToTheHandlerIsNotItsFailure() {
    behaviour = PassiveHealthTest::answers;
    Buffer begun = Buffer.buffer("begin");
    eight(id -> rig.sendHeld(ReplicaRig.call(replica).id(id).deadlineMs(100).following(begun)));
    assertThat(rig.suspicions).isEmpty();
  }
}
