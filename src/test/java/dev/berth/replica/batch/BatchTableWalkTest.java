package dev.berth.replica.batch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.ManualClock;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import dev.berth.replica.batch.BatchEntry.BatchStage;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Random arrivals, seats, cancels, ends and live changes. After every step: each request is in at
 * most one started batch, no batch exceeds its rules, no more batches run than permitted, and none
 * waits beyond its window while a place is free.
 */
class BatchTableWalkTest implements BatchPorts {
  private static final int STEPS = 400;
  private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);

  private final ManualClock clock = new ManualClock();
  private Random random = new Random(0);
  private BatchSettings rules = rules(4, 10, 2);
  private final BatchTable table = new BatchTable(() -> rules, clock, this);
  private final List<Seated> seats = new ArrayList<>(); // whose requests are on their way
  private final List<Walker> waiting = new ArrayList<>();
  private final List<Walker> running = new ArrayList<>();
  private final Set<Walker> started = new HashSet<>();
  private final Set<Batch> batches = new HashSet<>();
  private int largest; // number of concurrent batches permitted since the last idle moment
  private long wakeAt;
  private boolean armed;
  private long lastEnd = Long.MIN_VALUE;

  private record Seated(BatchGroup group, Walker walker) {}

  private static final class Walker extends BatchEntry {
    private long arrived;

    Walker(String key, long since, long deadline, int items, long bytes) {
      super(key, since, deadline, items, bytes);
    }
  }

  static LongStream seeds() {
    long base = Long.getLong("simulation.base", 1);
    return LongStream.range(base, base + Long.getLong("batching.seeds", 200));
  }

  private static BatchSettings rules(int size, long waitMs, int concurrent) {
    return new BatchSettings(
        size, waitMs * MS, concurrent, false, 40, 400, List.of(), List.of("model"));
  }

  @Override
  public void run(Batch batch) {
    assertThat(batches.add(batch)).as("one run").isTrue();
    assertThat(batch.entries()).isNotEmpty().hasSizeLessThanOrEqualTo(batch.rules.maxSize());
    long items = batch.entries().stream().mapToLong(each -> each.items).sum();
    long bytes = batch.entries().stream().mapToLong(each -> each.bytes).sum();
    boolean fits = items <= batch.rules.maxItems() && bytes <= batch.rules.maxBytes();
    assertThat(fits || batch.entries().size() == 1).as("within its bounds").isTrue();
    for (BatchEntry each : batch.entries()) {
      Walker walker = (Walker) each;
      assertThat(started.add(walker)).as("in one started batch").isTrue();
      assertThat(walker.key).isEqualTo(batch.key());
      assertThat(waiting.remove(walker)).as("it was waiting").isTrue();
      running.add(walker);
    }
  }

  @Override
  public void fill(BatchGroup batch) {
    while (batch.room() > 0 && random.nextInt(3) > 0) {
      takeSeat(batch);
    }
  }

  @Override
  public void onPlaceFreed() {
    if (random.nextBoolean()) {
      openOne();
    }
  }

  @Override
  public void wakeIn(long nanos) {
    long at = clock.getAsLong() + Math.max(0, nanos);
    if (!armed || at - wakeAt < 0) {
      armed = true;
      wakeAt = at;
    }
  }

  private Walker walker(String key) {
    long now = clock.getAsLong();
    long deadline = random.nextInt(4) == 0 ? now + random.nextInt(60) * MS : Long.MAX_VALUE;
    long since = now - random.nextInt(12) * MS;
    return new Walker(key, since, deadline, 1 + random.nextInt(15), random.nextInt(150));
  }

  private String key() {
    return random.nextInt(4) == 0 ? "\nb" : "\na";
  }

  private void takeSeat(BatchGroup group) {
    group.seat();
    boolean isChanged = random.nextInt(6) == 0; // the replica's rules are others meanwhile
    seats.add(new Seated(group, walker(isChanged ? key() : group.key())));
  }

  private void openOne() {
    String key = key();
    BatchGroup group = BatchProbe.open(table, key, clock.getAsLong() - random.nextInt(12) * MS);
    if (group == null) {
      return;
    }
    assertThat(group.room()).isPositive();
    int wanted = random.nextInt(group.room() + 1);
    for (int i = 0; i < wanted; i++) {
      takeSeat(group);
    }
    group.seal();
  }

  private void arrive(Walker walker, BatchGroup seat) {
    walker.arrived = clock.getAsLong();
    waiting.add(walker);
    table.add(walker, seat);
  }

  private <T> T any(List<T> of) {
    return of.remove(random.nextInt(of.size()));
  }

  private void step() {
    switch (random.nextInt(10)) {
      case 0, 1, 2 -> arrive(walker(key()), null);
      case 3 -> openOne();
      case 4, 5 -> {
        if (!seats.isEmpty()) {
          Seated next = any(seats);
          if (random.nextInt(4) == 0) {
            next.group.withdraw();
          } else {
            arrive(next.walker, next.group);
          }
        }
      }
      case 6 -> {
        if (!waiting.isEmpty()) {
          Walker gone = waiting.get(random.nextInt(waiting.size()));
          assertThat(table.withdraw(gone)).isTrue();
          waiting.remove(gone);
        } else if (!running.isEmpty()) {
          assertThat(table.withdraw(running.get(0))).isFalse();
        }
      }
      case 7 -> {
        int ends = random.nextInt(6);
        for (int i = 0; i < ends && !running.isEmpty(); i++) {
          table.finished(any(running));
          lastEnd = clock.getAsLong();
        }
      }
      case 8 -> pass(random.nextInt(30) * MS);
      default -> {
        if (random.nextInt(5) == 0) {
          rules = rules(1 + random.nextInt(8), random.nextInt(20), 1 + random.nextInt(3));
          table.look();
        }
      }
    }
  }

  private void pass(long nanos) {
    long until = clock.getAsLong() + nanos;
    while (armed && wakeAt - until <= 0) {
      clock.advanceNanos(Math.max(0, wakeAt - clock.getAsLong()));
      armed = false;
      table.look();
    }
    clock.advanceNanos(Math.max(0, until - clock.getAsLong()));
  }

  private void check() { // after its end, a batch is refilled for the window at most
    long inUse = running.stream().map(each -> each.batch).distinct().count();
    largest = !table.isBusy() ? rules.maxConcurrent() : Math.max(largest, rules.maxConcurrent());
    assertThat(inUse).as("concurrent batches").isLessThanOrEqualTo(largest);
    if (!table.isBusy()) {
      assertThat(seats.stream().map(Seated::group).map(each -> ((Batch) each).isClosed))
          .doesNotContain(false);
      for (Walker each : waiting) {
        long age = clock.getAsLong() - Math.max(lastEnd, Math.max(each.sinceNanos, each.arrived));
        assertThat(each.stage).isEqualTo(BatchStage.LOOSE);
        assertThat(age).as("age of %s", each).isLessThanOrEqualTo(20 * MS);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void everyRequestRunsOnceWithinTheBounds(long seed) {
    random = new Random(seed);
    for (int i = 0; i < STEPS; i++) {
      step();
      check();
    }
    while (!seats.isEmpty() || !waiting.isEmpty() || !running.isEmpty()) {
      while (!seats.isEmpty()) {
        any(seats).group.withdraw();
      }
      while (!running.isEmpty()) {
        table.finished(any(running));
      }
      pass(100 * MS);
    }
    assertThat(table.isBusy()).isFalse();
    assertThat(table.waiting()).isZero();
    assertThat(started).hasSizeGreaterThan(20);
  }
}
