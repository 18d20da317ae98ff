package dev.berth.replica.batch;

import dev.berth.protocol.Admission;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import java.util.ArrayList;
import java.util.List;

/** Batch of a {@link BatchTable}, whose lock guards its fields. */
public final class Batch implements BatchGroup {
  private final BatchTable table;
  private final Admission.BatchSeat seat = new Admission.BatchSeat(this); // shared: only counted
  final String key;
  final BatchSettings rules; // at its opening
  final long id;
  final BatchMeters meters; // of its method
  final List<BatchEntry> entries = new ArrayList<>();
  int seats; // whose requests have not arrived
  boolean isUsed; // it had a seat or a request
  boolean isSealed;
  boolean isClosed; // started, or it never runs
  long closesAt = Long.MAX_VALUE; // without the missing requests
  long startedAt;
  int unfinished;

  Batch(BatchTable table, String key, BatchSettings rules, long id, BatchMeters meters) {
    this.table = table;
    this.key = key;
    this.rules = rules;
    this.id = id;
    this.meters = meters;
  }

  /** Returns a number that no other batch of the replica has. */
  public long id() {
    return id;
  }

  /** Returns its requests in order; fixed once the batch has started. */
  public List<BatchEntry> entries() {
    return entries;
  }

  /** Returns the wait of a request until the batch started. */
  public long waitedNanos(BatchEntry entry) {
    return Math.max(0, startedAt - entry.sinceNanos);
  }

  @Override
  public String key() {
    return key;
  }

  @Override
  public int room() {
    synchronized (table) {
      return isSealed ? 0 : rules.maxSize() - entries.size() - seats;
    }
  }

  @Override
  public Admission.BatchSeat seat() {
    synchronized (table) {
      if (room() <= 0) {
        throw new IllegalStateException("batch: full or sealed (expected: room for a request)");
      }
      seats++;
      isUsed = true;
      return seat;
    }
  }

  @Override
  public void withdraw() {
    table.withdrawSeat(this);
  }

  @Override
  public void seal() {
    table.seal(this);
  }
}
