package dev.berth.cluster.link;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.Vertx;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.VertxInternal;
import io.vertx.junit5.VertxExtension;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The order of a sweep and of other work of its loop, which stands for a read of the sockets. */
@Timeout(20)
@ExtendWith(VertxExtension.class)
class LinkSweepTest {
  private static final Duration INTERVAL = Duration.ofMillis(20);

  private final BlockingQueue<String> order = new LinkedBlockingQueue<>();
  private int reads; // of the clock

  /** Starts a sweep that finds itself late by this time at each due time. */
  private void start(Vertx vertx, Duration late) {
    ContextInternal loop = ((VertxInternal) vertx).createEventLoopContext();
    LongSupplier clock =
        () -> {
          boolean atDue = ++reads > 1 && reads % 2 == 1; // after the reading that arms the timer
          if (atDue) {
            loop.runOnContext(read -> order.add("read"));
          }
          return atDue ? INTERVAL.plus(late).toNanos() : 0;
        };
    loop.runOnContext(here -> new LinkSweep(loop, INTERVAL, clock, () -> order.add("sweep")));
  }

  private String next() throws InterruptedException {
    return String.valueOf(order.poll(10, TimeUnit.SECONDS));
  }

  @Test
  void sweepsInTheTurnOfItsTimer(Vertx vertx) throws Exception {
    start(vertx, Duration.ofMillis(1));
    assertThat(next()).isEqualTo("sweep");
  }

  @Test
  void readsTheSocketsFirstAfterAPause(Vertx vertx) throws Exception {
    start(vertx, Duration.ofMillis(100));
    assertThat(next()).isEqualTo("read");
    assertThat(next()).isEqualTo("sweep");
  }
}
