package dev.berth.replica.slots;

import dev.berth.protocol.port.SlotLease;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;

/** A slot's ordinary walk, by one event loop and by two at the same replica. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class LedgerBenchmark {
  private static final long TTL_NANOS = TimeUnit.SECONDS.toNanos(10);

  private SlotLedger ledger = make();
  private final SlotLedger full = make();

  static SlotLedger make() {
    SplittableRandom secrets = new SplittableRandom(1);
    return new SlotLedger(1, 1000, LedgerLimits.DEFAULTS, System::nanoTime, secrets::nextLong);
  }

  @Setup
  public void setUp() {
    ledger = make();
    ledger.tryAcquire(); // what completeAndHold hands on, again and again
    while (full.tryAcquire()) {
      continue;
    }
  }

  @Benchmark
  public boolean acquireAndComplete() {
    boolean acquired = ledger.tryAcquire();
    ledger.complete();
    return acquired;
  }

  @Benchmark
  @Threads(2)
  public boolean acquireAndCompleteByTwoThreads() {
    boolean acquired = ledger.tryAcquire();
    ledger.complete();
    return acquired;
  }

  @Benchmark
  public boolean refuse() {
    return full.tryAcquire();
  }

  /** The hand-off of a completed request's slot to a waiter, who takes it. */
  @Benchmark
  public SlotLease completeAndHoldAndConsume() {
    SlotLease lease = ledger.completeAndHold(TTL_NANOS);
    lease.consume();
    return lease;
  }
}
