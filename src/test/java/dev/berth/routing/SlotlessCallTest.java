package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.Admission;
import dev.berth.protocol.BusMessage;
import dev.berth.routing.slots.RoutedReplica;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls to one replica, with and without a slot. */
class SlotlessCallTest {
  private static final Request REQUEST = Request.get("/");

  private final RoutingWorld world = new RoutingWorld();
  private final FakeCaller caller = new FakeCaller();

  private RoutingWorld.Replica replica(boolean remote) {
    return world.published(remote ? world.remote("r1", 1) : world.local("r1", 1));
  }

  private RoutedReplica routed(RoutingWorld.Replica replica) {
    return Objects.requireNonNull(
        ReplicaChoice.find(
            world.router, each -> each.info.replicaId().equals(replica.info.replicaId())));
  }

  private RoutedCall start(RoutingWorld.Replica to, FakeCaller by, boolean slotless) {
    return world.settled(
        RoutedCall.start(world.router, world.routers.loop(0), REQUEST, by, routed(to), slotless));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void slotlessCallReachesAFullReplicaAndCountsNoSlot(boolean remote) {
    RoutingWorld.Replica replica = replica(remote).filled();
    int before = routed(replica).ongoing();
    start(replica, caller, true);
    assertThat(world.sent(BusMessage.CallRequest.class).get(0).admission())
        .isEqualTo(Admission.NoSlot.NO_SLOT);
    assertThat(replica.running).hasSize(1);
    assertThat(world.router.queued()).isZero();
    assertThat(world.router.running()).isZero();
    replica.finish();
    assertThat(Objects.requireNonNull(caller.response).status()).isEqualTo(200);
    assertThat(routed(replica).ongoing()).isEqualTo(remote ? 1 : before);
    assertThat(replica.ledger.ongoing()).isEqualTo(1); // of the filled slot
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void cancelledOrUnsentSlotlessCallReleasesNoSlot(boolean unsent) {
    RoutingWorld.Replica replica = replica(true);
    replica.unreachable = unsent;
    RoutedCall call = start(replica, caller, true);
    world.settled(call);
    call.cancel();
    world.run();
    assertThat(routed(replica).ongoing()).isZero();
    assertThat(replica.running).isEmpty();
    assertThat(Objects.requireNonNull(caller.failure))
        .isInstanceOf(
            unsent ? BerthException.ReplicaUnavailable.class : BerthException.Cancelled.class);
  }

  @Test
  void callOfASessionWaitsForItsReplicaBesideAFreeOne() {
    RoutingWorld.Replica own = world.local("own", 1);
    RoutingWorld.Replica other = world.published(world.local("other", 1));
    own.filled();
    start(own, caller, false);
    assertThat(world.router.queued()).isEqualTo(1);
    FakeCaller next = new FakeCaller();
    world.settled(RoutedCall.start(world.router, world.routers.loop(0), REQUEST, next, 0));
    assertThat(other.running).hasSize(1); // it overtakes
    own.ledger.complete();
    world.run();
    assertThat(own.running).hasSize(1);
    own.finishAll();
    other.finishAll();
    assertThat(caller.told).contains("response of own");
  }
}
