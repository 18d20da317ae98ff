package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.call;
import static dev.berth.replica.ReplicaRig.callId;
import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import dev.berth.fakes.LogLines;
import dev.berth.fakes.RecordingBus;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.ReplicaLoad;
import dev.berth.protocol.BusMessage.StreamFrame;
import dev.berth.protocol.BusMessage.StreamReset;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.NotRunReason;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.EarlyFailure;
import dev.berth.protocol.port.UpstreamContext;
import dev.berth.protocol.port.UpstreamGate;
import dev.berth.protocol.port.UpstreamNotRun;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.event.KeyValuePair;

/** A replica of an upstream: its slot ends with the exchange, and its handler closes the slots. */
class UpstreamReplicaTest {
  private static final long ID = callId(1, 1);
  private static final Duration GRACE = Duration.ofNanos(ReplicaLimits.DEFAULTS.cancelGraceNanos());

  private final ReplicaRig rig = new ReplicaRig();
  private final Exchange handler = new Exchange();
  private UpstreamGate gate;

  /** The test plays the upstream: the head, the bytes, and the end of the exchange. */
  private static final class Exchange implements AsyncHandler {
    final Promise<Response> head = Promise.promise();
    final Promise<Void> over = Promise.promise();
    ResponseWriter writer = piece -> Future.failedFuture("no stream yet");
    boolean produces;
    RequestContext context;

    @Override
    public boolean streamsRequests() {
      return true;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext given) {
      context = given;
      return head.future();
    }

    void sendHead() {
      head.complete(
          Response.stream(
              "text/plain",
              given -> {
                produces = true;
                writer = given;
                return over.future();
              }));
    }
  }

  @BeforeEach
  void represent() {
    rig.upstream = "http://127.0.0.1:8000";
  }

  private Replica begin(int slots) {
    return rig.start(
        slots,
        context -> {
          assertThat(((UpstreamContext) context).upstream()).isEqualTo(rig.upstream);
          gate = ((UpstreamContext) context).gate();
          return handler;
        },
        1);
  }

  private Replica open(int window) {
    Replica replica = begin(1);
    rig.sendHeld(call(replica).window(window));
    handler.sendHead();
    rig.runAll();
    assertThat(rig.answer(CallResponse.class).streamed()).isTrue();
    return replica;
  }

  // --- the end of a slot ---

  @Test
  void slotEndsWithTheExchangeThoughBytesStillWaitForTheClient() {
    Replica replica = open(1);
    handler.writer.write(Buffer.buffer("abc"));
    rig.runAll();
    StreamFrame first = (StreamFrame) rig.answer();
    assertThat(LoadReport.ongoing(first.load())).isOne();

    handler.over.complete();
    assertAtRest(replica.slots());
    rig.credit(replica, ID, 1);
    rig.runAll();

    StreamFrame second = (StreamFrame) rig.answer();
    assertThat(second.last()).isFalse();
    assertThat(LoadReport.ongoing(second.load())).isZero();
    assertThat(replica.slots().tryAcquire()).isTrue();
    rig.credit(replica, ID, 1);
    rig.runAll();
    StreamFrame last = (StreamFrame) rig.answer();
    assertThat(last.last()).isTrue();
    assertThat(LoadReport.ongoing(last.load())).as("the next request").isOne();
    assertThat(replica.slots().view("r", 0).completed()).as("freed once").isOne();
  }

  @Test
  void cancelOfAnEndedExchangeFreesNoSecondSlot() {
    Replica replica = open(0);
    handler.writer.write(Buffer.buffer("abc"));
    handler.over.complete();
    rig.runAll();
    assertThat(replica.slots().tryAcquire()).isTrue();

    rig.cancel(replica, ID);
    rig.pass(GRACE.plusSeconds(1));

    assertThat(replica.slots().running()).as("of the second request").isOne();
    assertThat(replica.zombies()).isZero();
  }

  @Test
  void cancelledStreamHoldsItsSlotUntilTheExchangeIsOver() {
    Replica replica = open(100);

    rig.cancel(replica, ID);
    rig.pass(GRACE.plusSeconds(1));

    assertThat(replica.slots().ongoing()).isOne();
    assertThat(replica.zombies()).isOne();
    handler.over.fail("closed");
    rig.runAll();
    assertAtRest(replica.slots());
    assertThat(replica.zombies()).isZero();
    assertThat(rig.loop().invocations()).isZero();
  }

  @ParameterizedTest(name = "succeeds {0}")
  @ValueSource(booleans = {true, false})
  void headAfterTheCancelHoldsTheSlotUntilTheExchangeIsOver(boolean succeeds) {
    Replica replica = begin(1);
    rig.sendHeld(call(replica));
    rig.cancel(replica, ID);

    handler.sendHead();
    rig.runAll();

    assertThat(handler.produces).isTrue();
    assertThat(replica.slots().ongoing()).isOne();
    assertThat(handler.writer.write(Buffer.buffer("late")).failed()).isTrue();
    rig.runAll();
    if (succeeds) {
      handler.over.complete();
    } else {
      handler.over.fail("closed");
    }
    rig.runAll();
    assertAtRest(replica.slots());
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void killedReplicaCountsItsRequestsUntilTheirExchangesAreOver() {
    Replica replica = open(100);
    replica.kill();
    rig.runAll();

    assertThat(replica.slots().ongoing()).isOne();
    assertThat(replica.slotsBack().isComplete()).isFalse();
    handler.over.fail("closed");
    rig.runAll();
    assertThat(replica.slotsBack().isComplete()).isTrue();
    assertAtRest(replica.slots());
  }

  @Test
  void routersOfOtherNodesAreNotifiedWhenTheReplicaClosesAndOpens() {
    Replica replica = begin(1);
    rig.send(rig.away(replica));
    rig.bus.take();

    gate.close("connection refused", false);
    assertThat(maximumSentAway()).isZero();
    gate.open();
    assertThat(maximumSentAway()).isOne();
  }

  private int maximumSentAway() {
    rig.tasks.runAll();
    List<RecordingBus.Sent> sent = rig.bus.takeSent();
    assertThat(sent).singleElement().extracting(RecordingBus.Sent::node).isEqualTo("n2");
    return LoadReport.max(((ReplicaLoad) sent.get(0).message()).load());
  }

  // --- not run ---

  @Test
  void requestThatDidNotRunIsRefusedAndIsNoEvidenceOfHealth() {
    Replica replica = begin(1);
    for (int i = 0; i < PassiveHealth.FAILURES_IN_A_ROW + 1; i++) {
      rig.sendHeld(call(replica).id(callId(1, i + 1)));
      if (i == 0) {
        handler.head.fail(new UpstreamNotRun("connection refused", -1));
      }
      rig.runAll();
      CallRefused refused = rig.answer(CallRefused.class);
      assertThat(refused.reason()).isEqualTo(Refusal.NOT_RUN);
      assertThat(LoadReport.ongoing(refused.load())).isZero();
    }
    rig.passLooking(Duration.ofSeconds(3));

    assertThat(rig.suspicions).isEmpty();
    assertThat(replica.errors()).isEmpty();
    assertThat(replica.processedRequests()).isZero();
    assertAtRest(replica.slots());
    assertThat(rig.loop().invocations()).isZero();
  }

  @ParameterizedTest(name = "body follows {0}")
  @ValueSource(booleans = {true, false})
  void earlyRefusalHoldsTheSlotUntilTheHandlerSettles(boolean bodyFollows) {
    Replica replica = begin(1);
    ReplicaRig.Call call = call(replica);
    rig.sendHeld(bodyFollows ? call.following(Buffer.buffer("first")) : call);
    rig.bus.take();

    UpstreamNotRun failure = new UpstreamNotRun("status 429", 1_500);
    ((EarlyFailure) handler.context).refuse(failure);
    ((EarlyFailure) handler.context).refuse(failure);
    rig.runAll();

    if (bodyFollows) {
      BerthException told = rig.answer(CallFailed.class).failure();
      assertThat(((BerthException.BackPressure) told).retryAfterSeconds()).hasValue(2);
    } else {
      assertThat(rig.answer(CallRefused.class).notRun())
          .isEqualTo(new NotRunReason("status 429", 2));
    }
    assertThat(replica.slots().ongoing()).isOne();
    handler.head.fail(failure);
    rig.runAll();
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
  }

  @Test
  void requestWhoseBodyIsNotWholeFailsWithRetryAfter() {
    Replica replica = begin(1);
    rig.sendHeld(call(replica).following(Buffer.buffer("first")));
    rig.bus.take();

    handler.head.fail(new UpstreamNotRun("status 429", 1_500));
    rig.runAll();

    CallFailed failed = rig.answer(CallFailed.class);
    assertThat(failed.failure())
        .isInstanceOfSatisfying(
            BerthException.BackPressure.class,
            full -> assertThat(full.retryAfterSeconds()).isEqualTo(OptionalInt.of(2)))
        .hasMessage("status 429");
    assertAtRest(replica.slots());
  }

  @Test
  void requestWhoseHeadWasSentIsNeverRefusedAsNotRun() {
    Replica replica = open(100);

    handler.over.fail(new UpstreamNotRun("too late", -1));
    rig.runAll();

    List<BusMessage> sent = rig.bus.take();
    assertThat(sent).singleElement().isInstanceOf(StreamReset.class);
    assertAtRest(replica.slots());
  }

  @Test
  void cancelledRequestThatDidNotRunIsSilent() {
    Replica replica = begin(1);
    rig.sendHeld(call(replica));
    rig.cancel(replica, ID);

    handler.head.fail(new UpstreamNotRun("connection refused", -1));
    rig.runAll();

    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
  }

  // --- the gate ---

  @Test
  void closedReplicaGrantsNothingUntilItOpens() {
    Replica replica = begin(2);
    rig.sendHeld(call(replica));
    List<Integer> freed = new ArrayList<>();
    rig.host.observe(replica.address(), slots -> freed.add(slots.maxOngoing()));

    gate.close("connection refused", false);
    gate.close("connection refused", false);
    gate.close("Retry-After 3 s", false);

    assertThat(replica.slots().tryAcquire()).isFalse();
    assertThat(replica.slots().ongoing()).as("goes on").isOne();
    assertThat(replica.gate.max()).isEqualTo(2);
    assertThat(replica.gate.text()).isEqualTo("closed: Retry-After 3 s");
    gate.open();
    gate.open();
    assertThat(freed).as("its close and its opening").containsExactly(0, 2);
    assertThat(replica.slots().tryAcquire()).isTrue();
    assertThat(rig.waits)
        .containsExactly("closed: connection refused", "closed: Retry-After 3 s", "");
  }

  @Test
  void lineOfAnUpstreamNamesItsApplication() {
    Replica replica = begin(2);
    try (LogLines lines = new LogLines(Replica.class, Level.INFO)) {
      gate.close("connection refused", false);
      assertThat(lines.all())
          .singleElement()
          .satisfies(
              line ->
                  assertThat(line.getKeyValuePairs())
                      .contains(
                          new KeyValuePair("application", replica.deployment().application()),
                          new KeyValuePair("replica", replica.replicaId())));
    }
  }

  @Test
  void unreachableUpstreamIsReportedAlsoForTheSameReason() {
    Replica replica = begin(2);
    gate.close("reset", false);
    assertThat(replica.gate.isUnreachable()).isFalse();
    gate.close("reset", true);
    assertThat(replica.gate.isUnreachable()).isTrue();
    replica.gate.configure(3);
    assertThat(replica.gate.isUnreachable()).isTrue();
    gate.open();
    assertThat(replica.gate.isUnreachable()).isFalse();
    assertThat(rig.waits).containsExactly("closed: reset", "closed: reset", "");
  }

  @Test
  void changedMaximumOfAClosedReplicaTakesEffectWhenItOpens() {
    Replica replica = begin(2);
    gate.close("connection refused", false);

    replica.configure(5, ReplicaLimits.DEFAULTS, dev.berth.fakes.Replicas.HEALTH_CHECKS);

    assertThat(replica.slots().maxOngoing()).isZero();
    gate.open();
    assertThat(replica.slots().maxOngoing()).isEqualTo(5);
  }
}
