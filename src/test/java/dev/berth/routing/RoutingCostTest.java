package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Pending;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.LoadReport;
import dev.berth.routing.slots.RemoteReplica;
import dev.berth.routing.slots.SlotsProbe;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * What routing does not do: ask, poll, or wait for one replica on behalf of another. Ray Serve's
 * tests of probes, probe deadlines and routing tasks, as claims about a router without them.
 */
class RoutingCostTest {
  private final RoutingWorld world = new RoutingWorld();

  private Future<Response> call(int number) {
    return world.handle().call(Request.get("/" + number));
  }

  private void calls(int count) {
    IntStream.range(0, count).forEach(this::call);
    world.run();
  }

  @Test
  void aDecisionSendsNoMessageButTheRequestItself() {
    for (int i = 0; i < 5; i++) {
      world.local("near" + i, 1);
      world.remote("far" + i, 1);
    }
    world.publish();
    calls(10);
    assertThat(world.sent).hasSize(10).allMatch(BusMessage.CallRequest.class::isInstance);
  }

  @Test
  void aKnownCountIsUsedAsItIsAndNotAskedForAgain() {
    RoutingWorld.Replica far = world.published(world.remote("far", 10));
    RoutingProbe.remoteReplicas(world.router).get(0).recordLoadReport(LoadReport.of(9, 10, 1));
    call(0);
    assertThat(world.sent).hasSize(1);
    call(1); // by the count it is full now
    assertThat(world.sent).hasSize(1);
    assertThat(world.router.queued()).isOne();
    world.run();
    assertThat(far.running).hasSize(1);
  }

  @Test
  void whoWaitsSendsNothingAndSchedulesNothing() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    world.settled(call(0));
    int sent = world.sent.size();
    calls(1000);
    world.pass(Duration.ofSeconds(5));
    assertThat(world.router.queued()).isEqualTo(1000);
    assertThat(world.sent).hasSize(sent);
    assertThat(replica.ledger.ongoing()).isOne();
  }

  /** Each look at a ledger is a cache miss where there are thousands. */
  @Test
  void whereAllReplicasAreFullARequestThatComesOrLeavesLooksAtNone() {
    int replicas = 1000;
    IntStream.range(0, replicas).forEach(i -> world.local("r" + i, 1));
    world.publish();
    calls(replicas + 1);
    assertThat(world.router.queued()).as("the first one has looked at all of them").isOne();
    long looked = world.looks();
    List<Pending<Response>> calls = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      calls.add(world.handle().start(Request.get("/" + i)));
    }
    calls.subList(0, 50).forEach(Pending<Response>::cancel);
    world.run();
    assertThat(world.router.queued()).isEqualTo(51);
    assertThat(world.looks() - looked).isZero();
  }

  @Test
  void whereAllReplicasAreFullACompletionLooksAtItsOwnAlone() {
    int replicas = 1000;
    List<RoutingWorld.Replica> all =
        IntStream.range(0, replicas).mapToObj(i -> world.local("r" + i, 1)).toList();
    world.publish();
    calls(replicas + 100);
    long looked = world.looks();
    all.subList(0, 99).forEach(RoutingWorld.Replica::finish);
    assertThat(world.router.handOffs()).isEqualTo(99);
    assertThat(world.router.queued()).isOne();
    assertThat(world.looks() - looked).as("each at its own, once").isEqualTo(99);
  }

  @Test
  void manyWhoWaitForAFullReplicaElsewhereAskNoMoreOftenThanOne() {
    RoutingWorld.Replica far = world.published(world.remote("far", 1).filled());
    calls(1000);
    world.pass(Duration.ofSeconds(5));
    assertThat(world.sent(BusMessage.CallRequest.class).size())
        .as("one request for each step of the back-off")
        .isBetween(8, 20);
    assertThat(world.router.queued()).isEqualTo(1000);
    far.ledger.complete();
    world.pass(Duration.ofMillis(800));
    assertThat(far.running).as("the next step finds the slot").hasSize(1);
  }

  @Test
  void aReplicaThatDoesNotAnswerHoldsUpNoOtherRequest() {
    RoutingWorld.Replica silent = world.remote("silent", 1);
    RoutingWorld.Replica answering = world.remote("answering", 1);
    silent.silent = true;
    world.publish();
    List<Future<Response>> responses = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      responses.add(call(i));
      world.run();
      if (!answering.running.isEmpty()) {
        answering.finish();
      }
    }
    assertThat(responses).filteredOn(Future::succeeded).hasSize(5);
    assertThat(responses).filteredOn(response -> !response.isComplete()).hasSize(1);
  }

  @Test
  void whenTheReplicasNearAreFullOneFarIsTriedWithoutAPause() {
    world.local("near", 1).filled();
    RoutingWorld.Replica far = world.published(world.remote("far", 1));
    calls(1); // no time passes
    assertThat(far.running).hasSize(1);
  }

  @Test
  void theBackOffDoublesToItsMaximumAndNeverOverflows() {
    world.published(world.remote("far", 1));
    RemoteReplica remote = RoutingProbe.remoteReplicas(world.router).get(0);
    SplittableRandom random = new SplittableRandom(1);
    long now = world.clock.getAsLong();
    long previous = now;
    for (int round = 0; round < 4096; round++) {
      while (!remote.probeIfDue(now, random)) {
        now += Duration.ofMillis(1).toNanos();
      }
      long doublings = Math.min(round, 10);
      long mean =
          Math.min(
              SlotsProbe.INITIAL_BACKOFF_NANOS << Math.max(0, doublings - 1),
              SlotsProbe.MAX_BACKOFF_NANOS);
      if (round > 0) {
        assertThat(now - previous)
            .as("round %d", round)
            .isBetween(mean / 2, mean + mean / 2 + Duration.ofMillis(1).toNanos());
      }
      previous = now;
    }
  }

  @Test
  void roomAtAReplicaStartsItsBackOffAnew() {
    world.published(world.remote("far", 2));
    RemoteReplica remote = RoutingProbe.remoteReplicas(world.router).get(0);
    SplittableRandom random = new SplittableRandom(1);
    for (int round = 0; round < 20; round++) {
      world.clock.advanceNanos(SlotsProbe.MAX_BACKOFF_NANOS * 2);
      remote.probeIfDue(world.clock.getAsLong(), random);
    }
    remote.recordLoadReport(LoadReport.of(1, 2, 1));
    world.clock.advanceNanos(SlotsProbe.MAX_BACKOFF_NANOS * 2);
    assertThat(remote.probeIfDue(world.clock.getAsLong(), random)).isTrue();
    world.clock.advanceNanos(2 * SlotsProbe.INITIAL_BACKOFF_NANOS);
    assertThat(remote.probeIfDue(world.clock.getAsLong(), random)).isTrue();
  }

  @Test
  void everyAnswerOfAReplicaElsewhereBringsItsCount() {
    RoutingWorld.Replica far = world.published(world.remote("far", 10));
    IntStream.range(0, 3).forEach(i -> far.ledger.tryAcquire()); // of others
    calls(1); // accepted
    RemoteReplica remote = RoutingProbe.remoteReplicas(world.router).get(0);
    assertThat(remote.ongoing()).isEqualTo(4);
    far.ledger.complete();
    far.respond();
    world.run(); // answered
    assertThat(remote.ongoing()).isEqualTo(2);
  }

  @Test
  void aReplicaThatLeftTakesItsCountWithIt() {
    RoutingWorld.Replica far = world.published(world.remote("far", 10));
    RoutingProbe.remoteReplicas(world.router).get(0).recordLoadReport(LoadReport.of(9, 10, 1));
    world.remove(far);
    RoutingWorld.Replica again = world.published(world.remote("far", 10));
    assertThat(RoutingProbe.remoteReplicas(world.router))
        .singleElement()
        .returns(again.info.address(), remote -> remote.info.address())
        .returns(0, RemoteReplica::ongoing);
  }

  @Test
  void aReplicaThatIsPublishedAgainKeepsItsCountAndWhatItRuns() {
    RoutingWorld.Replica near = world.local("near", 1);
    RoutingWorld.Replica far = world.published(world.remote("far", 3));
    Future<Response> first = call(0);
    Future<Response> second = world.settled(call(1));
    RemoteReplica before = RoutingProbe.remoteReplicas(world.router).get(0);
    world.publish();
    world.publish();
    assertThat(RoutingProbe.remoteReplicas(world.router)).containsExactly(before);
    assertThat(before.ongoing()).isOne();
    assertThat(near.ledger.ongoing()).isOne();
    near.respond();
    far.finish();
    assertThat(first.succeeded()).isTrue();
    assertThat(second.succeeded()).isTrue();
    assertThat(near.ledger.ongoing() + far.ledger.ongoing()).isZero();
  }

  @Test
  void aReplicaThatLeftGivesItsFreedSlotToNoOne() {
    RoutingWorld.Replica leaving = world.local("leaving", 1);
    RoutingWorld.Replica staying = world.published(world.local("staying", 1));
    call(0);
    call(1);
    Future<Response> waiting = world.settled(call(2));
    world.withdraw(leaving);
    leaving.finish();
    assertThat(waiting.isComplete()).isFalse();
    assertThat(leaving.ledger.ongoing()).isZero();
    assertThat(world.router.queued()).isOne();
    staying.finish();
    assertThat(staying.running).hasSize(1);
    assertThat(leaving.executions).isOne();
  }
}
