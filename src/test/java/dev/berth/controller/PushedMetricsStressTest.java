package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.controller.autoscaling.DeploymentLoad;
import dev.berth.fakes.FakeHandle;
import dev.berth.metrics.MeterRegistration;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;

/** Handles come, change and go on their threads while batches are made, lost and answered. */
@Tag("concurrency")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PushedMetricsStressTest {
  private static final int THREADS = 3;
  private static final int NAMES = 40; // shared by the threads: a name comes back while it leaves
  private static final int ROUNDS = 5_000;

  private final PushedMetrics metrics = new PushedMetrics(PushedMetrics.RECORD);

  /** One thread's handles; each has one of a name at most. */
  private final class Caller {
    final FakeHandle[] handles = new FakeHandle[NAMES];
    final @Nullable MeterRegistration[] open = new MeterRegistration[NAMES];
    private final Random random;

    Caller(long seed) {
      random = new Random(seed);
    }

    void run() {
      for (int round = 0; round < ROUNDS; round++) {
        int name = random.nextInt(NAMES);
        MeterRegistration registration = open[name];
        if (registration == null) {
          handles[name] = new FakeHandle("d" + name).with(1, random.nextInt(3), random.nextInt(2));
          handles[name].autoscales = name % 2 == 0;
          open[name] = metrics.pusher.register(handles[name]);
          metrics.pusher.signal(handles[name].deployment());
        } else {
          registration.close();
          open[name] = null;
        }
      }
    }
  }

  @RepeatedTest(3)
  void noHandleIsLostAndNoneIsLeftBehind() throws Exception {
    long seed = System.currentTimeMillis();
    Random random = new Random(seed);
    List<Caller> callers = new ArrayList<>();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        Caller caller = new Caller(seed + i);
        callers.add(caller);
        running.add(threads.submit(caller::run));
      }
      while (!running.stream().allMatch(Future::isDone)) {
        metrics.away = random.nextInt(4) == 0;
        metrics.held = random.nextInt(4) == 0;
        if (random.nextInt(50) == 0) {
          metrics.follow();
        }
        metrics.pass(PushedMetrics.RECORD);
        metrics.run();
        metrics.settle();
      }
      for (Future<?> each : running) {
        each.get(); // what it threw
      }
    } finally {
      threads.shutdownNow();
    }
    metrics.away = false;
    metrics.held = false;
    metrics.settle();
    metrics.pass(Duration.ofSeconds(10));
    int known = 0;
    for (int name = 0; name < NAMES; name++) {
      int queued = 0;
      for (Caller caller : callers) {
        queued += caller.open[name] == null ? 0 : 1;
      }
      known += queued > 0 ? 1 : 0;
      boolean reported = queued > 0 && name % 2 == 0;
      DeploymentLoad load = metrics.load("d" + name);
      assertThat(metrics.queued("d" + name)).as("seed %d: d%d", seed, name).isEqualTo(queued);
      assertThat(load.instances()).as("seed %d: d%d", seed, name).isEqualTo(reported ? 1 : 0);
    }
    assertThat(metrics.pusher.handles()).as("seed %d", seed).isEqualTo(known);
  }
}
