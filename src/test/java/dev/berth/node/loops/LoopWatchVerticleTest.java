package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.ManualClock;
import dev.berth.fakes.ManualTimer;
import dev.berth.metrics.Meters;
import dev.berth.node.loops.LoopWatchVerticle.LoopStateListener;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.protocol.port.TickTimer;
import io.vertx.core.Vertx;
import io.vertx.junit5.VertxExtension;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The shell: how often it beats, under a manual clock, with a true event loop. */
@Timeout(20)
@ExtendWith(VertxExtension.class)
class LoopWatchVerticleTest {
  private static final Duration IDLE = Duration.ofNanos(TickTimer.IDLE_NANOS);
  private static final Duration INTERVAL = Duration.ofMillis(25);

  private final ManualTimer timer = new ManualTimer(new ManualClock());
  private final LoopVerticle loop = new LoopVerticle("loop 0");
  private final CountDownLatch blocked = new CountDownLatch(1);
  private final List<Boolean> reported = new ArrayList<>();
  private boolean busy;
  private LoopWatchVerticle watch;

  @BeforeEach
  void start(Vertx vertx) throws Exception {
    vertx.deployVerticle(loop).await();
    LoopStateListener listener =
        new LoopStateListener() {
          @Override
          public void loopBlocked(int index, boolean isBlocked) {
            reported.add(isBlocked);
          }

          @Override
          public boolean isBusy(int index) {
            return busy;
          }

          @Override
          public void looked(int index, @Nullable BlockedLoop state) {}
        };
    watch =
        new LoopWatchVerticle(
            new TickTimer(timer, timer.clock),
            List.of(loop),
            new Meters("n", "127.0.0.1", "", false),
            Duration.ofMillis(100),
            Duration.ZERO,
            timer.clock,
            () -> Instant.EPOCH,
            listener);
    watch.start();
    pass(IDLE);
    pass(IDLE);
    timer.wakeUps = 0;
  }

  @AfterEach
  void release() {
    blocked.countDown();
  }

  /** Passes time. A loop that runs has acknowledged each beat before the next tick. */
  private void pass(Duration time) {
    for (long left = time.toMillis(); left > 0; left -= 5) {
      timer.pass(Duration.ofMillis(5));
      if (blocked.getCount() == 1 && !held) {
        CountDownLatch ran = new CountDownLatch(1);
        loop.execute(ran::countDown);
        await(ran);
      }
    }
  }

  private boolean held;

  private void block() {
    CountDownLatch began = new CountDownLatch(1);
    held = true;
    loop.execute(
        () -> {
          began.countDown();
          await(blocked);
        });
    await(began);
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(10, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException stopped) {
      throw new IllegalStateException(stopped);
    }
  }

  @Test
  void idleLoopsHaveRareBeats() {
    pass(Duration.ofSeconds(10));
    assertThat(timer.wakeUps).isEqualTo(10);
  }

  @Test
  void aLoopThatBecomesBusyIsWatchedAtOnce() {
    timer.pass(timer.untilNext()); // a rare look: the next one is a second away
    pass(Duration.ofMillis(100));
    busy = true;
    watch.need();
    block();
    pass(Duration.ofMillis(150));
    assertThat(reported).containsExactly(true);
  }

  @Test
  void aLoopThatIsNoLongerBusyHasRareBeatsAgain() {
    busy = true;
    watch.need();
    pass(Duration.ofSeconds(1));
    assertThat(timer.wakeUps).isEqualTo((int) (1_000 / INTERVAL.toMillis()));
    busy = false;
    pass(IDLE);
    timer.wakeUps = 0;
    pass(Duration.ofSeconds(4));
    assertThat(timer.wakeUps).isEqualTo(4);
  }

  @Test
  void anIdleLoopThatIsBlockedIsWatchedCloselyOnceItMissesABeat() {
    block();
    pass(IDLE);
    assertThat(reported).isEmpty();
    pass(IDLE.plusMillis(150)); // a beat, and the look that misses its acknowledgement
    assertThat(reported).containsExactly(true);
  }
}
