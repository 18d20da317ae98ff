package dev.berth.protocol.port;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.fakes.ManualClock;
import dev.berth.fakes.ManualTimer;
import dev.berth.protocol.port.TickTimer.LoopTick;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

class TickTimerTest {
  private static final long TICK = TickTimer.TICK_NANOS;
  private static final long ORIGIN = 1_000 * TICK;

  private final ManualTimer loop = new ManualTimer(new ManualClock(ORIGIN + 1));
  private final TickTimer timer = new TickTimer(loop, loop.clock);
  private final List<String> ran = new ArrayList<>();
  private boolean needed;

  private static LongSupplier always(Runnable task) {
    return () -> {
      task.run();
      return 0;
    };
  }

  private LoopTick deadlines() {
    LoopTick made = timer.deadlines;
    made.start(
        () -> {
          ran.add("tick");
          return needed ? 0 : TickTimer.NEVER;
        },
        () -> ran.add("woken"));
    return made;
  }

  /** Lets the linger time pass, until the tick sleeps. */
  private LoopTick sleeping() {
    LoopTick made = deadlines();
    loop.pass(Duration.ofSeconds(2));
    assertThat(made.isAwake()).isFalse();
    ran.clear();
    loop.wakeUps = 0;
    return made;
  }

  @Test
  void anUnneededTickFallsAsleepAndArmsNothing() {
    LoopTick tick = deadlines();
    loop.pass(Duration.ofMillis(1_000));
    assertThat(tick.isAwake()).isTrue();
    loop.pass(Duration.ofMillis(50));
    assertThat(tick.isAwake()).isFalse();
    assertThat(loop.armed()).isZero();
    loop.wakeUps = 0;
    loop.pass(Duration.ofHours(1));
    assertThat(loop.wakeUps).isZero();
  }

  @Test
  void aSleepingTickRunsWithinItsPeriodOnceNeeded() {
    LoopTick tick = sleeping();
    loop.pass(Duration.ofMillis(7));
    tick.need();
    long wait = loop.untilNext().toNanos();
    assertThat(wait).isPositive().isLessThanOrEqualTo(TICK);
    assertThat((loop.clock.getAsLong() + wait - ORIGIN) % TICK).as("at a multiple").isZero();
    tick.need();
    assertThat(loop.armed()).isOne();
    needed = true;
    loop.pass(Duration.ofNanos(TICK));
    assertThat(ran).containsExactly("woken", "tick");
    loop.pass(Duration.ofSeconds(10));
    assertThat(loop.wakeUps).isEqualTo(401);
  }

  @Test
  void aTickThatWasNeededLastFallsAsleepAfterTheLingerTime() {
    LoopTick tick = sleeping();
    tick.need();
    needed = true;
    loop.pass(Duration.ofSeconds(5));
    needed = false;
    loop.pass(Duration.ofMillis(900));
    assertThat(tick.isAwake()).isTrue();
    loop.pass(Duration.ofMillis(200));
    assertThat(tick.isAwake()).isFalse();
  }

  @Test
  void aTimerArmedForLaterIsRearmedForAnEarlierTick() {
    LoopTick tick = sleeping();
    timer.every(Duration.ofHours(1).toNanos()).start(always(() -> ran.add("hourly")), () -> {});
    assertThat(loop.untilNext()).isGreaterThan(Duration.ofMinutes(1));
    tick.need();
    assertThat(loop.armed()).isOne();
    loop.pass(Duration.ofNanos(TICK));
    assertThat(ran).containsExactly("woken", "tick");
    loop.pass(Duration.ofHours(1));
    assertThat(ran).contains("hourly");
  }

  @Test
  void ticksWithCoincidingMultiplesShareAWakeUp() {
    for (int period : new int[] {100, 200, 200, 1_000}) {
      timer
          .every(Duration.ofMillis(period).toNanos())
          .start(always(() -> ran.add("tick")), () -> {});
      loop.pass(Duration.ofMillis(3)); // each starts at its own time
    }
    loop.pass(Duration.ofSeconds(1));
    ran.clear();
    loop.wakeUps = 0;
    loop.pass(Duration.ofSeconds(10));
    assertThat(loop.wakeUps).isEqualTo(100);
    assertThat(ran).hasSize(100 + 50 + 50 + 10);
  }

  @Test
  void workFoundByARareLookEndsTheSleepAsNeedDoes() {
    LoopTick tick = timer.deadlines;
    tick.start(() -> needed ? 0 : TickTimer.IDLE_NANOS, () -> ran.add("woken"));
    loop.pass(Duration.ofSeconds(3));
    assertThat(tick.isAwake()).isFalse();
    needed = true;
    ran.clear();
    loop.pass(Duration.ofSeconds(1));
    assertThat(ran).containsExactly("woken");
    assertThat(tick.isAwake()).isTrue();
    assertThat(loop.untilNext().toNanos()).isLessThanOrEqualTo(TICK);
  }

  @Test
  void aTickThatAsksForALaterTimeRunsThenAndEarlierIfNeeded() {
    LoopTick tick = timer.every(4 * TICK);
    long deadline = ORIGIN + Duration.ofMillis(3_250).toNanos();
    List<Duration> late = new ArrayList<>();
    tick.start(
        () -> {
          long left = deadline - loop.clock.getAsLong();
          if (left <= 0) {
            late.add(Duration.ofNanos(-left));
          }
          return left <= 0 ? TickTimer.NEVER : left;
        },
        () -> {});
    loop.pass(Duration.ofMillis(150));
    assertThat(tick.isAwake()).isFalse();
    loop.pass(Duration.ofMillis(10));
    tick.need();
    loop.pass(Duration.ofMillis(100));
    assertThat(loop.wakeUps).isEqualTo(2);
    loop.pass(Duration.ofSeconds(10));
    assertThat(late).containsExactly(Duration.ofMillis(50));
    assertThat(loop.wakeUps).as("one early look at a whole second").isLessThanOrEqualTo(5);
  }

  @Test
  void rareLooksOfAllTicksShareAWakeUpPerSecond() {
    for (int period : new int[] {25, 50, 100, 200}) {
      timer.every(Duration.ofMillis(period).toNanos()).start(() -> TickTimer.IDLE_NANOS, () -> {});
      loop.pass(Duration.ofMillis(37));
    }
    loop.pass(Duration.ofSeconds(2));
    loop.wakeUps = 0;
    loop.pass(Duration.ofSeconds(10));
    assertThat(loop.wakeUps).isEqualTo(10);
  }

  @Test
  void aTickThatThrowsHasItsNextTurnAndSoHaveTheOthers() {
    LoopTick broken = timer.every(TICK);
    broken.start(
        () -> {
          throw new IllegalStateException("for the test");
        },
        () -> {});
    timer.every(TICK).start(always(() -> ran.add("other")), () -> {});
    assertThatThrownBy(() -> loop.pass(Duration.ofNanos(TICK))).hasMessage("for the test");
    assertThatThrownBy(() -> loop.pass(Duration.ofNanos(TICK))).hasMessage("for the test");
    assertThat(ran).isNotEmpty();
    assertThat(broken.isAwake()).isTrue();
  }

  @Test
  void aTickThatDidNotStartOrWasStoppedArmsNothing() {
    LoopTick tick = timer.every(TICK);
    tick.need();
    assertThat(loop.armed()).isZero();
    tick.start(always(() -> ran.add("tick")), () -> {});
    tick.stop();
    tick.need();
    loop.pass(Duration.ofSeconds(1));
    assertThat(ran).isEmpty();
    assertThat(loop.armed()).isZero();
  }
}
