package dev.berth.replica.batch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.ManualClock;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Rules of batches that change while requests wait. */
class ChangedRulesTest implements BatchPorts {
  private final ManualClock clock = new ManualClock();
  private final List<List<BatchEntry>> runs = new ArrayList<>();
  private BatchSettings rules = rules(8, List.of(2));
  private final BatchTable table = new BatchTable(() -> rules, clock, this);

  private static BatchSettings rules(int max, List<Integer> preferred) {
    return new BatchSettings(
        max, 0, 1, false, Integer.MAX_VALUE, Long.MAX_VALUE, preferred, List.of());
  }

  @Override
  public void run(Batch batch) {
    runs.add(List.copyOf(batch.entries()));
  }

  @Override
  public void fill(BatchGroup batch) {}

  @Override
  public void onPlaceFreed() {}

  @Override
  public void wakeIn(long nanos) {}

  private void arrives(int count) {
    for (int i = 0; i < count; i++) {
      table.add(new BatchEntry("", clock.getAsLong(), Long.MAX_VALUE, 1, 1) {}, null);
    }
  }

  @Test
  void requestsLeftOutOfABatchRetainTheirOwnRules() {
    arrives(3); // the first one starts at once
    rules = rules(1, List.of());
    arrives(2);
    for (int i = 0; i < runs.size() && i < 10; i++) {
      List<BatchEntry> ended = runs.get(i);
      ended.forEach((Consumer<BatchEntry>) table::finished);
    }
    assertThat(runs).extracting(List::size).containsExactly(1, 2, 1, 1);
  }
}
