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
import org.junit.jupiter.api.Test;

/** Seats whose requests arrive after their batch began. */
class LateSeatTest implements BatchPorts {
  private static final BatchSettings RULES =
      new BatchSettings(
          3,
          TimeUnit.SECONDS.toNanos(30),
          1,
          false,
          Integer.MAX_VALUE,
          Long.MAX_VALUE,
          List.of(),
          List.of());

  private final ManualClock clock = new ManualClock();
  private final BatchTable table = new BatchTable(() -> RULES, clock, this);
  private final List<Batch> runs = new ArrayList<>();

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

  private BatchEntry arrives(BatchGroup seat) {
    BatchEntry entry = new BatchEntry("", clock.getAsLong(), Long.MAX_VALUE, 1, 1) {};
    table.add(entry, seat);
    return entry;
  }

  @Test
  void lateRequestsStartWithTheNextBatch() {
    BatchGroup seats = Objects.requireNonNull(table.tryOpen("", clock.getAsLong()));
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
}
