package dev.berth.replica.slots;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.port.SlotLease;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** A reservation's walks. Each reads the system's clock as often as it does in the server. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class LeaseBenchmark {
  private static final long TTL_NANOS = TimeUnit.SECONDS.toNanos(10);

  private SlotLedger ledger = LedgerBenchmark.make();
  private SlotLease held = hold(ledger);
  private long attempts;

  @Setup
  public void setUp() {
    ledger = LedgerBenchmark.make();
    held = hold(ledger);
  }

  private static SlotLease hold(SlotLedger ledger) {
    SlotLease lease = ledger.hold(TTL_NANOS);
    if (lease == null) {
      throw new AssertionError("lease: null (expected: one)");
    }
    return lease;
  }

  /** Choose and dispatch inside an instance. */
  @Benchmark
  public SlotLease holdConsumeComplete() {
    SlotLease lease = hold(ledger);
    lease.consume();
    ledger.complete();
    return lease;
  }

  @Benchmark
  public boolean holdAndRelease() {
    return hold(ledger).release();
  }

  /** As between instances; what was released is remembered, up to the bound, in steady state. */
  @Benchmark
  public boolean reserveByAttemptAndRelease() {
    AttemptId attempt = new AttemptId(1, 0, ++attempts);
    ledger.reserve(attempt, TTL_NANOS);
    return ledger.release(attempt);
  }

  /** Each time to a later deadline. */
  @Benchmark
  public boolean renew() {
    return held.renew(TTL_NANOS);
  }
}
