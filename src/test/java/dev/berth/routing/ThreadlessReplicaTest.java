package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A replica that has a slot for a request and no thread: another one takes it, or none does. */
class ThreadlessReplicaTest {
  private static final Request REQUEST = Request.get("/");

  private final RoutingWorld world = new RoutingWorld();

  @Test
  void requestWithoutAThreadRunsOnAnotherReplica() {
    for (boolean away : new boolean[] {false, true}) {
      RoutingWorld each = new RoutingWorld();
      RoutingWorld.Replica threadless = away ? each.remote("r1", 5) : each.local("r1", 5);
      threadless.threadless = true;
      RoutingWorld.Replica other = each.published(each.local("r2", 5));
      List<Future<Response>> responses = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        responses.add(each.settled(each.handle().call(REQUEST)));
      }
      other.finishAll();

      assertThat(responses).allMatch(Future::succeeded);
      assertThat(threadless.executions).isZero();
      each.assertAtRest(threadless, other);
    }
  }

  @Test
  void requestFailsAtOnceWhenNoReplicaHasAThread() {
    RoutingWorld.Replica first = world.local("r1", 5);
    RoutingWorld.Replica second = world.published(world.local("r2", 5));
    first.threadless = true;
    second.threadless = true;

    Future<Response> response = world.settled(world.handle().call(REQUEST));

    assertThat(response.cause())
        .isInstanceOf(BerthException.BackPressure.class)
        .hasMessageContaining("no thread for its handler");
    assertThat(world.sent(BusMessage.CallRequest.class)).hasSize(4); // and no more
    world.assertAtRest(first, second);
  }

  @Test
  void requestOfTheOnlyReplicaFailsWithoutASecondTry() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 5));
    replica.threadless = true;

    Future<Response> response = world.settled(world.handle().call(REQUEST));

    assertThat(response.cause()).isInstanceOf(BerthException.BackPressure.class);
    assertThat(world.sent(BusMessage.CallRequest.class)).hasSize(1);
    world.assertAtRest(replica);
  }

  /** It would hold up those behind it, were it still to avoid the replica while it waits. */
  @Test
  void requestThatWaitsAfterwardsTakesAnyReplica() {
    RoutingWorld.Replica threadless = world.local("r1", 1);
    threadless.threadless = true;
    RoutingWorld.Replica full = world.published(world.remote("r2", 1)).filled();
    full.whenSent = message -> threadless.threadless = false;

    Future<Response> response = world.settled(world.handle().call(REQUEST));
    threadless.finishAll();

    assertThat(response.succeeded()).isTrue();
    assertThat(world.sent(BusMessage.CallRequest.class)).as("refused twice").hasSize(3);
  }

  @Test
  void deadlineEndsARequestThatIsRefusedAfterIt() {
    RoutingWorld.Replica replica = world.published(world.remote("r1", 1));
    replica.silent = true;
    Future<Response> late =
        world.settled(world.handle().withTimeout(Duration.ofMillis(100)).call(REQUEST));
    BusMessage.CallRequest sent = world.sent(BusMessage.CallRequest.class).get(0);
    world.clock.advance(Duration.ofMillis(101));

    replica.answer(
        sent.source(),
        new BusMessage.CallRefused(sent.callId(), Refusal.OVERLOADED, replica.ledger.load()));
    world.run();

    assertThat(late.failed()).isTrue();
    assertThat(world.router.queued()).isZero();
  }
}
