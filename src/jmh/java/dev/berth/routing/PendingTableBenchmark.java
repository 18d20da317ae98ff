package dev.berth.routing;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** What a loop waits for, with so many entries in it. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class PendingTableBenchmark {
  @Param({"0", "64", "60000"})
  public int entries;

  private final Object entry = new Object();
  private PendingTable<Object> table;
  private PendingTable<Object> full;

  @Setup
  public void setUp() {
    table = new PendingTable<>(PendingTable.LIMIT, 1);
    for (int i = 0; i < entries; i++) {
      table.add(entry);
    }
    full = new PendingTable<>(Math.max(1, entries), 1);
    while (full.add(entry) != PendingTable.FULL) {
      continue;
    }
  }

  @Benchmark
  public Object addAndRemove() {
    return table.remove(table.add(entry));
  }

  @Benchmark
  public long addToFull() {
    return full.add(entry);
  }
}
