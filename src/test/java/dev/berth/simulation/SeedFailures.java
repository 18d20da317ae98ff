package dev.berth.simulation;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongFunction;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Runs all seeds of a base and collects the failures, so that one report names every failing seed.
 * The report carries the whole failure of the first seed and the claim of each other one.
 */
final class SeedFailures<R> {
  private final LongFunction<R> runs;
  private final List<Map.Entry<Long, Throwable>> failed = new ArrayList<>();

  /**
   * @param runs throws when a claim does not hold
   */
  SeedFailures(LongFunction<R> runs) {
    this.runs = runs;
  }

  /**
   * Runs every seed, in order.
   *
   * @return results in the order of their seeds
   * @throws SimulationFailure with every seed that failed, after the last seed has run
   */
  static <R> List<R> runAll(LongStream seeds, LongFunction<R> runs) {
    SeedFailures<R> all = new SeedFailures<>(runs);
    List<R> results = seeds.mapToObj(all::run).filter(Objects::nonNull).toList();
    all.throwIfAny();
    return results;
  }

  /** Runs one seed. Thread-safe. Returns null when it fails. */
  @Nullable R run(long seed) {
    try {
      return runs.apply(seed);
    } catch (RuntimeException | AssertionError claim) {
      add(seed, claim);
      return null;
    }
  }

  /** Records a failure. Thread-safe. */
  synchronized void add(long seed, Throwable claim) {
    failed.add(Map.entry(seed, claim));
  }

  /**
   * Reports all failures at once.
   *
   * @throws SimulationFailure when a seed has failed
   */
  synchronized void throwIfAny() {
    if (failed.isEmpty()) {
      return;
    }
    failed.sort(Map.Entry.comparingByKey());
    StringBuilder report =
        new StringBuilder("%d seeds failed from %d on:".formatted(failed.size(), Seeds.BASE));
    failed.forEach(
        each ->
            report
                .append("\n  seed ")
                .append(each.getKey())
                .append(": ")
                .append(
                    String.valueOf(each.getValue().getMessage()).lines().findFirst().orElse("")));
    throw new SimulationFailure(report.toString(), failed.get(0).getValue());
  }
}
