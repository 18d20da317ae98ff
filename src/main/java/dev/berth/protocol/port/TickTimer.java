package dev.berth.protocol.port;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Timer of one event loop with periodic ticks, armed for the next due one. A tick that is not
 * needed sleeps, so that an idle loop has no timer, or a rare one. Each tick is due at multiples of
 * its period, so ticks with coinciding multiples share a wake-up. Confined to its loop.
 */
public final class TickTimer {
  /** Interval of a loop's deadline tick, and maximum delay of a deadline, in nanoseconds. */
  public static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

  /** Interval in nanoseconds between looks for work that does not announce itself. */
  public static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Result of a task that is not needed until {@link LoopTick#need}. */
  public static final long NEVER = Long.MAX_VALUE;

  private final LoopTimer timer;
  private final LongSupplier nanoClock;
  private final long origin; // times are differences from this one, so the clock may wrap
  private final List<LoopTick> ticks = new ArrayList<>();
  private Runnable disarm = () -> {};
  private long armedNanos = NEVER; // time that the timer is armed for

  /**
   * Tick of a serving loop's deadlines, which the data plane starts. Without need, it stays awake
   * for a second, so that most requests find it awake.
   */
  public final LoopTick deadlines = every(TICK_NANOS, IDLE_NANOS);

  /**
   * @param timer timer of the event loop
   */
  public TickTimer(LoopTimer timer, LongSupplier nanoClock) {
    this.timer = timer;
    this.nanoClock = nanoClock;
    long now = nanoClock.getAsLong();
    this.origin = now - Math.floorMod(now, IDLE_NANOS);
  }

  /** Adds a tick that sleeps as soon as it is not needed. The caller starts it. */
  public LoopTick every(long periodNanos) {
    return every(periodNanos, 0);
  }

  private LoopTick every(long periodNanos, long lingerNanos) {
    LoopTick made = new LoopTick(periodNanos, lingerNanos);
    ticks.add(made);
    return made;
  }

  /** Stops all ticks. */
  public void stop() {
    disarm.run();
    armedNanos = NEVER;
    ticks.forEach(LoopTick::stop);
  }

  private long now() {
    return nanoClock.getAsLong() - origin;
  }

  /** Arms the timer for the next due tick, unless it is armed for an earlier time. */
  private void arm() {
    long next = ticks.stream().mapToLong(each -> each.dueNanos).min().orElse(NEVER);
    if (next < armedNanos) {
      disarm.run();
      armedNanos = next;
      disarm = timer.start(Math.max(0, next - now()), this::fire);
    }
  }

  private void fire() {
    armedNanos = now(); // until all have run, none is due earlier
    try {
      for (int i = 0; i < ticks.size(); i++) { // a task may add a tick
        ticks.get(i).runIfDue();
      }
    } finally { // a failed tick has its next turn, too
      armedNanos = NEVER;
      arm();
    }
  }

  /**
   * A periodic task.
   *
   * <pre>
   *   ASLEEP --need(), or the time that the task asked for--> AWAKE
   *   AWAKE --unneeded for the linger time--> ASLEEP
   * </pre>
   */
  public final class LoopTick {
    private final long periodNanos;
    private final long lingerNanos;
    private LongSupplier task = () -> NEVER;
    private Runnable woken = () -> {};
    private volatile boolean asleep; // false before the start, and after the end
    private long dueNanos = NEVER;
    private long neededNanos; // last time that the task was needed

    private LoopTick(long periodNanos, long lingerNanos) {
      this.periodNanos = periodNanos;
      this.lingerNanos = lingerNanos;
    }

    /**
     * Starts the tick.
     *
     * @param task returns the nanoseconds until it is needed again: 0 for the next period. It may
     *     be called earlier.
     * @param woken called whenever a sleep ends
     */
    public void start(LongSupplier task, Runnable woken) {
      this.task = task;
      this.woken = woken;
      wake();
    }

    /** Ends the tick. */
    public void stop() {
      asleep = false;
      dueNanos = NEVER;
    }

    /** Ensures that the task runs within its period. Costs one comparison while it is awake. */
    public void need() {
      if (asleep) {
        wake();
      }
    }

    /**
     * Returns whether the task runs in each period. Thread-safe: when it returns false, {@code
     * woken} is called for later work.
     */
    public boolean isAwake() {
      return !asleep;
    }

    private void wake() {
      asleep = false;
      neededNanos = now();
      dueNanos = multiple(neededNanos + periodNanos, periodNanos);
      arm();
      woken.run();
    }

    private void runIfDue() {
      long now = now();
      if (dueNanos > now) {
        return;
      }
      long next = multiple(now + periodNanos, periodNanos);
      dueNanos = next;
      long wait = task.getAsLong();
      if (wait <= 0 && asleep) {
        wake();
      } else if (wait <= 0) {
        neededNanos = now;
      } else if (now - neededNanos >= lingerNanos && dueNanos != NEVER) { // not stopped by the task
        asleep = true;
        long grid = wait < IDLE_NANOS ? periodNanos : IDLE_NANOS;
        dueNanos = wait == NEVER ? NEVER : Math.max(next, multiple(now() + wait, grid));
      }
    }

    /** Returns the last multiple of a period up to a time. */
    private static long multiple(long time, long periodNanos) {
      return time - time % periodNanos;
    }
  }
}
