package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.AWAY;
import static dev.berth.replica.ReplicaRig.call;
import static dev.berth.replica.ReplicaRig.callId;
import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.Admission;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.RecallCall;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.replica.ReplicaRig.Call;
import dev.berth.replica.ReplicaRig.Waiting;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Requests that take no slot of a replica. */
class SlotlessAdmissionTest {
  private final ReplicaRig rig = new ReplicaRig();
  private final Waiting handler = new Waiting();
  private final Replica replica = rig.start(1, handler);

  private Call slotless() {
    return call(replica).attempt(rig.attempt()).by(Admission.NoSlot.NO_SLOT);
  }

  private Call slotlessAway() {
    return slotless().from(AWAY);
  }

  private int ongoing() {
    return Objects.requireNonNull(replica.slotless()).ongoing();
  }

  @Test
  void replicaThatPermitsNoneRefusesARequestWithoutASlot() {
    rig.send(slotless());
    assertThat(rig.refusal()).isEqualTo(Refusal.UNKNOWN_TOKEN);
    replica.gate.permitSlotless(1);
    replica.gate.permitSlotless(0);
    rig.send(slotless());
    assertThat(rig.refusal()).isEqualTo(Refusal.FULL);
    assertThat(handler.calls).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void requestWithoutASlotRunsWhileAllSlotsAreInUse() {
    replica.gate.permitSlotless(1);
    rig.sendHeld(replica, callId(1, 1));
    rig.send(slotless().id(callId(2, 1)));
    assertThat(handler.calls).isEqualTo(2);
    assertThat(replica.slots().ongoing()).isEqualTo(1);
    assertThat(ongoing()).isEqualTo(1);
    handler.answer();
    assertThat(LoadReport.ongoing(rig.answer(CallResponse.class).load())).isZero();
    assertThat(ongoing()).isEqualTo(1);
    handler.answer();
    rig.answer(CallResponse.class);
    assertThat(ongoing()).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void requestWithoutASlotRunsAtAClosedReplica() {
    replica.gate.permitSlotless(1);
    replica.gate.close("a pause", false);
    rig.bus.take();
    rig.send(slotless());
    assertThat(handler.calls).isEqualTo(1);
  }

  @Test
  void numberOfRequestsWithoutASlotIsLimited() {
    replica.gate.permitSlotless(1);
    rig.send(slotlessAway());
    assertThat(rig.answer(CallAccepted.class).callId()).isEqualTo(callId(1, 1));
    rig.send(slotlessAway().id(callId(2, 1)));
    assertThat(rig.refusal()).isEqualTo(Refusal.FULL);
    handler.answer();
    rig.bus.take();
    rig.pass(Duration.ofSeconds(2));
    assertThat(rig.bus.take()).as("no slot is offered to the refused router").isEmpty();
  }

  @Test
  void repeatedRequestWithoutASlotIsDropped() {
    replica.gate.permitSlotless(2);
    Call once = slotlessAway();
    rig.send(once);
    rig.bus.take();
    rig.send(once);
    handler.answer();
    rig.bus.take();
    rig.send(once);
    assertThat(rig.bus.take()).isEmpty();
    assertThat(handler.calls).isEqualTo(1);
  }

  @Test
  void recallTellsARequestThatRanFromOneThatNeverArrives() {
    replica.gate.permitSlotless(2);
    Call ran = slotlessAway();
    rig.send(ran);
    handler.answer();
    rig.bus.take();
    rig.loop().onMessage(new RecallCall(callId(1, 1), AWAY, ran.attempt, replica.address()));
    assertThat(rig.answer(CallFailed.class).callId()).isEqualTo(callId(1, 1));
    Call late = slotlessAway().id(callId(2, 1));
    rig.loop().onMessage(new RecallCall(callId(2, 1), AWAY, late.attempt, replica.address()));
    assertThat(rig.answer(CallRefused.class).reason()).isEqualTo(Refusal.RECALLED);
    rig.send(late);
    assertThat(rig.bus.take()).isEmpty();
    assertThat(handler.calls).isEqualTo(1);
  }

  @Test
  void drainWaitsForSlotsOnlyAndThenEndsTheOthers() {
    replica.gate.permitSlotless(2);
    rig.sendHeld(replica, callId(1, 1));
    rig.send(slotless().id(callId(2, 1)));
    Future<Void> stopped = rig.settled(replica.shutDown(Duration.ofMinutes(1)));
    rig.send(slotless().id(callId(3, 1))); // an answer that the running request awaits
    assertThat(handler.calls).isEqualTo(3);
    handler.answer();
    rig.runAll();
    assertThat(stopped.isComplete()).isTrue();
    assertThat(rig.bus.take())
        .filteredOn(CallFailed.class::isInstance)
        .extracting(each -> ((CallFailed) each).callId())
        .containsExactlyInAnyOrder(callId(2, 1), callId(3, 1));
    rig.send(slotless().id(callId(4, 1)));
    assertThat(rig.refusal()).isEqualTo(Refusal.UNKNOWN_REPLICA);
  }
}
