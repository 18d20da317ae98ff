package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.ManualClock;
import dev.berth.node.loops.LoopWatch.LoopStateChange;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class LoopWatchTest {
  private static final Duration BLOCKED_AFTER = Duration.ofMillis(100);
  private static final Duration INTERVAL = Duration.ofMillis(25);

  private final ManualClock clock = new ManualClock();
  private final LoopWatch watch =
      new LoopWatch(BLOCKED_AFTER.toNanos(), INTERVAL.toNanos(), clock.getAsLong());

  private LoopStateChange after(Duration time) {
    clock.advanceNanos(time.toNanos());
    return watch.observe(clock.getAsLong());
  }

  private boolean beat() {
    return watch.beat(clock.getAsLong());
  }

  private long answer() {
    return watch.acknowledge(clock.getAsLong());
  }

  private void block() {
    beat();
    while (after(INTERVAL) != LoopStateChange.BLOCKED) {
      assertThat(watch.unansweredNanos(clock.getAsLong())).isLessThan(BLOCKED_AFTER.toNanos());
    }
  }

  @Test
  void aLoopThatAnswersRuns() {
    for (int i = 0; i < 100; i++) {
      assertThat(after(INTERVAL)).isEqualTo(LoopStateChange.NONE);
      assertThat(beat()).isTrue();
      assertThat(beat()).as("the next one waits for the answer to the last").isFalse();
      clock.advanceNanos(3_000);
      assertThat(answer()).as("how late the loop is").isEqualTo(3_000);
    }
  }

  @Test
  void aBeatUnansweredForTheWholeTimeBlocksOnce() {
    beat();
    assertThat(List.of(after(INTERVAL), after(INTERVAL), after(INTERVAL)))
        .containsOnly(LoopStateChange.NONE);
    assertThat(after(INTERVAL)).isEqualTo(LoopStateChange.BLOCKED);
    assertThat(after(INTERVAL)).isEqualTo(LoopStateChange.NONE);
    assertThat(watch.unansweredNanos(clock.getAsLong())).isEqualTo(5 * INTERVAL.toNanos());
  }

  @Test
  void anAnsweredBeatHealsIt() {
    block();
    clock.advanceNanos(1);
    answer();
    assertThat(watch.observe(clock.getAsLong())).isEqualTo(LoopStateChange.RUNS_AGAIN);
    assertThat(watch.observe(clock.getAsLong())).isEqualTo(LoopStateChange.NONE);
  }

  @Test
  void afterABlockItStartsAnew() {
    block();
    answer();
    after(INTERVAL);
    block();
    assertThat(watch.unansweredNanos(clock.getAsLong())).isEqualTo(BLOCKED_AFTER.toNanos());
  }

  @Test
  void aLateAnswerThatCameBeforeAnyoneLookedIsNoBlock() {
    beat();
    clock.advanceNanos(BLOCKED_AFTER.toNanos() * 3);
    answer();
    assertThat(watch.observe(clock.getAsLong())).isEqualTo(LoopStateChange.NONE);
  }

  /** The whole process stood still: the loop had no chance to answer. */
  @Test
  void aPauseOfTheWatcherCountsAsHardlyMoreThanAnInterval() {
    beat();
    assertThat(after(BLOCKED_AFTER.multipliedBy(20))).isEqualTo(LoopStateChange.NONE);
    assertThat(after(INTERVAL)).isEqualTo(LoopStateChange.NONE);
    assertThat(after(INTERVAL)).isEqualTo(LoopStateChange.NONE);
    assertThat(after(INTERVAL))
        .as("but the loop is not back with its watcher")
        .isEqualTo(LoopStateChange.BLOCKED);
    assertThat(watch.ageNanos).isLessThan(2 * BLOCKED_AFTER.toNanos());
  }

  @Test
  void theBeatsAreCloseEnoughToSeeABlockWithinHalfAsMuchAgain() {
    assertThat(LoopWatchVerticle.intervalMs(BLOCKED_AFTER)).isEqualTo(25);
    assertThat(LoopWatchVerticle.intervalMs(Duration.ofMillis(1))).isEqualTo(5);
    assertThat(LoopWatchVerticle.intervalMs(Duration.ofMinutes(1))).isEqualTo(50);
  }
}
