package dev.berth.replica.threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.metrics.Meters;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Platform threads of replicas: made when needed, bounded twice, ended when idle. */
@Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // joins are not interrupted
class HandlerPoolTest {
  private static final long NEVER_IDLE = 600_000;

  private final List<HandlerThreads> pools = new ArrayList<>();
  private final CountDownLatch end = new CountDownLatch(1);

  private HandlerThreads pool(InstanceHandlerThreads instance, String replica, int max) {
    return pool(instance, "app", replica, max);
  }

  private HandlerThreads pool(
      InstanceHandlerThreads instance, String application, String replica, int max) {
    HandlerThreads pool = instance.create(application, replica, max, false);
    pools.add(pool);
    return pool;
  }

  @AfterEach
  void stopAll() {
    end.countDown();
    pools.forEach(HandlerThreads::stop);
  }

  /** The thread that ran a task, once it is idle again. */
  private static Thread ran(HandlerThreads pool) {
    CompletableFuture<Thread> thread = new CompletableFuture<>();
    pool.execute(() -> thread.complete(Thread.currentThread()));
    Thread worker = thread.orTimeout(10, TimeUnit.SECONDS).join();
    while (worker.isAlive() && worker.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
    return worker;
  }

  /** Keeps one thread until the end. */
  private Thread busy(HandlerThreads pool) {
    CompletableFuture<Thread> thread = new CompletableFuture<>();
    pool.execute(
        () -> {
          thread.complete(Thread.currentThread());
          awaitEnd();
        });
    return thread.orTimeout(10, TimeUnit.SECONDS).join();
  }

  private void awaitEnd() {
    try {
      end.await();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private static double metric(InstanceHandlerThreads instance, String name) {
    Meters meters = new Meters("n1", "here", "", false);
    meters.add(instance::show);
    return meters
        .scrape("text/plain")
        .lines()
        .filter(line -> line.startsWith(name + " ") || line.startsWith(name + "{"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
        .sum();
  }

  @Test
  void idleThreadRunsTheNextTask() {
    HandlerThreads pool = pool(new InstanceHandlerThreads(10, NEVER_IDLE), "r", 10);
    Thread first = ran(pool);
    for (int i = 0; i < 100; i++) {
      assertThat(ran(pool)).isSameAs(first);
    }
  }

  /** Each slot is freed before its thread is back, as a request's is. */
  @Test
  void poolNeverHasMoreThreadsThanSlots() throws Exception {
    HandlerThreads pool = pool(new InstanceHandlerThreads(10, NEVER_IDLE), "r", 3);
    Semaphore slots = new Semaphore(3);
    Set<Thread> seen = ConcurrentHashMap.newKeySet();
    for (int i = 0; i < 30_000; i++) {
      slots.acquire();
      pool.execute(
          () -> {
            seen.add(Thread.currentThread());
            slots.release();
          });
    }
    assertThat(slots.tryAcquire(3, 10, TimeUnit.SECONDS)).as("every task ran").isTrue();
    assertThat(seen).hasSizeLessThanOrEqualTo(3);
  }

  @Test
  void threadEndsAfterItsIdleTime() throws Exception {
    InstanceHandlerThreads instance = new InstanceHandlerThreads(1, 1);
    HandlerThreads pool = pool(instance, "r", 1);
    for (int i = 0; i < 200; i++) { // now and then a task comes as it ends
      ran(pool);
    }
    ran(pool).join();
    assertThat(metric(instance, "berth_handler_threads")).isZero();
  }

  @Test
  void idleThreadOfAnotherReplicaGivesWayAtTheLimit() throws Exception {
    InstanceHandlerThreads instance = new InstanceHandlerThreads(2, NEVER_IDLE);
    HandlerThreads first = pool(instance, "r1", 5);
    Thread idle = ran(first);
    HandlerThreads second = pool(instance, "r2", 5);
    busy(second);
    busy(second);
    idle.join();

    assertThatThrownBy(() -> first.execute(() -> {}))
        .isInstanceOf(RejectedExecutionException.class)
        .hasMessage("max_handler_threads: 2 (expected: an idle thread)");
    while (metric(instance, "berth_handler_threads") > 2) {
      Thread.onSpinWait(); // the thread that ended says so last
    }
    assertThat(metric(instance, "berth_handler_threads")).isEqualTo(2);
    assertThat(metric(instance, "berth_handler_threads_limit")).isEqualTo(2);
    assertThat(metric(instance, "berth_handler_threads_refused_total")).isEqualTo(1);
  }

  @Test
  void refusalAtTheLimitLeavesNothingBehind() {
    InstanceHandlerThreads instance = new InstanceHandlerThreads(1, NEVER_IDLE);
    HandlerThreads first = pool(instance, "r1", 1);
    HandlerThreads second = pool(instance, "r2", 1);
    busy(first);
    for (int i = 0; i < 3; i++) { // a slot of the pool is not lost with it
      assertThatThrownBy(() -> second.execute(() -> {}))
          .isInstanceOf(RejectedExecutionException.class);
    }
    first.stop();
    end.countDown();
    while (metric(instance, "berth_handler_threads") > 0) {
      Thread.onSpinWait();
    }
    assertThat(ran(second).getName()).startsWith("berth-r2-");
  }

  @Test
  void taskThatThrowsKeepsItsThread() {
    HandlerThreads pool = pool(new InstanceHandlerThreads(1, NEVER_IDLE), "r", 1);
    Thread thread = ran(pool);
    pool.execute(
        () -> {
          throw new IllegalStateException("ours");
        });
    assertThat(ran(pool)).isSameAs(thread);
  }

  @Test
  void threadOutlivesALogThatRunsOutOfMemory() {
    HandlerThreads pool = pool(new InstanceHandlerThreads(1, NEVER_IDLE), "r", 1);
    pool.execute(
        () -> {
          throw new IllegalStateException() {
            @Override
            public String getMessage() {
              throw new OutOfMemoryError("of a test");
            }
          };
        });
    assertThat(ran(pool).isAlive()).isTrue();
  }

  @Test
  void interruptOfAnIdleThreadDoesNotReachTheNextTask() {
    HandlerThreads pool = pool(new InstanceHandlerThreads(1, NEVER_IDLE), "r", 1);
    for (int i = 0; i < 1_000; i++) {
      ran(pool).interrupt();
      CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
      pool.execute(() -> interrupted.complete(Thread.currentThread().isInterrupted()));
      assertThat(interrupted.join()).isFalse();
    }
  }

  @Test
  void stoppedPoolEndsItsIdleThreadsAndInterruptsTheOthers() throws Exception {
    HandlerThreads pool = pool(new InstanceHandlerThreads(10, NEVER_IDLE), "r", 2);
    Thread idle = ran(pool);
    CompletableFuture<Thread> first = new CompletableFuture<>();
    CountDownLatch both = new CountDownLatch(2);
    for (int i = 0; i < 2; i++) {
      pool.execute(
          () -> {
            first.complete(Thread.currentThread());
            both.countDown();
            awaitEnd();
          });
    }
    both.await();
    pool.stop();
    idle.join();
    first.join().join();
    assertThatThrownBy(() -> pool.execute(() -> {})).isInstanceOf(RejectedExecutionException.class);
  }

  /** A lease of before the change has its slot, and comes when the other call never ends. */
  @Test
  void loweredPoolStillRunsTheTaskOfALeaseGrantedBefore() {
    HandlerThreads pool = pool(new InstanceHandlerThreads(10, NEVER_IDLE), "r", 2);
    busy(pool);
    pool.resize(1);
    assertThat(ran(pool).isAlive()).isTrue();
  }

  @Test
  void raisedPoolRunsAsManyTasksAtOnce() {
    HandlerThreads pool = pool(new InstanceHandlerThreads(10, NEVER_IDLE), "r", 1);
    busy(pool);
    pool.resize(2);
    assertThat(ran(pool).isAlive()).isTrue();
  }

  /** Starts threads that never end until the limit. */
  private int fill(HandlerThreads pool) {
    for (int started = 0; ; started++) {
      try {
        busy(pool);
      } catch (RejectedExecutionException full) {
        return started;
      }
    }
  }

  @Test
  void oneApplicationAloneGetsAllThreads() {
    assertThat(fill(pool(new InstanceHandlerThreads(16, NEVER_IDLE), "r", 100))).isEqualTo(16);
  }

  @Test
  void applicationLeavesTheSharesOfTheOthers() {
    InstanceHandlerThreads instance = new InstanceHandlerThreads(16, NEVER_IDLE);
    HandlerThreads greedy = pool(instance, "greedy", "g1", 100);
    HandlerThreads another = pool(instance, "greedy", "g2", 100);
    HandlerThreads other = pool(instance, "other", "o1", 100);
    assertThat(fill(greedy)).isEqualTo(12);
    assertThat(fill(another)).as("of the same application").isZero();
    assertThat(fill(other)).as("a half of the half").isEqualTo(4);
    assertThat(metric(instance, "berth_handler_threads")).isEqualTo(16);
  }

  @Test
  void newcomerGetsItsShareThoughAnotherHoldsAllAndThatOneGivesWay() {
    InstanceHandlerThreads instance = new InstanceHandlerThreads(8, NEVER_IDLE);
    HandlerThreads greedy = pool(instance, "greedy", "g1", 100);
    CountDownLatch release = new CountDownLatch(1);
    for (int i = 0; i < 8; i++) {
      CompletableFuture<Thread> thread = new CompletableFuture<>();
      greedy.execute(
          () -> {
            thread.complete(Thread.currentThread());
            try {
              release.await();
            } catch (InterruptedException stopped) {
              // It ends.
            }
          });
      thread.join();
    }
    assertThat(fill(pool(instance, "other", "o1", 100))).isEqualTo(2);
    release.countDown();
    while (metric(instance, "berth_handler_threads") > 8) {
      Thread.onSpinWait();
    }
  }

  @Test
  void newcomersTakeHalfOfTheLimitBeyondItAndThenOneThreadEach() {
    InstanceHandlerThreads instance = new InstanceHandlerThreads(64, NEVER_IDLE);
    for (int application = 0; application < 16; application++) {
      assertThat(fill(pool(instance, "app" + application, "r" + application, 100))).isPositive();
    }
    assertThat(metric(instance, "berth_handler_threads")).isBetween(64 + 32.0, 64 + 32 + 16.0);
  }

  /** A handler that heeds no interrupt keeps its thread: that of its own application. */
  @Test
  void threadsOfStoppedReplicasCountAgainstTheirApplicationUntilTheyEnd() {
    InstanceHandlerThreads instance = new InstanceHandlerThreads(8, NEVER_IDLE);
    CountDownLatch stuck = new CountDownLatch(1);
    HandlerThreads first = pool(instance, "stubborn", "s1", 100);
    pool(instance, "other", "o1", 100);
    for (int i = 0; i < 6; i++) {
      first.execute(
          () -> {
            while (stuck.getCount() > 0) {
              Thread.onSpinWait();
            }
          });
    }
    first.stop();
    HandlerThreads second = pool(instance, "stubborn", "s2", 100);
    assertThat(fill(second)).isZero();
    assertThat(fill(pool(instance, "other", "o2", 100))).isEqualTo(2);
    stuck.countDown();
    while (metric(instance, "berth_handler_threads") > 2) {
      Thread.onSpinWait();
    }
    assertThat(fill(second)).isEqualTo(6);
  }

  @Test
  void threadsAreVirtualWhereTheyAreAskedForAndTheJvmHasThem() throws Exception {
    boolean has = Runtime.version().feature() >= 21;
    assertThat(new InstanceHandlerThreads(10, NEVER_IDLE).create("app", "r", 1, false))
        .isInstanceOf(HandlerPool.class);
    HandlerThreads threads = new InstanceHandlerThreads(10, NEVER_IDLE).create("app", "r", 1, true);

    assertThat(threads instanceof VirtualHandlers).isEqualTo(has);
    CompletableFuture<String> ran = new CompletableFuture<>();
    threads.execute(() -> ran.complete("ran"));
    assertThat(ran.get(10, TimeUnit.SECONDS)).isEqualTo("ran");
    threads.stop();
  }
}
