package dev.berth.cluster.link;

import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.internal.ContextInternal;
import java.time.Duration;

/**
 * Calls on an event loop, once an interval, and not before that loop has looked at its sockets: a
 * process that was stopped would otherwise judge its peers by what it has not read yet.
 */
public final class LinkSweep {
  /** The least delay of a timer: the loop polls its sockets before that fires. */
  private static final long NEXT_TURN_MS = 1;

  private final Vertx vertx;
  private final long timer;
  private boolean stopped; // the loop's

  /**
   * Starts it; on the loop.
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

  /** On the loop. */
  public void stop() {
    stopped = true;
    vertx.cancelTimer(timer);
  }
}
