package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Pending;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.api.Selections;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.LoadReport;
import dev.berth.routing.slots.RemoteReplica;
import dev.berth.routing.slots.SlotsProbe;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Who gets a free slot: Ray Serve's power-of-two router behaviours, where probing and back-off
 * become claims about exact counts, one queue, and estimates of replicas elsewhere.
 */
class SlotQueueTest {
  private final RoutingWorld world = new RoutingWorld();

  private Future<Response> call(int number) {
    return call(world.handle(), number);
  }

  private static Future<Response> call(DeploymentHandle handle, int number) {
    return handle.call(Request.post("/" + number, Buffer.buffer()));
  }

  private void calls(int from, int to) {
    IntStream.range(from, to).forEach(this::call);
    world.run();
  }

  private static List<String> paths(RoutingWorld.Replica replica) {
    return replica.running.stream().map(call -> call.request().path()).toList();
  }

  /** Whichever the ranker draws, and wherever the look at the rest begins. */
  @Test
  void onlyReplicaOfThreeWithASlotIsFound() {
    List<RoutingWorld.Replica> three =
        List.of(world.local("a", 1), world.local("b", 1), world.local("c", 1));
    world.publish();
    for (int round = 0; round < 60; round++) {
      RoutingWorld.Replica free = three.get(round % 3);
      three.stream().filter(each -> each != free).forEach(RoutingWorld.Replica::filled);
      Future<Selections> chosen = // which waits for nothing
          world.settled(Selections.all(Duration.ZERO, List.of(world.handle())));
      assertThat(chosen.succeeded()).as("round %s: %s", round, chosen.cause()).isTrue();
      assertThat(free.ledger.reserved()).isOne();
      world.settled(chosen.result().close());
      three.stream().filter(each -> each != free).forEach(each -> each.ledger.complete());
    }
    world.assertAllAtRest();
  }

  @Test
  void withNoReplicaARequestWaitsForTheFirst() {
    world.publish();
    Future<Response> response = world.settled(call(1));
    assertThat(response.isComplete()).isFalse();
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    world.run();
    replica.finish();
    assertThat(response.succeeded()).isTrue();
  }

  @Test
  void aReplicaThatGoesAndComesBackServesWhoWaited() {
    RoutingWorld.Replica first = world.published(world.local("first", 1));
    world.withdraw(first);
    calls(1, 2);
    assertThat(first.running).isEmpty();
    RoutingWorld.Replica second = world.published(world.local("second", 1));
    world.run();
    assertThat(paths(second)).containsExactly("/1");
  }

  @Test
  void ofTwoReplicasTheOneThatLeavesGetsNothing() {
    RoutingWorld.Replica leaving = world.local("leaving", 8);
    RoutingWorld.Replica staying = world.published(world.local("staying", 8));
    world.withdraw(leaving);
    calls(0, 8);
    assertThat(staying.running).hasSize(8);
    assertThat(leaving.running).isEmpty();
  }

  @Test
  void theReplicaWithAFreeSlotIsFoundWhateverTheRanking() {
    List<RoutingWorld.Replica> full =
        IntStream.range(0, 50).mapToObj(i -> world.local("full" + i, 1).filled()).toList();
    RoutingWorld.Replica free = world.published(world.local("free", 1));
    for (int i = 0; i < 20; i++) {
      world.settled(call(i));
      assertThat(free.running).hasSize(1);
      free.finish();
    }
    assertThat(full).allMatch(replica -> replica.executions == 0);
  }

  @Test
  void ofTwoReplicasTheLessBusyIsChosen() {
    RoutingWorld.Replica busier = world.local("busier", 100);
    RoutingWorld.Replica idler = world.local("idler", 100);
    IntStream.range(0, 50).forEach(i -> busier.ledger.tryAcquire());
    world.publish();
    calls(0, 49);
    assertThat(idler.running).hasSize(49);
  }

  @Test
  void grantsAreFirstInFirstOut() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    calls(0, 20);
    assertThat(served(world, replica)).containsExactlyElementsOf(expected(20));
  }

  private static List<String> expected(int count) {
    return IntStream.range(0, count).mapToObj(i -> "/" + i).toList();
  }

  /** All that run, one after another to their ends. */
  private static List<String> served(RoutingWorld world, RoutingWorld.Replica replica) {
    List<String> served = new ArrayList<>();
    for (world.run(); !replica.running.isEmpty(); replica.finish()) {
      served.addAll(paths(replica));
    }
    return served;
  }

  /** A replica elsewhere with ten slots, as it is estimated. */
  private RemoteReplica far() {
    world.published(world.remote("far", 10));
    return RoutingProbe.remoteReplicas(world.router).get(0);
  }

  @Test
  void grantsAreFirstInFirstOutAcrossEventLoops() {
    RoutingWorld wide = new RoutingWorld(4, RoutingProbe.DEFAULTS);
    RoutingWorld.Replica replica = wide.published(wide.local("r1", 1));
    IntStream.range(0, 20).forEach(i -> call(wide.handle(i % 4), i));
    assertThat(served(wide, replica)).containsExactlyElementsOf(expected(20));
  }

  @Test
  void aRequestThatWasRefusedKeepsItsPlace() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1));
    replica.ledger.tryAcquire(); // someone else's
    call(0); // refused, waits again
    calls(1, 3);
    assertThat(world.router.queued()).isEqualTo(3);
    assertThat(world.router.counters.running()).as("refused is not running").isZero();
    List<String> served = new ArrayList<>();
    replica.ledger.complete();
    for (int i = 0; i < 3; i++) {
      world.pass(Duration.ofSeconds(2)); // by the back-off: no one offers here
      served.addAll(paths(replica));
      replica.finish();
    }
    assertThat(served).containsExactly("/0", "/1", "/2");
  }

  @Test
  void aNewcomerNeverOvertakesWhoWaits() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    calls(0, 2);
    replica.respond(); // handed to 1, on its way
    calls(2, 3);
    assertThat(paths(replica)).containsExactly("/1");
  }

  @Test
  void aSlotGoesFromARequestToTheNextWithoutBeingFree() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    calls(0, 2);
    replica.respond();
    assertThat(replica.ledger.ongoing()).isOne();
    assertThat(world.router.handOffs()).isOne();
    assertThat(replica.ledger.tryAcquire()).isFalse();
  }

  @Test
  void aDrainingReplicaHandsNothingOver() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    call(0);
    Future<Response> waiting = world.settled(call(1));
    replica.ledger.drain();
    world.publish();
    replica.finish();
    assertThat(replica.ledger.ongoing()).isZero();
    assertThat(waiting.isComplete()).isFalse();
    RoutingWorld.Replica other = world.published(world.local("r2", 1));
    world.run();
    assertThat(paths(other)).containsExactly("/1");
  }

  @Test
  void loweringTheMaxGrantsNothingUntilEnoughHaveEnded() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 3));
    calls(0, 5);
    replica.ledger.setMaxOngoing(1);
    replica.finish();
    assertThat(replica.running).hasSize(2);
    replica.finish();
    assertThat(replica.running).hasSize(1);
    replica.finish();
    assertThat(paths(replica)).containsExactly("/3");
  }

  @Test
  void raisingTheMaxServesWhoWaitsAtOnce() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    calls(0, 3);
    replica.ledger.setMaxOngoing(3);
    world.run();
    assertThat(paths(replica)).containsExactly("/0", "/1", "/2");
  }

  @Test
  void cancellingOneOfManyLeavesTheOthers() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    call(0);
    List<Pending<Response>> waiting = new ArrayList<>();
    for (int i = 1; i < 6; i++) {
      waiting.add(world.handle().start(Request.get("/" + i)));
    }
    world.run();
    waiting.get(2).cancel();
    world.run();
    assertThat(world.router.queued()).isEqualTo(4);
    assertThat(served(world, replica)).containsExactly("/0", "/1", "/2", "/4", "/5");
  }

  @Test
  void finishingOneRequestNeverStrandsAnother() {
    RoutingWorld.Replica one = world.local("one", 1);
    RoutingWorld.Replica two = world.published(world.local("two", 1));
    List<Future<Response>> responses =
        world.settled(IntStream.range(0, 6).mapToObj(this::call).toList());
    for (int i = 0; i < 3; i++) {
      one.respond();
      two.finish();
    }
    assertThat(responses).allMatch(Future::succeeded);
  }

  @Test
  void aLateAnswerOfARemovedReplicaChangesNothingElse() {
    RoutingWorld.Replica gone = world.published(world.remote("gone", 1));
    Future<Response> response = world.settled(call(0));
    world.remove(gone);
    RoutingWorld.Replica fresh = world.published(world.remote("fresh", 1));
    gone.finish();
    assertThat(response.succeeded()).isTrue();
    assertThat(RoutingProbe.remoteReplicas(world.router).get(0).ongoing()).isZero();
    assertThat(fresh.executions).isZero();
  }

  @Test
  void aLoopBlockedForLongerThanTheHoldLosesTheSlotAndKeepsItsPlace() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    calls(0, 2);
    replica.respond(); // the task that takes the grant does not run
    world.clock.advance(Duration.ofSeconds(2));
    replica.ledger.sweep();
    assertThat(replica.ledger.view("r", 0).expired()).isOne();
    world.run();
    assertThat(paths(replica)).containsExactly("/1");
    assertThat(world.router.counters.retries.sum()).isOne();
  }

  // --- estimates of replicas elsewhere ---

  @Test
  void anOlderReportNeverReplacesANewer() {
    RemoteReplica remote = far();
    remote.recordLoadReport(LoadReport.of(7, 10, 4));
    remote.recordLoadReport(LoadReport.of(2, 10, 2));
    assertThat(remote.ongoing()).isEqualTo(7);
  }

  /** An hour of 300 000 changes a second, all of them of its own instance's requests. */
  @ParameterizedTest
  @ValueSource(ints = {1 << 29, 1 << 30, (1 << 30) + 1, Integer.MAX_VALUE})
  void howeverManyChangesNobodyWasToldOfTheNextReportIsTaken(int changes) {
    RemoteReplica remote = far();
    remote.recordLoadReport(LoadReport.of(7, 10, 4));
    world.clock.advanceNanos(SlotsProbe.STALE_NANOS + 1);
    remote.recordLoadReport(LoadReport.of(2, 10, 4 + changes));
    assertThat(remote.ongoing()).isEqualTo(2);
  }

  @Test
  void aStaleReportCountsForNothing() {
    RemoteReplica remote = far();
    remote.recordLoadReport(LoadReport.of(7, 10, 4));
    world.clock.advanceNanos(SlotsProbe.STALE_NANOS + 1);
    assertThat(remote.ongoing()).isZero();
    assertThat(SlotsProbe.take(remote)).isNotNull();
    assertThat(remote.ongoing()).as("our own is known").isOne();
  }

  @Test
  void theEstimateIsWhatWasReportedLessOursThenPlusOursNow() {
    RemoteReplica remote = far();
    SlotsProbe.take(remote);
    SlotsProbe.take(remote);
    remote.recordLoadReport(LoadReport.of(5, 10, 2)); // 2 of them ours
    SlotsProbe.take(remote);
    assertThat(remote.ongoing()).isEqualTo(6);
    IntStream.range(0, 3).forEach(i -> remote.giveBack(1));
    assertThat(remote.ongoing()).isEqualTo(3);
  }

  @Test
  void anOfferedSlotServesTheOldestAtOnce() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1).filled());
    calls(0, 2);
    replica.ledger.complete();
    world.settled(replica.offer(0, 1, Duration.ofMillis(250)));
    assertThat(paths(replica)).containsExactly("/0");
    assertThat(replica.ledger.ongoing()).isOne();
  }

  @Test
  void whoTakesOnlySpareSlotsLeavesTheLastOneAndDoesNotWait() {
    RoutingWorld.Replica replica = world.published(world.local("near", 2));
    FakeCaller first = spare();
    assertThat(replica.ledger.ongoing()).isOne();
    FakeCaller second = spare(); // looked while two were free, say
    assertThat(second.failure).isInstanceOf(BerthException.BackPressure.class);
    assertThat(first.failure).isNull();
    assertThat(replica.ledger.ongoing()).as("it gave the last back").isOne();
    assertThat(world.router.queued()).isZero();
  }

  private FakeCaller spare() {
    FakeCaller caller =
        new FakeCaller() {
          @Override
          public boolean isSpare() {
            return true;
          }
        };
    RoutedCall.start(world.router, world.routers.loop(0), Request.get("/"), caller, 0);
    world.run();
    return caller;
  }

  @Test
  void anOfferThatIsRefusedAfterAllIsNoRequestOfItsReplica() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1).filled());
    FakeCaller caller = new FakeCaller();
    world.settled(
        RoutedCall.start(world.router, world.routers.loop(0), Request.get("/"), caller, 0));
    replica.ledger.complete();
    replica.ledger.release(replica.offer(0, 1, Duration.ofMillis(250))); // gone when it is used
    RoutingWorld.Replica other = world.published(world.local("near", 1).filled());
    world.run();
    assertThat(caller.isOver()).as("refused: it did not run").isFalse();
    other.ledger.complete();
    world.pass(Duration.ofSeconds(1));
    for (RoutingWorld.Replica each : List.of(replica, other)) {
      if (!each.running.isEmpty()) {
        each.respond();
      }
    }
    world.run();
    assertThat(caller.response).isNotNull();
    assertThat(caller.told).hasSize(2);
    assertThat(RoutingProbe.over(world.router)).isOne();
    assertThat(RoutingProbe.notOver(world.router)).isZero();
  }

  @Test
  void anOfferThatNoOneNeedsIsGivenBackAtOnce() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1));
    world.settled(replica.offer(0, 1, Duration.ofMillis(250)));
    assertThat(replica.ledger.ongoing()).isZero();
    assertThat(SlotsProbe.own(RoutingProbe.remoteReplicas(world.router).get(0))).isZero();
  }

  // --- tiers ---

  @Test
  void aReplicaOfThisInstanceIsPreferred() {
    RoutingWorld.Replica near = world.local("near", 10);
    RoutingWorld.Replica far = world.published(world.remote("far", 10));
    calls(0, 10);
    assertThat(near.running).hasSize(10);
    calls(10, 11);
    assertThat(far.running).hasSize(1);
  }

  @Test
  void aReplicaOfThisZoneIsPreferredToOneOfAnother() {
    RoutingWorld zoned = new RoutingWorld(1, RoutingProbe.DEFAULTS, "a");
    RoutingWorld.Replica same = zoned.remote("same", 10, "a");
    RoutingWorld.Replica other = zoned.published(zoned.remote("other", 10, "b"));
    IntStream.range(0, 10).forEach(i -> call(zoned.handle(), i));
    zoned.run();
    assertThat(same.running).hasSize(10);
    call(zoned.handle(), 10);
    zoned.run();
    assertThat(other.running).hasSize(1);
  }

  @Test
  void withoutAZoneOfItsOwnNoZoneIsPreferred() {
    RoutingWorld.Replica a = world.remote("a", 1000, "a");
    RoutingWorld.Replica b = world.published(world.remote("b", 1000, "b"));
    calls(0, 200);
    assertThat(a.running.size()).isBetween(60, 140);
    assertThat(b.running.size()).isBetween(60, 140);
  }

  @Test
  void theCallersOwnLoopIsPreferredWhenItIsNoBusier() {
    RoutingWorld wide = new RoutingWorld(2, RoutingProbe.DEFAULTS);
    RoutingWorld.Replica zero = wide.local("zero", 10, 0, true);
    RoutingWorld.Replica one = wide.published(wide.local("one", 10, 1, true));
    call(wide.handle(1), 1);
    wide.run();
    assertThat(one.running).hasSize(1);
    call(wide.handle(1), 2); // busier now by one
    wide.run();
    assertThat(zero.running).hasSize(1);
  }
}
