package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Answering;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.QueueExecutor;
import io.vertx.core.Future;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A hook that takes a new user_config, and how long it is waited for. */
@Timeout(20)
class ReconfigurationsTest {
  private final ManualClock clock = new ManualClock();
  private final QueueExecutor offLoop = new QueueExecutor();
  private final ReplicaHooks hooks = ReplicaRig.hooks(offLoop, clock);
  private int touched;
  private final UserConfigUpdater reconfigurations = new UserConfigUpdater(hooks, () -> touched++);

  /** Hangs when told so by its configuration, until it is interrupted or the test lets it go. */
  private static final class Hanging extends Answering {
    Hanging() {
      super("ok");
    }

    final List<Object> taken = new CopyOnWriteArrayList<>();
    final Hang hang = new Hang();

    @Override
    public void reconfigure(Map<String, Object> userConfig) throws InterruptedException {
      taken.add(userConfig.get("k"));
      if (userConfig.containsKey("hang")) {
        hang.here(userConfig.get("hang").equals("until interrupted"));
      }
    }
  }

  private final Hanging handler = new Hanging();

  @BeforeEach
  void add() {
    hooks.add(handler);
  }

  @AfterEach
  void letGo() {
    handler.hang.end();
  }

  private Thread hanging(QueueExecutor hooks) throws InterruptedException {
    Thread thread = new Thread(hooks::runAll);
    thread.start();
    handler.hang.awaitBegun();
    return thread;
  }

  private void patienceEnds() {
    clock.advanceNanos(UserConfigUpdater.RECONFIGURE_TIMEOUT_NANOS - 1);
    reconfigurations.tick();
    clock.advanceNanos(1);
    reconfigurations.tick();
  }

  @Test
  void aHookThatHangsIsInterruptedWhenItsTimeIsOverAndHasFailed() throws Exception {
    Future<Void> hung = reconfigurations.give(Map.of("k", 1, "hang", "until interrupted"));
    Thread thread = hanging(offLoop);
    clock.advanceNanos(UserConfigUpdater.RECONFIGURE_TIMEOUT_NANOS - 1);
    reconfigurations.tick();
    assertThat(hung.isComplete()).as("a nanosecond before").isFalse();
    assertThat(handler.hang.isInterrupted()).isFalse();

    clock.advanceNanos(1);
    reconfigurations.tick();

    assertThat(hung.cause())
        .isInstanceOf(TimeoutException.class)
        .hasMessage("reconfigure: not done in 600 s (expected: completion)");
    thread.join();
    assertThat(handler.hang.isInterrupted()).isTrue();
    assertThat(reconfigurations.nextLook()).as("nothing is under way").isNull();

    Future<Void> next = reconfigurations.give(Map.of("k", 2));
    offLoop.runAll();
    assertThat(next.succeeded()).as("the next one is taken").isTrue();
    assertThat(handler.taken).containsExactly(1, 2);
  }

  @Test
  void aHookThatHeedsNothingIsJoinedByNoOtherAndThatOneEndsToo() throws Exception {
    Future<Void> deaf = reconfigurations.give(Map.of("k", 1, "hang", "on"));
    Future<Void> second = reconfigurations.give(Map.of("k", 2));
    Thread thread = hanging(offLoop);
    patienceEnds();
    assertThat(deaf.failed()).isTrue();
    handler.hang.awaitInterrupted();
    assertThat(second.isComplete()).as("its own time has just begun").isFalse();

    patienceEnds();
    assertThat(second.cause())
        .hasMessage(
            "reconfigure: not done in 600 s: the previous one still runs (expected: completion)");
    assertThat(offLoop.size()).as("it got no thread").isZero();

    Future<Void> third = reconfigurations.give(Map.of("k", 3));
    handler.hang.end();
    thread.join(); // which runs what the end of the first one lets run
    offLoop.runAll();
    assertThat(third.succeeded()).isTrue();
    assertThat(handler.taken).containsExactly(1, 3);
  }

  @Test
  void itsTimeRunsFromItsTurn() {
    Future<Void> first = reconfigurations.give(Map.of("k", 1));
    Future<Void> second = reconfigurations.give(Map.of("k", 2));
    long half = UserConfigUpdater.RECONFIGURE_TIMEOUT_NANOS / 2;
    clock.advanceNanos(half);
    offLoop.runOne();
    assertThat(first.succeeded()).isTrue();
    clock.advanceNanos(half + 1);
    reconfigurations.tick();
    assertThat(second.isComplete()).isFalse();
    assertThat(touched).as("looks are asked for once for each").isEqualTo(2);
    assertThat(reconfigurations.nextLook()).isEqualTo(clock.getAsLong() + half - 1);
  }

  @Test
  void whatGotNoThreadInTimeIsNotPassedOnLater() {
    Future<Void> starved = reconfigurations.give(Map.of("k", 1));
    patienceEnds();
    assertThat(starved.cause()).isInstanceOf(TimeoutException.class);
    Future<Void> next = reconfigurations.give(Map.of("k", 2));
    offLoop.runAll();
    assertThat(handler.taken).containsExactly(2);
    assertThat(next.succeeded()).isTrue();
  }

  @Test
  void aStopInterruptsWhatRunsAndEndsWhatWaits() throws Exception {
    Future<Void> runs = reconfigurations.give(Map.of("k", 1, "hang", "until interrupted"));
    Future<Void> waits = reconfigurations.give(Map.of("k", 2));
    Thread thread = hanging(offLoop);

    reconfigurations.close();

    thread.join();
    assertThat(handler.hang.isInterrupted()).isTrue();
    for (Future<Void> each : List.of(runs, waits, reconfigurations.give(Map.of("k", 3)))) {
      assertThat(each.cause()).isInstanceOf(CancellationException.class);
    }
    assertThat(offLoop.size()).isZero();
    assertThat(handler.taken).containsExactly(1);
  }

  @Test
  void theWheelOfTheHostEndsIt() throws Exception {
    ReplicaRig rig = new ReplicaRig();
    Replica replica = rig.start(1, handler);
    Future<Void> hung = replica.reconfigure(Map.of("hang", "until interrupted"));
    Thread thread = hanging(rig.offLoop);
    rig.host.tick();
    rig.clock.advanceNanos(UserConfigUpdater.RECONFIGURE_TIMEOUT_NANOS);

    rig.host.tick();

    thread.join();
    assertThat(hung.cause()).isInstanceOf(TimeoutException.class);
    assertThat(replica.state()).as("it serves on").isEqualTo(ReplicaState.RUNNING);
  }
}
