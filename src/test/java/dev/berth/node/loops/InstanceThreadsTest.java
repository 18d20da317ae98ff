package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.fakes.Effort;
import dev.berth.fakes.ManualClock;
import dev.berth.metrics.Meters;
import dev.berth.replica.hooks.HookThreads.HookKind;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The threads around {@link FairHookScheduler}, as they are. */
@Tag("concurrency")
@Timeout(60)
class InstanceThreadsTest {
  private final ManualClock clock = new ManualClock();
  private final InstanceThreads threads = new InstanceThreads(clock);
  private final CountDownLatch end = new CountDownLatch(1);

  @AfterEach
  void stop() {
    end.countDown();
    threads.stop();
  }

  /** A hook that ends when it is interrupted, or with the test. */
  private void hang() {
    try {
      end.await();
    } catch (InterruptedException given) {
      Thread.currentThread().interrupt();
    }
  }

  /** A hook that swallows its interrupts. */
  private void hangForGood(CountDownLatch until) {
    while (until.getCount() > 0) {
      try {
        until.await();
      } catch (InterruptedException swallowed) {
        // on purpose
      }
    }
  }

  private Thread begun(String application, HookKind kind, Runnable hook)
      throws InterruptedException {
    AtomicReference<Thread> thread = new AtomicReference<>();
    CountDownLatch began = new CountDownLatch(1);
    threads.run(
        application,
        kind,
        () -> {
          thread.set(Thread.currentThread());
          began.countDown();
          hook.run();
        });
    assertThat(began.await(20, TimeUnit.SECONDS)).as("%s of %s", kind, application).isTrue();
    return thread.get();
  }

  private double metric(String name) {
    Meters meters = new Meters("n1", "here", "", false);
    meters.add(threads::show);
    return meters
        .scrape("text/plain")
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
        .sum();
  }

  private void until(double value, String metric) {
    while (metric(metric) != value) {
      assertThat(Thread.currentThread().isInterrupted()).as("%s in time", metric).isFalse();
    }
  }

  @Test
  void aThousandHangingStartsOfOneApplicationKeepNoneOfAnotherWaiting() throws Exception {
    for (int i = 0; i < 1_000; i++) {
      threads.run("bad", HookKind.START, this::hang);
    }
    for (HookKind kind : HookKind.values()) {
      begun("good", kind, () -> {});
      begun("bad", kind == HookKind.START ? HookKind.STOP : kind, () -> {});
    }
    assertThat(metric("berth_hooks_waiting{kind=\"start\"}"))
        .isEqualTo(1_000 - 1 - FairHookScheduler.SHARED / 2);
    assertThat(metric("berth_hooks_sharing{kind=\"start\"}"))
        .isEqualTo(FairHookScheduler.SHARED / 2);
  }

  @Test
  void aHookThatSwallowsItsInterruptCostsAThreadUntilItEnds() throws Exception {
    CountDownLatch firstMayEnd = new CountDownLatch(1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    for (int i = 0; i < FairHookScheduler.MAX_LOST_PER_APPLICATION; i++) {
      CountDownLatch until = i == 0 ? firstMayEnd : mayEnd;
      begun("bad", HookKind.START, () -> hangForGood(until)).interrupt();
      threads.look();
      assertThat(metric("berth_lost_threads ")).as("not at once").isEqualTo(i);
      clock.advanceNanos(FairHookScheduler.LOST_AFTER_NANOS);
      threads.look();
      assertThat(metric("berth_lost_threads ")).isEqualTo(i + 1);
    }
    assertThat(threads.blockedReason("bad")).contains("8 of the application (expected: below 8)");
    assertThat(threads.blockedReason("good")).isEmpty();
    AtomicInteger more = new AtomicInteger();
    threads.run("bad", HookKind.START, () -> hangForGood(mayEnd));
    threads.run("bad", HookKind.STOP, more::incrementAndGet);
    begun("good", HookKind.START, () -> {});
    assertThat(more).hasValue(0);

    firstMayEnd.countDown();
    until(7, "berth_lost_threads ");
    until(0, "berth_hooks_waiting{");
    until(1, "berth_hooks_running{");
    assertThat(more).as("all that waited for that, each on its thread").hasValue(1);
    assertThat(threads.blockedReason("bad")).isEmpty();
    mayEnd.countDown();
    until(0, "berth_lost_threads ");
  }

  @Test
  void aHookThatHeedsItsInterruptOrKeepsItsOwnCostsNone() throws Exception {
    begun("good", HookKind.STOP, this::hang).interrupt();
    until(0, "berth_hooks_running{");
    CountDownLatch mayEnd = new CountDownLatch(1);
    begun(
        "good",
        HookKind.HEALTH,
        () -> {
          Thread.currentThread().interrupt(); // as code does that caught one elsewhere
          hangForGood(mayEnd);
        });
    clock.advanceNanos(FairHookScheduler.LOST_AFTER_NANOS);
    threads.look();
    assertThat(metric("berth_lost_threads ")).isZero();
    mayEnd.countDown();
  }

  @Test
  void theInterruptOfOneHookDoesNotReachTheNextOnItsThread() throws Exception {
    for (int i = 0; i < FairHookScheduler.SHARED / 2; i++) {
      threads.run("a", HookKind.START, this::hang); // leaves one thread for the two below
    }
    CountDownLatch go = new CountDownLatch(1);
    Thread thread =
        begun(
            "a",
            HookKind.START,
            () -> {
              hangForGood(go);
              Thread.currentThread().interrupt();
            });
    AtomicInteger flags = new AtomicInteger(-1);
    AtomicReference<Thread> seen = new AtomicReference<>();
    threads.run(
        "a",
        HookKind.START,
        () -> {
          seen.set(Thread.currentThread());
          flags.set(Thread.currentThread().isInterrupted() ? 1 : 0);
        });
    go.countDown();
    until(FairHookScheduler.SHARED / 2, "berth_hooks_running{");
    assertThat(seen.get()).isSameAs(thread);
    assertThat(flags).hasValue(0);
  }

  @Test
  void afterTheStopNothingBeginsAndWhatRunsIsInterrupted() throws Exception {
    CountDownLatch interrupted = new CountDownLatch(1);
    begun(
        "a",
        HookKind.START,
        () -> {
          hang();
          interrupted.countDown();
        });
    AtomicInteger begun = new AtomicInteger();
    for (int i = 0; i < 2 * FairHookScheduler.SHARED; i++) {
      threads.run(
          "b",
          HookKind.START,
          () -> {
            begun.incrementAndGet();
            hang();
          });
    }
    threads.stop();
    assertThat(interrupted.await(20, TimeUnit.SECONDS)).isTrue();
    until(0, "berth_hooks_running{");
    assertThat(begun).as("none of those that waited").hasValue(1 + FairHookScheduler.SHARED / 2);
    assertThatThrownBy(() -> threads.run("a", HookKind.STOP, () -> {}))
        .isInstanceOf(RejectedExecutionException.class)
        .hasMessageStartingWith("stop of application a: no thread (expected: ");
  }

  @Test
  void whatIsRunFromManyThreadsRunsOnceEachAndNothingIsLeft() throws Exception {
    int each = Effort.times(2_000);
    int callers = 4;
    AtomicIntegerArray runs = new AtomicIntegerArray(each * callers);
    AtomicIntegerArray taken = new AtomicIntegerArray(each * callers);
    CountDownLatch done = new CountDownLatch(callers);
    for (int caller = 0; caller < callers; caller++) {
      int first = caller * each;
      SplittableRandom random = new SplittableRandom(caller);
      new Thread(
              () -> {
                for (int i = first; i < first + each; i++) {
                  int task = i;
                  HookKind kind = HookKind.values()[random.nextInt(2)];
                  Thread interrupts = random.nextInt(20) == 0 ? Thread.currentThread() : null;
                  Runnable back =
                      threads.run(
                          "a" + random.nextInt(5),
                          kind,
                          () -> {
                            runs.incrementAndGet(task);
                            if (interrupts == null) {
                              LockSupport.parkNanos(10_000);
                            }
                          });
                  if (random.nextInt(20) == 0) {
                    taken.set(task, 1);
                    back.run();
                  }
                }
                done.countDown();
              })
          .start();
    }
    while (done.getCount() > 0) {
      threads.look();
    }
    until(0, "berth_hooks_waiting{");
    until(0, "berth_hooks_running{");
    for (int i = 0; i < each * callers; i++) {
      assertThat(runs.get(i)).as("task %d", i).isBetween(1 - taken.get(i), 1);
    }
    assertThat(metric("berth_hooks_sharing{")).isZero();
  }
}
