package dev.berth.replica.batch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.ManualClock;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Lines of requests without a seat: late ones, and those beyond a batch. */
class BatchLineTest implements BatchPorts {
  private BatchSettings rules = rules(3, TimeUnit.SECONDS.toNanos(30), List.of());
  private final ManualClock clock = new ManualClock();
  private final BatchTable table = new BatchTable(() -> rules, clock, this);
  private final List<Batch> runs = new ArrayList<>();

  private static BatchSettings rules(int max, long waitNanos, List<Integer> preferred) {
    return new BatchSettings(
        max, waitNanos, 1, false, Integer.MAX_VALUE, Long.MAX_VALUE, preferred, List.of());
  }

  @Override
  public void run(Batch batch) {
    runs.add(batch);
  }

  @Override
  public void fill(BatchGroup batch) {}

  @Override
  public void onPlaceFreed() {}

  @Override
  public void wakeIn(long nanos) {}

  private BatchEntry arrives(@Nullable BatchGroup seat) {
    BatchEntry entry = new BatchEntry("", clock.getAsLong(), Long.MAX_VALUE, 1, 1) {};
    table.add(entry, seat);
    return entry;
  }

  @Test
  void lateRequestsStartWithTheNextBatch() {
    BatchGroup seats = Objects.requireNonNull(BatchProbe.open(table, "", clock.getAsLong()));
    for (int i = 0; i < 3; i++) {
      seats.seat();
    }
    seats.seal();
    BatchEntry first = arrives(seats);
    assertThat(runs).isEmpty();

    clock.advance(Duration.ofNanos(BatchTable.ARRIVAL_NANOS));
    table.look();
    arrives(seats);
    arrives(seats);
    assertThat(runs).extracting(each -> each.entries().size()).containsExactly(1);

    table.finished(first);
    assertThat(runs).extracting(each -> each.entries().size()).containsExactly(1, 2);
  }

  @Test
  void requestsLeftOutOfABatchRetainTheirOwnRules() {
    rules = rules(8, 0, List.of(2));
    for (int i = 0; i < 5; i++) { // the first one starts at once
      arrives(null);
      rules = i < 2 ? rules : rules(1, 0, List.of());
    }
    for (int i = 0; i < runs.size(); i++) {
      List.copyOf(runs.get(i).entries()).forEach(table::finished);
    }
    assertThat(runs).extracting(each -> each.entries().size()).containsExactly(1, 2, 1, 1);
  }
}
