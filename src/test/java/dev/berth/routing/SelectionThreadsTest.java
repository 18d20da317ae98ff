package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentHandle;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeParent;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Choose and dispatch by threads that are none of the routers': all they do is done on a loop. */
class SelectionThreadsTest {
  private static final Request REQUEST = Request.post("/", Buffer.buffer("x"));

  private final RoutingWorld world = new RoutingWorld();

  SelectionThreadsTest() {
    world.offLoop = true;
  }

  private static <T> T elsewhere(Callable<T> action) {
    FutureTask<T> task = new FutureTask<>(action);
    new Thread(task, "user").start();
    try {
      return task.get(10, TimeUnit.SECONDS);
    } catch (Exception failed) {
      throw new AssertionError(failed);
    }
  }

  private ReplicaSelection choose(DeploymentHandle handle) {
    Future<ReplicaSelection> chosen = world.settled(elsewhere(handle::choose));
    assertThat(chosen.succeeded()).as("chosen: %s", chosen.cause()).isTrue();
    return chosen.result();
  }

  @Test
  void aThreadThatIsNoLoopChoosesAndAnotherDispatches() {
    for (RoutingWorld.Replica replica : List.of(world.local("r1", 1), world.remote("r2", 1))) {
      world.publish();
      Future<ReplicaSelection> chosen = elsewhere(world.handle()::choose);
      assertThat(replica.ledger.ongoing()).as("before the loop turned").isZero();
      assertThat(world.routers.loop(0).deadlines()).isZero();
      world.run();
      assertThat(chosen.result().replicaId()).isEqualTo(replica.info.replicaId());
      assertThat(replica.ledger.reserved()).isOne();

      Future<Response> response = elsewhere(() -> chosen.result().dispatch(REQUEST));
      assertThat(world.sent(BusMessage.CallRequest.class))
          .as("before the loop turned")
          .noneMatch(call -> call.target().equals(replica.info.address()));
      world.run();
      assertThat(replica.ledger.running()).isOne();
      replica.finish();
      assertThat(response.result().status()).isEqualTo(200);
      assertThat(replica.executions).isOne();
      world.assertAtRest(replica);
      world.remove(replica);
    }
  }

  @Test
  void aThreadThatIsNoLoopClosesWhatItChose() {
    for (RoutingWorld.Replica replica : List.of(world.local("r1", 1), world.remote("r2", 1))) {
      world.publish();
      ReplicaSelection selection = choose(world.handle());
      Future<Void> closed = world.settled(elsewhere(selection::close));
      assertThat(closed.succeeded()).isTrue();
      world.assertAtRest(replica);
      world.remove(replica);
    }
  }

  @Test
  void aCancelDuringTheReleaseOfAFailedDispatchMasksNothing() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1));
    ReplicaSelection selection = choose(world.handle());
    Pending<Response> call = elsewhere(() -> selection.start(REQUEST));
    replica.whenSent =
        message -> {
          if (message instanceof BusMessage.CallRequest) {
            throw new IllegalStateException("it has no wire form");
          }
          assertThat(message).isInstanceOf(BusMessage.ReleaseSlot.class);
          elsewhere(
              () -> {
                call.cancel();
                return call;
              });
        };
    world.run();
    assertThat(call.future().cause())
        .hasMessageContaining("it has no wire form")
        .hasNoSuppressedExceptions();
    assertThat(world.sent(BusMessage.ReleaseSlot.class)).hasSize(1);
    assertThat(RoutingProbe.over(world.router)).isOne();
    assertThat(RoutingProbe.notOver(world.router)).isZero();
    world.assertAtRest(replica);
  }

  @Test
  void aCancelOfTheParentDuringTheReleaseMasksNothing() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1));
    FakeParent parent = new FakeParent();
    Promise<Object> work = Promise.promise();
    Future<Object> used =
        world.settled(world.handle().within(parent).withSelection(held -> work.future()));
    assertThat(replica.ledger.reserved()).isOne();
    RuntimeException mine = new RuntimeException("dispatch failed");

    work.fail(mine);
    assertThat(used.isComplete()).as("its release is on its way").isFalse();
    world.run(parent::cancel);

    assertThat(used.cause()).isSameAs(mine);
    assertThat(mine.getSuppressed()).isEmpty();
    assertThat(world.sent(BusMessage.ReleaseSlot.class)).hasSize(1);
    world.assertAtRest(replica);
  }
}
