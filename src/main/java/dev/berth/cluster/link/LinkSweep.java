package dev.berth.cluster.link;

import io.vertx.core.internal.ContextInternal;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * A periodic task on an event loop, which runs after the loop has polled its sockets. A process
 * that resumes after a pause would otherwise judge its peers before it has read their messages. The
 * task is due at multiples of its interval, so that the sweeps of a loop share a wake-up.
 */
public final class LinkSweep {
  /**
   * Minimum delay of a timer, in milliseconds; the loop polls its sockets before the timer fires.
   */
  private static final long NEXT_TURN_MS = 1;

  /**
   * Delay of a timer, in nanoseconds, that may be a pause. Without a pause the loop has polled its
   * sockets in the same turn, before its timers.
   */
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final ContextInternal loop;
  private final long intervalNanos;
  private final LongSupplier nanoClock;
  private final Runnable sweep;
  private boolean stopped; // confined to the loop

  /**
   * Starts the task. Called on the loop.
   *
   * @param interval in whole milliseconds
   */
  public LinkSweep(
      ContextInternal loop, Duration interval, LongSupplier nanoClock, Runnable sweep) {
    this.loop = loop;
    this.intervalNanos = interval.toNanos();
    this.nanoClock = nanoClock;
    this.sweep = sweep;
    arm();
  }

  private void arm() {
    long now = nanoClock.getAsLong();
    long wait = intervalNanos - Math.floorMod(now, intervalNanos);
    loop.setTimer(TimeUnit.NANOSECONDS.toMillis(wait + 999_999), fired -> onDue(now + wait));
  }

  private void onDue(long dueNanos) {
    if (stopped) {
      return;
    }
    arm();
    if (nanoClock.getAsLong() - dueNanos > PAUSE_NANOS) {
      loop.setTimer(NEXT_TURN_MS, polled -> run());
    } else {
      run();
    }
  }

  private void run() {
    if (!stopped) {
      sweep.run();
    }
  }

  /** Stops the task. Called on the loop. */
  public void stop() {
    stopped = true;
  }
}
