package dev.berth.routing.handle;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.BroadcastAnswer;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeParent;
import dev.berth.fakes.RoutingWorld;
import dev.berth.routing.RoutingProbe;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BroadcastTest {
  private final RoutingWorld world = new RoutingWorld();

  private static List<String> answered(Future<List<BroadcastAnswer>> all) {
    return all.result().stream()
        .map(each -> each.replicaId() + (each instanceof BroadcastAnswer.Answered ? "" : "!"))
        .sorted()
        .toList();
  }

  private static BerthException failure(Future<List<BroadcastAnswer>> all, String replicaId) {
    return all.result().stream()
        .filter(each -> each.replicaId().equals(replicaId))
        .map(each -> ((BroadcastAnswer.Failed) each).failure())
        .findFirst()
        .orElseThrow();
  }

  @Test
  void everyReplicaRunsItOnceAndItsAnswerIsNamed() {
    RoutingWorld.Replica a = world.local("a", 1);
    RoutingWorld.Replica b = world.published(world.remote("b", 1));
    Future<List<BroadcastAnswer>> all = world.settled(world.handle().broadcast(Request.get("/")));
    b.finish();
    assertThat(all.isComplete()).isFalse();
    a.finish();
    assertThat(answered(all)).containsExactly("a", "b");
    assertThat(List.of(a.executions, b.executions)).containsExactly(1, 1);
    assertThat(List.of(a.ledger.ongoing(), b.ledger.ongoing())).containsExactly(0, 0);
  }

  @Test
  void aFullReplicaIsWaitedForWithoutHoldingUpTheOthers() {
    RoutingWorld.Replica full = world.local("full", 1).filled();
    RoutingWorld.Replica free = world.published(world.local("free", 2));
    Future<List<BroadcastAnswer>> all = world.settled(world.handle().broadcast(Request.get("/")));
    assertThat(free.running).hasSize(1);
    assertThat(world.router.queued()).isEqualTo(1);

    Future<Response> other = world.settled(world.handle().call(Request.get("/other")));
    assertThat(free.running).as("who takes any replica goes on past it").hasSize(2);
    free.respond();
    free.finish();
    assertThat(other.succeeded()).isTrue();
    assertThat(all.isComplete()).isFalse();

    world.run(full.ledger::complete);
    assertThat(full.running).hasSize(1);
    full.finish();
    assertThat(answered(all)).containsExactly("free", "full");
    assertThat(world.router.queued()).isZero();
  }

  @Test
  void aReplicaThatStaysFullFailsAloneByTheTimeout() {
    world.local("full", 1).filled();
    RoutingWorld.Replica free = world.published(world.local("free", 1));
    Future<List<BroadcastAnswer>> all =
        world.handle().withTimeout(Duration.ofSeconds(1)).broadcast(Request.get("/"));
    world.run();
    free.respond();
    world.pass(Duration.ofMillis(1_100));
    assertThat(answered(all)).containsExactly("free", "full!");
    assertThat(failure(all, "full")).isInstanceOf(BerthException.Timeout.class);
    assertThat(world.router.queued()).isZero();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aReplicaThatGoesOrDrainsWhileItIsWaitedForFailsAtOnce(boolean drains) {
    RoutingWorld.Replica full = world.local("full", 1).filled();
    RoutingWorld.Replica free = world.published(world.local("free", 1));
    Future<List<BroadcastAnswer>> all = world.settled(world.handle().broadcast(Request.get("/")));
    free.finish();

    if (drains) {
      full.ledger.drain();
      world.publish();
    } else {
      world.withdraw(full);
    }
    world.run();

    assertThat(failure(all, "full")).isInstanceOf(BerthException.ReplicaUnavailable.class);
    assertThat(world.router.queued()).isZero();
  }

  @Test
  void whatOneReplicaFailsChangesNothingForTheOthers() {
    RoutingWorld.Replica a = world.local("a", 1);
    RoutingWorld.Replica b = world.published(world.local("b", 1));
    Future<List<BroadcastAnswer>> all = world.settled(world.handle().broadcast(Request.get("/")));
    a.fail("no");
    b.finish();
    assertThat(answered(all)).containsExactly("a!", "b");
    assertThat(failure(all, "a")).isInstanceOf(BerthException.HandlerFailed.class);
  }

  @Test
  void withoutAReplicaThereIsNoBroadcast() {
    world.publish();
    Future<List<BroadcastAnswer>> none = world.settled(world.handle().broadcast(Request.get("/")));
    assertThat(none.cause()).isInstanceOf(BerthException.DeploymentUnavailable.class);
  }

  @Test
  void cancellingTheParentEndsIt() {
    RoutingWorld.Replica running = world.local("running", 1);
    RoutingWorld.Replica full = world.local("full", 1).filled();
    world.publish();
    FakeParent parent = new FakeParent();
    Future<List<BroadcastAnswer>> all =
        world.settled(world.handle().within(parent).broadcast(Request.get("/")));
    world.run(parent::cancel);
    assertThat(answered(all)).containsExactly("full!", "running!");
    assertThat(failure(all, "full")).isInstanceOf(BerthException.Cancelled.class);
    assertThat(running.ledger.ongoing()).isZero();
    assertThat(full.ledger.ongoing()).isEqualTo(1);
    assertThat(parent.children()).isZero();
  }

  @Test
  void whoWaitsIsCountedAgainstTheBoundOfTheQueue() {
    RoutingWorld bounded =
        new RoutingWorld(1, RoutingProbe.withMaxQueued(RoutingProbe.DEFAULTS, 1));
    List.of("a", "b", "c").forEach(name -> bounded.local(name, 1).filled());
    bounded.publish();
    Future<List<BroadcastAnswer>> all =
        bounded.handle().withTimeout(Duration.ofSeconds(1)).broadcast(Request.get("/"));
    bounded.run();
    assertThat(bounded.router.queued()).isEqualTo(1);
    bounded.pass(Duration.ofMillis(1_100));
    assertThat(all.result())
        .extracting(each -> ((BroadcastAnswer.Failed) each).failure().kind())
        .containsExactlyInAnyOrder(
            BerthException.Kind.TIMEOUT,
            BerthException.Kind.BACK_PRESSURE,
            BerthException.Kind.BACK_PRESSURE);
  }
}
