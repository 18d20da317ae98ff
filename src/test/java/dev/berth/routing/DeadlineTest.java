package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Every request ends by its deadline, and says truly whether it may have run. */
class DeadlineTest {
  private static final Request REQUEST = Request.post("/", Buffer.buffer("x"));

  private final RoutingWorld world = new RoutingWorld();

  /** Found by the simulation, seed 26: the dispatch had no deadline, and waited for ever. */
  @Test
  void aDispatchWhoseAnswerIsLostEndsByTheDeadlineOfItsChoose() {
    RoutingWorld.Replica replica = world.published(world.remote("r1", 1));
    ReplicaSelection chosen = world.chosen(world.handle().withTimeout(Duration.ofSeconds(1)));
    replica.silent = true;
    Future<Response> response = chosen.dispatch(REQUEST);

    world.pass(Duration.ofMillis(1_100));

    assertThat(response.cause()).isInstanceOf(BerthException.Timeout.class);
    replica.silent = false;
    world.pass(Duration.ofSeconds(1)); // its release is repeated
    world.assertAtRest(replica);
  }

  /**
   * Found by the simulation, seed 8: refused as too late, it held its slot for the lease's life.
   */
  @Test
  void aDispatchAfterTheDeadlineGivesItsSlotBackAtOnce() {
    RoutingWorld.Replica replica = world.published(world.remote("r1", 1));
    ReplicaSelection chosen = world.chosen(world.handle().withTimeout(Duration.ofSeconds(1)));
    world.clock.advance(Duration.ofMillis(1_001));

    Future<Response> response = world.settled(chosen.dispatch(REQUEST));

    assertThat(response.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(replica.ledger.ongoing()).isZero();
    assertThat(world.sent(BusMessage.CallRequest.class)).isEmpty();
  }

  /** Found by the simulation, seed 1: sent, refused as too late, and sent again until the tick. */
  @Test
  void aSlotGrantedAfterTheDeadlineGoesBackAndTheRequestIsNotSent() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    world.handle().call(REQUEST);
    Future<Response> late =
        world.settled(world.handle().withTimeout(Duration.ofMillis(100)).call(REQUEST));
    world.clock.advance(Duration.ofMillis(101)); // no tick has looked at the deadline yet

    replica.finish();

    assertThat(late.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(world.sent(BusMessage.CallRequest.class)).hasSize(1);
    assertThat(replica.ledger.ongoing()).isZero();
  }

  /** As above, where the refusal comes from another instance. */
  @Test
  void aRequestRefusedAfterItsDeadlineDoesNotWaitAgain() {
    RoutingWorld.Replica replica = world.published(world.remote("r1", 1));
    replica.silent = true;
    Future<Response> late =
        world.settled(world.handle().withTimeout(Duration.ofMillis(100)).call(REQUEST));
    BusMessage.CallRequest sent = world.sent(BusMessage.CallRequest.class).get(0);
    world.clock.advance(Duration.ofMillis(101));

    replica.answer(
        sent.source(),
        new BusMessage.CallRefused(sent.callId(), Refusal.TOO_LATE, replica.ledger.load()));
    world.run();

    assertThat(late.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(world.router.queued()).isZero();
  }

  @Test
  void noResponseIsRefusedForRoom() {
    int streams = (int) (PlaneBuilder.instanceBounds().streams.boundBytes() / (16 << 10)) + 10;
    RoutingWorld.Replica replica = world.published(world.local("r1", streams));
    List<Future<Response>> responses = new ArrayList<>();
    for (int i = 0; i < streams; i++) {
      responses.add(world.handle().call(REQUEST));
    }
    world.run();

    List.copyOf(replica.running).forEach(replica::beginStream);
    world.run();

    assertThat(responses).allMatch(Future::succeeded);
    assertThat(world.routers.bounds.streams.waiting()).isEqualTo(10);
  }
}
