package dev.berth.fakes;

import dev.berth.protocol.port.LoopTimer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The timers of event loops on a manual clock. Counts what wakes the loops. One thread. */
public final class ManualTimer implements LoopTimer {
  private record Timer(long atNanos, Runnable task) {}

  /** Order by time on the nano clock, which may overflow: the difference orders. */
  private static final Comparator<Timer> SOONEST =
      (one, other) -> Long.signum(one.atNanos - other.atNanos);

  public final ManualClock clock;
  private final List<Timer> armed = new ArrayList<>();

  /** Timers that fired. */
  public int wakeUps;

  public ManualTimer(ManualClock clock) {
    this.clock = clock;
  }

  @Override
  public Runnable start(long delayNanos, Runnable task) {
    Timer made = new Timer(clock.getAsLong() + delayNanos, task);
    armed.add(made);
    return () -> armed.remove(made);
  }

  /** Timers that have not fired. */
  public int armed() {
    return armed.size();
  }

  /** Time until the next timer fires. */
  public Duration untilNext() {
    return Duration.ofNanos(next().atNanos - clock.getAsLong());
  }

  private Timer next() {
    return armed.stream().min(SOONEST).orElseThrow();
  }

  /** Passes time: each timer fires when it is due. */
  public void pass(Duration time) {
    long end = clock.getAsLong() + time.toNanos();
    while (!armed.isEmpty() && next().atNanos - end <= 0) {
      Timer due = next();
      clock.advanceNanos(due.atNanos - clock.getAsLong());
      armed.remove(due);
      wakeUps++;
      due.task.run();
    }
    clock.advanceNanos(end - clock.getAsLong());
  }
}
