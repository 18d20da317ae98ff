package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.NotRunReason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls that a replica refuses for a limit beside its slots, and that wait for it. */
class CallLimitTest {
  private static final NotRunReason FULL =
      new NotRunReason("tool t: 1 calls", NotRunReason.MAY_WAIT);

  private final RoutingWorld world = new RoutingWorld();
  private final List<RoutedCall> calls = new ArrayList<>();

  /** A caller whose call counts for a limit. */
  private static final class LimitedCaller extends FakeCaller {
    private final String limit;
    private boolean wanted = true;

    LimitedCaller(String limit) {
      this.limit = limit;
    }

    @Override
    public String limit() {
      return limit;
    }

    @Override
    public boolean isWanted() {
      return wanted;
    }
  }

  CallLimitTest() {
    world.router.configure(new ProxyRules(true, List.of(), 0, false, -1));
  }

  @AfterEach
  void everythingIsAtRest() {
    world.assertAllAtRest();
  }

  private RoutingWorld.Replica replica(boolean remote, String name) {
    return world.published(remote ? world.remote(name, 3) : world.local(name, 3));
  }

  private LimitedCaller call(String path, String limit) {
    LimitedCaller caller = new LimitedCaller(limit);
    calls.add(
        RoutedCall.start(
            world.router,
            world.routers.loop(0),
            Request.get(path),
            caller,
            world.clock.getAsLong()));
    world.run();
    return caller;
  }

  private static BusMessage.CallRequest running(RoutingWorld.Replica at, String path) {
    return at.running.stream()
        .filter(each -> each.request().path().equals(path))
        .findFirst()
        .orElseThrow();
  }

  private static void assertRuns(RoutingWorld.Replica at, String... paths) {
    assertThat(at.running)
        .extracting(each -> each.request().path())
        .containsExactlyInAnyOrder(paths);
  }

  private void respond(RoutingWorld.Replica at, String path) {
    at.respond(running(at, path));
    world.run();
  }

  private int sent() {
    return world.sent(BusMessage.CallRequest.class).size();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void callBeyondALimitWaitsInItsPlaceAndBlocksNoOther(boolean remote) {
    RoutingWorld.Replica replica = replica(remote, "r");
    call("/a", "t");
    FakeCaller second = call("/b", "t");
    replica.notRun(running(replica, "/b"), FULL);
    call("/c", "t");
    assertThat(world.router.queued()).isEqualTo(2);
    FakeCaller beside = call("/d", "");
    call("/e", "u");
    assertRuns(replica, "/a", "/d", "/e");
    assertThat(sent()).as("the limit is known").isEqualTo(4);
    respond(replica, "/d");
    assertThat(beside.response).isNotNull();
    assertRuns(replica, "/a", "/e");
    respond(replica, "/a");
    assertRuns(replica, "/b", "/e");
    respond(replica, "/b");
    assertThat(second.response).isNotNull();
    assertRuns(replica, "/c", "/e");
    assertThat(sent()).isEqualTo(6);
    replica.finishAll();
  }

  @Test
  void callBeyondTheLimitOfOneReplicaRunsAtAnother() {
    RoutingWorld.Replica one = replica(false, "one");
    RoutingWorld.Replica two = replica(false, "two");
    call("/a", "t");
    call("/b", "t");
    RoutingWorld.Replica refuser = one.running.size() == 2 ? one : two;
    RoutingWorld.Replica other = refuser == one ? two : one;
    if (!other.running.isEmpty()) { // one each: both are then full
      call("/c", "t");
      refuser = one.running.size() == 2 ? one : two;
      other = refuser == one ? two : one;
    }
    int before = other.running.size();
    refuser.notRun(refuser.running.get(1), FULL);
    assertThat(other.running).hasSize(before + 1);
    assertThat(world.router.queued()).isZero();
    one.finishAll();
    two.finishAll();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void waitingCallIsSentAgainAfterATime(boolean remote) {
    RoutingWorld.Replica replica = replica(remote, "r");
    call("/a", "t"); // while calls of another node use the limit
    replica.notRun(FULL);
    call("/b", "t");
    assertThat(sent()).isEqualTo(1);
    world.pass(Duration.ofMillis(150));
    assertRuns(replica, "/a");
    replica.notRun(FULL);
    assertRuns(replica);
    world.pass(Duration.ofMillis(150));
    assertRuns(replica, "/a");
    respond(replica, "/a");
    assertRuns(replica, "/b");
    respond(replica, "/b");
    world.pass(Duration.ofSeconds(2));
    call("/c", "t");
    call("/d", "t"); // the limit is forgotten
    assertRuns(replica, "/c", "/d");
    replica.finishAll();
  }

  @Test
  void waiterIsServedAfterTheRefusedCallLeaves() {
    RoutingWorld.Replica replica = replica(false, "r");
    call("/a", "t");
    replica.notRun(FULL);
    call("/b", "t");
    calls.get(0).cancel(); // with its timer
    world.run();
    world.pass(Duration.ofSeconds(2));
    assertRuns(replica, "/b");
    replica.finishAll();
  }

  @Test
  void queueTimeEndsWithTheLimitInWords() {
    RoutingWorld.Replica replica = replica(false, "r");
    call("/a", "t");
    FakeCaller late = call("/b", "t");
    replica.notRun(running(replica, "/b"), FULL);
    FakeCaller later = call("/c", "t");
    Duration step = Duration.ofMillis(50);
    for (Duration time = Duration.ZERO; !late.isOver() || !later.isOver(); time = time.plus(step)) {
      assertThat(time).isLessThan(Duration.ofMinutes(5));
      world.pass(step);
      while (replica.running.size() > 1) {
        replica.notRun(replica.running.get(1), FULL);
      }
    }
    for (FakeCaller each : List.of(late, later)) {
      assertThat(Objects.requireNonNull(each.failure))
          .isInstanceOf(BerthException.BackPressure.class)
          .hasMessageContaining("tool t: 1 calls");
    }
    replica.finishAll();
  }

  @Test
  void freedSlotPassesToTheFirstWaiterWithinItsLimit() {
    RoutingWorld.Replica replica = replica(false, "r");
    call("/a", "t");
    call("/x", "");
    call("/b", "t");
    replica.notRun(running(replica, "/b"), FULL);
    call("/y", "");
    call("/d", "");
    respond(replica, "/a");
    assertRuns(replica, "/x", "/y", "/d");
    assertThat(world.router.handOffs()).isEqualTo(1);
    respond(replica, "/y");
    assertRuns(replica, "/x", "/d", "/b");
    assertThat(world.router.handOffs()).isEqualTo(2);
    replica.finishAll();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void refusedCallOfAClientThatHasLeftIsCancelled(boolean remote) {
    RoutingWorld.Replica replica = replica(remote, "r");
    call("/a", "t");
    LimitedCaller left = call("/b", "t");
    left.wanted = false;
    replica.notRun(running(replica, "/b"), FULL);
    assertThat(left.failure).isInstanceOf(BerthException.Cancelled.class);
    assertThat(world.router.queued()).isZero();
    respond(replica, "/a");
    assertRuns(replica);
    replica.finishAll();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void callThatWasNotSentLeavesNoLimitInUse(boolean remote) {
    RoutingWorld.Replica replica = replica(remote, "r");
    call("/a", "t");
    call("/b", "t");
    replica.notRun(running(replica, "/b"), FULL);
    respond(replica, "/a");
    respond(replica, "/b");
    replica.unfit = true;
    assertThat(call("/c", "t").failure).isInstanceOf(BerthException.HandlerFailed.class);
    replica.unfit = false;
    call("/d", "t");
    assertRuns(replica, "/d");
    replica.finishAll();
  }

  @Test
  void callThatItsOwnNodeRefusesStaysBeforeLaterOnes() {
    RoutingWorld.Replica replica = replica(false, "r");
    call("/a", "t");
    call("/b", "t");
    call("/c", "t");
    call("/d", "t"); // no slot is free
    replica.notRun(running(replica, "/c"), FULL); // its slot passes to the waiter
    replica.notRun(running(replica, "/d"), FULL);
    respond(replica, "/b");
    assertRuns(replica, "/a", "/c");
    respond(replica, "/c");
    assertRuns(replica, "/a", "/d");
    replica.finishAll();
  }

  @Test
  void cancelledCallsLeaveNoLimitInUse() {
    RoutingWorld.Replica replica = replica(false, "r");
    call("/a", "t");
    call("/b", "t");
    replica.notRun(running(replica, "/b"), FULL);
    call("/c", "t");
    replica.respond(running(replica, "/a")); // its reply will grant a slot to the first waiter
    world.offLoop = true;
    calls.get(1).cancel(); // after the reply, before the use of the grant
    world.offLoop = false;
    world.run();
    assertRuns(replica, "/c");
    replica.finishAll();
  }
}
