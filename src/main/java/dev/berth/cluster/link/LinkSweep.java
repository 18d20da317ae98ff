package dev.berth.cluster.link;

import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.internal.ContextInternal;
import java.time.Duration;

/**
 * A periodic task on an event loop, which runs after the loop has polled its sockets. A process
 * that resumes after a pause would otherwise judge its peers before it has read their messages.
 */
public final class LinkSweep {
  /**
   * Minimum delay of a timer, in milliseconds; the loop polls its sockets before the timer fires.
   */
  private static final long NEXT_TURN_MS = 1;

  private final Vertx vertx;
  private final long timer;
  private boolean stopped; // confined to the loop

  /**
   * Starts the task. Called on the loop.
   *
   * @param interval in whole milliseconds
   */
  public LinkSweep(ContextInternal loop, Duration interval, Runnable sweep) {
    vertx = loop.owner();
    Handler<Long> look =
        polled -> {
          if (!stopped) {
            sweep.run();
          }
        };
    timer = vertx.setPeriodic(interval.toMillis(), due -> vertx.setTimer(NEXT_TURN_MS, look));
  }

  /** Stops the task. Called on the loop. */
  public void stop() {
    stopped = true;
    vertx.cancelTimer(timer);
  }
}
