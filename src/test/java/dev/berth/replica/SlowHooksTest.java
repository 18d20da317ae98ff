package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.fakes.Answering;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Hooks that are slow, hang, heed no interrupt, or find no thread. */
@Timeout(60)
class SlowHooksTest {
  private final ReplicaRig rig = new ReplicaRig();
  private final List<String> calls = Collections.synchronizedList(new ArrayList<>());
  private final Hang hang = new Hang();
  private final List<Thread> running = new ArrayList<>();

  /** Hangs in the hooks that it is told to. */
  private final class Slow extends Answering {
    private final List<String> hanging;
    private boolean swallows;
    private boolean fails; // in its start

    Slow(String... hanging) {
      super("ok");
      this.hanging = List.of(hanging);
    }

    private void called(String hook) {
      calls.add(hook);
      if (hanging.contains(hook)) {
        try {
          hang.here(!swallows);
        } catch (InterruptedException given) {
          throw new IllegalStateException(hook + " interrupted", given);
        }
      }
    }

    @Override
    public void start() {
      called("start");
      if (fails) {
        throw new IllegalStateException("start fails");
      }
    }

    @Override
    public void checkHealth() {
      called("check");
    }

    @Override
    public void stop() {
      called("stop");
    }
  }

  @AfterEach
  void end() throws InterruptedException {
    letGo();
  }

  private ReplicaHost.StartingReplica begin(AsyncHandler handler, Duration timeout) {
    Long nanos = timeout == null ? null : (Long) timeout.toNanos();
    return rig.host.begin(rig.spec(1, context -> handler, null, nanos), List.of(rig.seat(0)));
  }

  /** Runs what waits for a thread, on one. */
  private void giveThread() {
    Thread thread = new Thread(rig.offLoop::runAll);
    running.add(thread);
    thread.start();
  }

  private void giveThreadToHang() throws InterruptedException {
    giveThread();
    hang.awaitBegun();
  }

  private void endThreads() throws InterruptedException {
    for (Thread thread : running) {
      thread.join();
    }
    rig.tasks.runAll();
  }

  private void letGo() throws InterruptedException {
    hang.end();
    endThreads();
  }

  private void pass(Duration span) {
    rig.passLooking(span);
    rig.tasks.runAll();
  }

  private static Duration s(double seconds) {
    return Duration.ofMillis((long) (seconds * 1_000));
  }

  // --- start ---

  @Test
  void aStartThatTakesTooLongHasFailedAndSaysWhereItStands() throws Exception {
    Slow handler = new Slow("start");
    ReplicaHost.StartingReplica starting = begin(handler, s(2.5));
    giveThreadToHang();
    pass(s(2.4));
    assertThat(starting.running().isComplete()).isFalse();
    pass(s(0.3));
    assertThat(starting.running().cause())
        .isInstanceOf(TimeoutException.class)
        .hasMessageStartingWith(
            "start: not done in 2.5 s (expected: completion within replica_start_timeout_s), its"
                + " handler: in start, at ")
        .hasMessageContaining("dev.berth.replica.SlowHooksTest$Slow.called(SlowHooksTest.java:")
        .hasMessageNotContaining("ReplicaHooks");
    endThreads();
    assertThat(calls).as("what was made is stopped").containsExactly("start", "stop");
    assertThat(starting.over().succeeded()).isTrue();
    assertThat(rig.states).isEmpty();
  }

  @Test
  void aStartThatHeedsNoInterruptHasFailedAllTheSameAndIsOverWhenItEnds() throws Exception {
    Slow handler = new Slow("start");
    handler.swallows = true;
    ReplicaHost.StartingReplica starting = begin(handler, s(1));
    giveThreadToHang();
    pass(s(1.2));
    assertThat(starting.running().cause()).isInstanceOf(TimeoutException.class);
    hang.awaitInterrupted();
    assertThat(starting.over().isComplete()).isFalse();
    letGo();
    assertThat(starting.over().succeeded()).isTrue();
    assertThat(calls).containsExactly("start", "stop");
    assertThat(rig.states).as("it is wanted no more").isEmpty();
    assertThat(rig.host.replicas()).isEmpty();
  }

  @Test
  void theWaitForAThreadIsNoPartOfTheTimeOfAStart() throws Exception {
    ReplicaHost.StartingReplica starting = begin(new Slow("start"), s(2));
    pass(s(100));
    giveThreadToHang();
    pass(s(1.5));
    assertThat(starting.running().isComplete()).isFalse();
    letGo();
    assertThat(starting.running().succeeded()).isTrue();
    pass(s(5));
    assertThat(rig.states).containsExactly(ReplicaState.RUNNING);
  }

  @Test
  void aStartWithoutABoundMayTakeAsLongAsItLikes() throws Exception {
    ReplicaHost.StartingReplica starting = begin(new Slow("start"), null);
    giveThreadToHang();
    pass(Duration.ofHours(1));
    assertThat(starting.running().isComplete()).isFalse();
    letGo();
    assertThat(starting.running().succeeded()).isTrue();
  }

  @Test
  void aStartThatWaitsForAThreadSaysSinceWhenAndWhy() throws Exception {
    pass(s(7));
    begin(new Slow(), null);
    pass(s(0.9));
    assertThat(rig.waits).isEmpty();
    pass(s(0.2));
    String waits = "waiting for a start thread since 2026-01-01T00:00:07Z";
    assertThat(rig.waits).containsExactly(waits);
    rig.lost = "8 are lost";
    pass(s(1));
    assertThat(rig.waits).containsExactly(waits, waits + ": 8 are lost");
    pass(s(30));
    assertThat(rig.waits).as("said again").hasSize(3).endsWith(waits + ": 8 are lost");
    begin(new Slow("start"), null);
    pass(s(2));
    rig.waits.clear();
    giveThreadToHang();
    pass(s(1));
    assertThat(rig.waits).contains("");
    pass(s(40));
    assertThat(rig.waits).containsOnly("");
  }

  @Test
  void aStartThatIsAbandonedWhileItWaitsIsTakenBackAndHasFailed() {
    ReplicaHost.StartingReplica starting = begin(new Slow(), null);
    assertThat(starting.replica().abandonStart()).isTrue();
    rig.tasks.runAll();
    assertThat(starting.running().cause()).isInstanceOf(CancellationException.class);
    assertThat(starting.over().succeeded()).isTrue();
    assertThat(rig.offLoop.size()).as("it does not wait any more").isZero();
    assertThat(starting.replica().abandonStart()).isFalse();
    assertThat(calls).isEmpty();
  }

  @Test
  void aStartThatWillFindNoThreadHasFailedAndItsPlaceIsFree() {
    rig.noThreads = true;
    ReplicaHost.StartingReplica starting = begin(new Slow(), null);
    rig.tasks.runAll();
    assertThat(starting.running().cause()).isInstanceOf(RejectedExecutionException.class);
    assertThat(starting.over().succeeded()).isTrue();
    rig.noThreads = false;
    ReplicaHost.StartingReplica next = begin(new Slow(), null);
    assertThat(next.replica().ordinal()).isEqualTo(starting.replica().ordinal());
  }

  @Test
  void aFirstCheckThatHangsIsInterruptedAtItsTimeoutAndFailsTheStart() throws Exception {
    ReplicaHost.StartingReplica starting = begin(new Slow("check"), null);
    giveThreadToHang();
    pass(s(29));
    assertThat(hang.isInterrupted()).isFalse();
    pass(s(3));
    endThreads();
    assertThat(starting.running().cause()).hasMessage("check interrupted");
    assertThat(calls).containsExactly("start", "check", "stop");
  }

  @Test
  void theStopHookOfAStartThatFailedHasItsTimeToo() throws Exception {
    Slow handler = new Slow("stop");
    handler.fails = true;
    ReplicaHost.StartingReplica starting = begin(handler, null);
    giveThreadToHang();
    pass(s(9));
    assertThat(hang.isInterrupted()).isFalse();
    pass(s(3));
    endThreads();
    assertThat(starting.running().cause()).hasMessage("start fails");
    assertThat(starting.over().succeeded()).isTrue();
  }

  // --- stop ---

  private Replica stopping(Slow handler) {
    ReplicaHost.StartingReplica starting = begin(handler, null);
    rig.runAll();
    calls.clear();
    Replica replica = starting.running().result();
    replica.shutDown(Duration.ZERO);
    rig.tasks.runAll();
    return replica;
  }

  @Test
  void theTimeOfAStopHookRunsFromWhenItHasAThread() throws Exception {
    Replica replica = stopping(new Slow("stop"));
    pass(s(50));
    Future<Void> stopped = replica.shutDown(Duration.ZERO);
    assertThat(stopped.isComplete()).as("it waits").isFalse();
    giveThreadToHang();
    pass(s(9));
    assertThat(stopped.isComplete()).as("it has its 10 s").isFalse();
    assertThat(hang.isInterrupted()).isFalse();
    pass(s(2));
    assertThat(stopped.isComplete()).isTrue();
    hang.awaitInterrupted();
  }

  @Test
  void aStopHookThatFindsNoThreadIsLeftOut() {
    Replica replica = stopping(new Slow());
    Future<Void> stopped = replica.shutDown(Duration.ZERO);
    pass(s(59));
    assertThat(stopped.isComplete()).isFalse();
    assertThat(rig.offLoop.size()).isEqualTo(1);
    pass(s(2));
    assertThat(stopped.succeeded()).isTrue();
    assertThat(rig.offLoop.size()).as("it is taken back").isZero();
    assertThat(calls).isEmpty();
  }

  @Test
  void aReplicaStopsAlthoughThereWillBeNoThreadForItsStopHook() {
    ReplicaHost.StartingReplica starting = begin(new Slow(), null);
    rig.runAll();
    rig.noThreads = true;
    Future<Void> stopped = starting.running().result().kill();
    rig.tasks.runAll();
    assertThat(stopped.succeeded()).isTrue();
  }

  // --- health ---

  @Test
  void aCheckThatFindsNoThreadSaysNothingOfAReplicasHealth() {
    ReplicaHost.StartingReplica starting = begin(new Slow(), null);
    rig.runAll();
    Replica replica = starting.running().result();
    pass(Duration.ofMinutes(10));
    assertThat(rig.health.size()).isEqualTo(1);
    assertThat(replica.state()).isEqualTo(ReplicaState.RUNNING);
    assertThat(replica.healthCheckFailures()).isZero();
    rig.health.runAll();
    pass(s(11));
    assertThat(rig.health.size()).as("the next").isEqualTo(1);
  }
}
