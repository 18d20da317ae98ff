package dev.berth.replica.batch;

import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.port.BatchSeats;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Looks into the batches of a replica, for the simulation. */
public final class BatchProbe {
  private BatchProbe() {}

  /** Opens a batch for waiters with the present rules. */
  public static @Nullable BatchGroup open(BatchSeats of, String key, long sinceNanos) {
    return of.tryOpen(key, sinceNanos, ((BatchTable) of).settings.get());
  }

  /** Returns the rules of the batch of a request. */
  public static BatchSettings rules(BatchEntry of) {
    return Objects.requireNonNull(of.batch).rules;
  }

  /** Returns whether one more batch may start. */
  public static boolean hasPlace(BatchSeats of) {
    BatchTable table = (BatchTable) of;
    return table.places < table.settings.get().maxConcurrent();
  }

  /**
   * Since when the first loose request waits; {@code none} when there is none. Those that may wait
   * for others after the end of a batch do not count.
   */
  public static long looseSince(BatchSeats of, long none, long timerNanos) {
    long first = none;
    BatchTable table = (BatchTable) of;
    for (BatchTable.BatchLine line : table.lines.values()) {
      if (line.head().key.equals(table.refilled) && none - table.refillsUntil < timerNanos) {
        continue;
      }
      for (BatchEntry each : line.entries) {
        first = each.sinceNanos - first < 0 ? each.sinceNanos : first;
      }
    }
    return first;
  }

  public static String text(BatchSeats of) {
    BatchTable table = (BatchTable) of;
    return table.places + " batches, lines " + table.lines.keySet() + ", " + table.settings.get();
  }

  public static int waiting(BatchSeats of) {
    return ((BatchTable) of).waiting();
  }
}
