package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.ManualClock;
import dev.berth.metrics.Meters;
import dev.berth.replica.threads.HandlerThreads;
import dev.berth.replica.threads.InstanceHandlerThreads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;

/** Virtual threads that find no carrier, on a clock moved by hand. */
@Timeout(30)
class CarrierWatchTest {
  private final ManualClock clock = new ManualClock();
  private final InstanceHandlerThreads handlers = new InstanceHandlerThreads(10, 30_000);
  private final List<String> texts = new ArrayList<>();
  private final CarrierWatch watch = new CarrierWatch(handlers, clock, texts::add);

  private String metrics() {
    Meters meters = new Meters("n1", "here", "", false);
    meters.add(watch::show);
    return meters.scrape("text/plain");
  }

  private volatile boolean end;

  private void pass(int looks) {
    for (int i = 0; i < looks; i++) {
      clock.advance(Duration.ofMillis(100));
      watch.look();
    }
  }

  @Test
  void nothingIsMeasuredWithoutHandlersOnVirtualThreads() {
    handlers.create("app", "r", 1, false);
    pass(20);
    assertThat(texts).isEmpty();
    assertThat(metrics()).doesNotContain("carriers");
  }

  @Test
  @EnabledForJreRange(min = JRE.JAVA_21)
  void handlerThatKeepsTheCarriersIsNamedOnce() throws Exception {
    HandlerThreads threads = handlers.create("app", "app#hog#1", 64, true);
    int carriers = Runtime.getRuntime().availableProcessors();
    CountDownLatch running = new CountDownLatch(carriers);
    for (int i = 0; i < carriers; i++) {
      threads.execute(
          () -> {
            running.countDown();
            while (!end) {} // without a call, which could be the innermost frame
          });
    }
    running.await();
    try {
      pass(20);
      assertThat(texts).hasSize(1);
      assertThat(texts.get(0))
          .startsWith("carriers of virtual threads blocked: replica app#hog#1 at")
          .contains("CarrierWatchTest");
      assertThat(metrics()).contains("berth_event_loop_blocked{loop=\"carriers\"} 1");
    } finally {
      end = true; // else no other virtual thread of the JVM would run again
    }
    while (texts.size() < 2) {
      watch.look();
    }
    assertThat(texts.get(1)).isEmpty();
    threads.stop();
    while (handlers.anyVirtual()) {
      Thread.onSpinWait();
    }
    assertThat(metrics()).doesNotContain("carriers");
  }
}
