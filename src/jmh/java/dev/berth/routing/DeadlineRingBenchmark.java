package dev.berth.routing;

import dev.berth.protocol.port.TickTimer;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** The deadlines of a loop, with so many of other requests in the ring. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DeadlineRingBenchmark {
  private static final int FIRED = 100;

  @Param({"0", "10000"})
  public int others;

  private final Entry entry = new Entry();
  private final Entry[] due = new Entry[FIRED];
  private DeadlineRing ring;
  private long now;

  @Setup
  public void setUp() {
    now = 0;
    ring =
        new DeadlineRing(
            now,
            new TickTimer((delay, task) -> () -> {}, () -> now, 0).every(TickTimer.TICK_NANOS));
    for (int i = 0; i < others; i++) {
      // Rounds away: they are passed by, as those of requests without a short deadline are.
      ring.schedule(new Entry(), TimeUnit.DAYS.toNanos(1) + i * TickTimer.TICK_NANOS);
    }
    for (int i = 0; i < FIRED; i++) {
      due[i] = new Entry();
    }
  }

  /** A request with a deadline that ends in time. */
  @Benchmark
  public int scheduleAndCancel() {
    ring.schedule(entry, now + TimeUnit.SECONDS.toNanos(5));
    ring.cancel(entry);
    return ring.size();
  }

  /** A request whose deadline passes; the tick that sees it is shared by a hundred. */
  @Benchmark
  @OperationsPerInvocation(FIRED)
  public int scheduleAndFire() {
    for (Entry each : due) {
      ring.schedule(each, now + 1);
    }
    now += TickTimer.TICK_NANOS;
    ring.advance(now);
    return ring.size();
  }

  private static final class Entry extends RingEntry {
    @Override
    protected void deadlinePassed(long now) {}
  }
}
