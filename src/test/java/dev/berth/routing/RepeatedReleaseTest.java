package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.ReplicaSelection;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage.ReleaseSlot;
import dev.berth.protocol.BusMessage.SlotReserved;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A slot elsewhere that is released is free soon, though its release was refused or lost. */
class RepeatedReleaseTest {
  private static final Duration TTL = Duration.ofSeconds(200);

  private final RoutingWorld world = new RoutingWorld();
  private final RoutingWorld.Replica far = world.published(world.remote("far", 1));

  private ReplicaSelection chosen() {
    return world.chosen(
        world.handle().options(dev.berth.api.CallOptions.defaults().withReservationTtl(TTL)));
  }

  @Test
  void releaseThatItsLinkDoesNotTakeIsRepeated() {
    ReplicaSelection selection = chosen();
    far.unreachable = true;
    Future<Void> closed = world.settled(selection.close());
    assertThat(closed.succeeded()).isTrue();
    assertThat(far.ledger.reserved()).isOne();
    far.unreachable = false;

    world.pass(Duration.ofSeconds(1));

    assertThat(far.ledger.reserved()).isZero();
    world.pass(Duration.ofSeconds(3));
    assertThat(world.sent(ReleaseSlot.class)).as("until it is answered").hasSize(2);
    world.assertAllAtRest();
  }

  @Test
  void releaseThatIsLostIsRepeatedUntilItIsAnswered() {
    ReplicaSelection selection = chosen();
    far.silent = true;
    world.settled(selection.close());
    world.pass(Duration.ofMillis(2_100));
    assertThat(world.sent(ReleaseSlot.class)).hasSize(3).allMatch(world.sent.get(1)::equals);
    far.silent = false;
    world.pass(Duration.ofSeconds(1));
    assertThat(far.ledger.reserved()).isZero();
    world.assertAllAtRest();
  }

  @Test
  void releaseEndsWithItsNode() {
    ReplicaSelection selection = chosen();
    far.silent = true;
    world.settled(selection.close());
    world.run(() -> world.routers.nodeLost("there"));
    world.pass(Duration.ofSeconds(2));
    assertThat(world.sent(ReleaseSlot.class)).hasSize(1);
    assertThat(world.routers.loop(0).pendingRequests()).isZero();
    assertThat(world.routers.loop(0).deadlines()).isZero();
  }

  @Test
  void releaseToANodeThatIsNotKnownIsNotRepeated() {
    ReplicaSelection selection = chosen();
    world.remove(far);
    world.settled(selection.close());
    assertThat(world.routers.loop(0).pendingRequests()).isZero();
    far.ledger.release(world.sent(ReleaseSlot.class).get(0).attempt());
  }

  @Test
  void releasesBeyondTheBoundAreSentOnce() {
    int most = LoopLimits.DEFAULTS.cancelledCalls();
    RoutingWorld.Replica wide = world.remote("wide", most + 10);
    world.withdraw(far);
    world.published(wide);
    List<ReplicaSelection> held = new ArrayList<>();
    for (int i = 0; i < most + 10; i++) {
      held.add(chosen());
    }
    wide.silent = true;
    world.run(() -> held.forEach(ReplicaSelection::close));
    assertThat(world.routers.loop(0).cancelsRepeated()).isEqualTo(most);
    assertThat(world.routers.loop(0).cancelsNotRepeated()).isEqualTo(10);
    wide.silent = false;
    world.pass(Duration.ofSeconds(1));
    assertThat(world.routers.loop(0).cancelsRepeated()).isZero();
    assertThat(wide.ledger.reserved()).isEqualTo(10);
    world.sent(ReleaseSlot.class).forEach(each -> wide.ledger.release(each.attempt()));
  }

  @Test
  void releaseReportsTheSlotsOfItsReplica() {
    ReplicaSelection selection = chosen();
    world.settled(selection.close());
    assertThat(far.ledger.ongoing()).isZero();
    chosen().close();
    world.run();
    world.assertAllAtRest();
  }

  /** Its lease may have run out on its way: then it is as if none had been got. */
  @Test
  void leaseWithNothingLeftIsReleasedAndAnotherIsAskedFor() {
    far.answersLost = true;
    Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
    far.answersLost = false;
    var asked = world.sent(dev.berth.protocol.BusMessage.ReserveSlot.class).get(0);
    far.answer(
        asked.source(),
        new SlotReserved(
            asked.callId(),
            asked.attempt(),
            asked.target(),
            new dev.berth.protocol.SlotToken(1, 1, 1),
            0,
            far.ledger.load(),
            1));
    world.pass(Duration.ofSeconds(1));
    assertThat(world.sent(ReleaseSlot.class).get(0).attempt()).isEqualTo(asked.attempt());
    assertThat(chosen.succeeded()).as("chosen: %s", chosen).isTrue();
    world.settled(chosen.result().close());
    world.assertAllAtRest();
  }
}
