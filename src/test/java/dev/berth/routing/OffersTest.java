package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.SlotToken;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Offers of a replica elsewhere go to several loops, so they overtake one another. */
class OffersTest {
  private static final Duration TTL = Duration.ofMillis(250);

  private final RoutingWorld world = new RoutingWorld(2, RoutingProbe.DEFAULTS);
  private final RoutingWorld.Replica replica = world.remote("r1", 2).filled();
  private List<Future<Response>> waiting = List.of();

  @BeforeEach
  void twoWaitForAFullReplica() {
    world.publish();
    waiting =
        world.settled(
            Stream.generate(() -> world.handle().call(Request.get("/"))).limit(2).toList());
    assertThat(world.router.queued()).isEqualTo(2);
    replica.ledger.complete();
    replica.ledger.complete();
  }

  /** Found by the simulation, seed 16: the older one was taken for a repeat, its slot left idle. */
  @Test
  void anOfferThatWasOvertakenByANewerOneIsUsedToo() {
    replica.offer(1, 8, TTL);
    world.settled(replica.offer(0, 7, TTL));

    assertThat(replica.running).hasSize(2);
    replica.respond();
    replica.finish();
    assertThat(waiting).allMatch(Future::succeeded);
    assertThat(replica.ledger.ongoing()).isZero();
  }

  @Test
  void anOfferThatComesTwiceIsUsedOnce() {
    world.settled(replica.offer(1, 8, TTL));
    again(new AttemptId(replica.info.address().epoch(), -1, 8 * 64));
    assertThat(world.sent(BusMessage.CallRequest.class))
        .filteredOn(call -> call.admission() instanceof Admission.Token)
        .hasSize(1);
  }

  /** Found by the simulation, seed 423: declining the repeat gave away the slot of the first. */
  @Test
  void anOfferThatComesAgainWhenNoOneWaitsIsNotDeclined() {
    AttemptId first = replica.offer(1, 8, TTL);
    world.settled(replica.offer(0, 7, TTL));
    assertThat(world.router.queued()).isZero();
    again(first);
    assertThat(world.sent(BusMessage.ReleaseSlot.class)).isEmpty();
  }

  /** The offer comes a second time, to the second loop. */
  private void again(AttemptId attempt) {
    replica.answer(
        new RouterAddress(RoutingWorld.NODE, 1),
        new BusMessage.SlotOffer(
            replica.info.address(),
            attempt,
            List.of(new SlotToken(replica.info.address().epoch(), 1, 1)),
            -1,
            replica.ledger.load(),
            1));
    world.run();
  }
}
