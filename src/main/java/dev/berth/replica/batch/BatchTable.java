package dev.berth.replica.batch;

import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.port.BatchSeats;
import dev.berth.replica.batch.BatchEntry.BatchStage;
import dev.berth.view.BatchFill;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The batches of one replica: loose requests in a line for each key, batches that gather their
 * requests, and the number of batches that run. The truth of batches as the ledger is of slots.
 * Thread-safe: one lock guards all state, and {@link BatchPorts} are called without it.
 *
 * <p>A batch has the rules of the time at which the first of its loose requests became loose, or
 * the router's oldest waiter joined its queue. Waiting requests keep an old {@code max_batch_size}.
 */
public final class BatchTable implements BatchSeats {
  /** Maximum wait of a sealed batch for the requests of its seats, which a busy loop may delay. */
  static final long ARRIVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** Minimum wait for requests that other instances send when a batch has ended. */
  private static final long REFILL_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  private static final long NEVER = Long.MAX_VALUE;

  /** Share of a new duration in the learnt one: 1/8. */
  private static final int LEARNING_SHIFT = 3;

  final Supplier<BatchSettings> settings;
  private final LongSupplier nanoClock;
  private final BatchPorts ports;
  final Map<String, BatchLine> lines = new LinkedHashMap<>(); // none is empty
  private final List<Batch> gathering = new ArrayList<>(); // sealed, with requests missing
  int places; // batches from their opening to their end
  String refilled = ""; // key of a line that is not due before this time unless it is full
  long refillsUntil;
  private int expected; // requests with that key whose routers hold offered slots
  private boolean placeFreed; // since the last effects
  private boolean looseCame; // to a free place, since the last effects
  private final List<Batch> started = new ArrayList<>(); // to be run
  private long lastId;
  private volatile long learntNanos;

  /** Measurements of started batches, by method. */
  public final Map<String, BatchMeters> meters = new ConcurrentHashMap<>();

  public BatchTable(Supplier<BatchSettings> settings, LongSupplier nanoClock, BatchPorts ports) {
    this.settings = settings;
    this.nanoClock = nanoClock;
    this.ports = ports;
  }

  /** Loose requests with one key, oldest first. */
  static final class BatchLine {
    final List<BatchEntry> entries = new ArrayList<>();
    boolean isLate; // the batch of a request began without it

    BatchEntry head() {
      return entries.get(0);
    }

    BatchSettings rules() {
      return Objects.requireNonNull(head().rules);
    }

    /** Adds a request behind all that have waited as long, whichever way it came. */
    void add(BatchEntry entry, BatchSettings rules) {
      entry.rules = rules;
      int at = entries.size();
      while (at > 0 && entries.get(at - 1).sinceNanos - entry.sinceNanos > 0) {
        at--;
      }
      entries.add(at, entry);
      entry.stage = BatchStage.LOOSE;
      entry.batch = null;
    }

    boolean isFull() {
      int fits = fitting(entries, rules());
      return fits == rules().maxSize() || fits < entries.size();
    }
  }

  /** Returns the time until a line is due if it is not full; 0 or less when it is due. */
  private long leftNanos(BatchLine line, long now) {
    long window =
        line.isLate || places == 0 && line.rules().eager()
            ? 0
            : line.head().sinceNanos + line.rules().waitNanos() - now;
    long left =
        !line.isLate && line.head().key.equals(refilled)
            ? Math.max(window, refillsUntil - now)
            : window;
    long deadline = line.head().deadlineNanos;
    return deadline == NEVER ? left : Math.min(left, deadline - learntNanos - now);
  }

  /** Returns the number of first entries that one batch can hold, at least one of them. */
  private static int fitting(Collection<BatchEntry> entries, BatchSettings rules) {
    if (!rules.weighs()) {
      return Math.min(entries.size(), rules.maxSize());
    }
    int count = 0;
    long items = 0;
    long bytes = 0;
    for (BatchEntry each : entries) {
      items += each.items;
      bytes += each.bytes;
      boolean isOver = items > rules.maxItems() || bytes > rules.maxBytes();
      if (count == rules.maxSize() || isOver && count > 0) { // a lowered bound may refuse one alone
        break;
      }
      count++;
    }
    return count;
  }

  // --- requests ---

  /**
   * Adds a request that has arrived.
   *
   * @param seat the batch in which it has a seat; null for a loose request
   */
  public void add(BatchEntry entry, @Nullable BatchGroup seat) {
    synchronized (this) {
      if (seat instanceof Batch batch && !batch.isClosed) {
        batch.seats--;
        enter(entry, batch);
        closeIfComplete(batch);
      } else {
        BatchLine line = lines.computeIfAbsent(entry.key, key -> new BatchLine());
        line.add(entry, settings.get());
        line.isLate |= seat != null;
        if (expected > 0 && entry.key.equals(refilled)) {
          expect(-1);
        }
        looseCame |= places < settings.get().maxConcurrent(); // waiters may fill its batch
      }
    }
    look();
  }

  private static void enter(BatchEntry entry, Batch batch) {
    entry.stage = BatchStage.SEATED;
    entry.batch = batch;
    entry.key = batch.key; // the router's rules may be others than those here
    batch.entries.add(entry);
    batch.isUsed = true;
  }

  /** Removes a request that has not started. Returns false when it has. */
  public boolean withdraw(BatchEntry entry) {
    synchronized (this) {
      if (entry.stage == BatchStage.STARTED || entry.stage == BatchStage.LEFT) {
        return false;
      }
      BatchLine line = lines.get(entry.key);
      Batch batch = entry.batch;
      if (entry.stage == BatchStage.LOOSE && line != null) {
        line.entries.remove(entry);
        forgetIfEmpty(line, entry.key);
      } else if (entry.stage == BatchStage.SEATED && batch != null) {
        batch.entries.remove(entry);
        closeIfComplete(batch);
      }
      entry.stage = BatchStage.LEFT;
    }
    look();
    return true;
  }

  /** Records that a request of a started batch has ended, once. The last one ends the batch. */
  public void finished(BatchEntry entry) {
    if (end(entry)) {
      reportFree();
    }
  }

  /** Reports the end of a batch, and starts what is due. */
  public void reportFree() {
    synchronized (this) {
      placeFreed = true;
    }
    look();
  }

  /** Does the same without the report; returns whether {@link #reportFree} must follow. */
  public synchronized boolean end(BatchEntry entry) {
    Batch batch = entry.batch;
    if (entry.stage != BatchStage.STARTED || batch == null) {
      return false;
    }
    entry.stage = BatchStage.LEFT;
    if (--batch.unfinished > 0) {
      return false;
    }
    long now = nanoClock.getAsLong();
    long took = now - batch.startedAt;
    learntNanos += learntNanos == 0 ? took : (took - learntNanos) >> LEARNING_SHIFT;
    batch.meters.onEnd(took);
    places--;
    refill(batch, now);
    return true;
  }

  /** Holds the next batch if those that take the slots of an ended one can fill it. */
  private void refill(Batch ended, long now) {
    if (!isHeld(ended.key, now)
        && ended.entries.size() + loose(ended.key) >= ended.rules.maxSize()) {
      hold(ended.key, now, ended.rules);
    }
  }

  /** Holds the next batch for half of the usual duration, 2 ms at least, the window at most. */
  private void hold(String key, long now, BatchSettings rules) {
    expected = 0;
    refilled = key;
    refillsUntil = now + Math.min(Math.max(REFILL_NANOS, learntNanos / 2), rules.waitNanos());
  }

  /**
   * Holds the next batch of a key until requests have arrived whose routers received slots for
   * them. Does nothing if a request of the key waits already, or the batch of another key is held.
   *
   * @param requests their number; negative for slots that a router declines
   */
  public void expect(String key, int requests) {
    synchronized (this) {
      long now = nanoClock.getAsLong();
      if (!isHeld(key, now)) {
        boolean isOther = !key.equals(refilled) && refillsUntil - now > 0;
        if (requests < 0 || isOther || lines.containsKey(key)) {
          return;
        }
        hold(key, now, settings.get());
      }
      expect(requests);
    }
    if (requests < 0) {
      look();
    }
  }

  private boolean isHeld(String key, long now) {
    return expected > 0 && key.equals(refilled) && refillsUntil - now > 0;
  }

  private void expect(int requests) {
    expected += requests;
    if (expected <= 0) {
      expected = 0;
      refillsUntil = nanoClock.getAsLong(); // all have arrived
    }
  }

  // --- batches of routers ---

  @Override
  public @Nullable BatchGroup tryOpen(String key, long sinceNanos, BatchSettings rules) {
    Batch made = null;
    synchronized (this) {
      long now = nanoClock.getAsLong();
      while (made == null && places < settings.get().maxConcurrent()) {
        BatchLine older = dueLine(now);
        if (older != null && older.head().sinceNanos - sinceNanos < 0 && !isOf(older, key)) {
          close(open(older.head().key, rules));
          continue;
        }
        Batch next = open(key, rules);
        if (next.entries.size() < next.rules.maxSize()) {
          made = next;
        } else {
          close(next);
        }
      }
    }
    look();
    return made;
  }

  private static boolean isOf(BatchLine line, String key) {
    return line.head().key.equals(key);
  }

  void withdrawSeat(Batch batch) {
    synchronized (this) {
      if (!batch.isClosed) {
        batch.seats--;
        closeIfComplete(batch);
      }
    }
    look();
  }

  void seal(Batch batch) {
    synchronized (this) {
      if (!batch.isSealed) {
        batch.isSealed = true;
        batch.closesAt = nanoClock.getAsLong() + ARRIVAL_NANOS;
        gathering.add(batch);
        closeIfComplete(batch);
      }
    }
    look();
  }

  @Override
  public synchronized int loose(String key) {
    BatchLine line = lines.get(key);
    return line == null ? 0 : line.entries.size();
  }

  /** Returns the number of requests that wait for a batch. */
  public synchronized int waiting() {
    return lines.values().stream().mapToInt(line -> line.entries.size()).sum()
        + gathering.stream().mapToInt(batch -> batch.entries.size()).sum();
  }

  /** Returns the fill of all started batches. */
  public BatchFill fill() {
    return meters.values().stream().map(BatchMeters::fill).reduce(BatchFill.NONE, BatchFill::plus);
  }

  /** Returns whether no further batch can start. */
  public synchronized boolean isFull() {
    return places >= settings.get().maxConcurrent();
  }

  @Override
  public synchronized boolean isBusy() {
    return places > 0;
  }

  @Override
  public long learntNanos() {
    return learntNanos;
  }

  // --- starts ---

  /** Starts what is due, and requests the next look. */
  public void look() {
    List<Batch> fills = List.of();
    List<Batch> starts = List.of();
    boolean freed;
    boolean came;
    long wake;
    synchronized (this) {
      long now = lines.isEmpty() && gathering.isEmpty() ? 0 : nanoClock.getAsLong();
      for (int i = gathering.size() - 1; i >= 0; i--) {
        if (gathering.get(i).closesAt - now <= 0) {
          close(gathering.get(i)); // missing requests become loose
        }
      }
      while (places < settings.get().maxConcurrent()) {
        BatchLine line = dueLine(now);
        if (line == null) {
          break;
        }
        fills = fills.isEmpty() ? new ArrayList<>() : fills;
        fills.add(open(line.head().key, line.rules()));
      }
      if (!started.isEmpty()) {
        starts = List.copyOf(started);
        started.clear();
      }
      freed = placeFreed;
      came = looseCame;
      placeFreed = false;
      looseCame = false;
      wake = nextLook(now);
    }
    for (int i = 0; i < fills.size(); i++) { // without an iterator: each request looks often
      if (fills.get(i).room() > 0) {
        ports.fill(fills.get(i));
      }
      seal(fills.get(i));
    }
    for (int i = 0; i < starts.size(); i++) {
      ports.run(starts.get(i));
    }
    if (freed) {
      ports.onPlaceFreed();
    } else if (came) {
      ports.onLoose();
    }
    if (wake != NEVER) {
      ports.wakeIn(wake);
    }
  }

  /** Returns the line of the oldest request that a batch can start with now; null for none. */
  private @Nullable BatchLine dueLine(long now) {
    if (lines.isEmpty()) { // as often as not; saves an iterator
      return null;
    }
    BatchLine oldest = null;
    for (BatchLine line : lines.values()) {
      boolean isDue = leftNanos(line, now) <= 0 || line.isFull();
      if (isDue && (oldest == null || line.head().sinceNanos - oldest.head().sinceNanos < 0)) {
        oldest = line;
      }
    }
    return oldest;
  }

  private long nextLook(long now) {
    long next = NEVER;
    for (int i = 0; i < gathering.size(); i++) {
      next = Math.min(next, gathering.get(i).closesAt - now);
    }
    // without a free place, the end of a batch looks
    if (!lines.isEmpty() && places < settings.get().maxConcurrent()) {
      for (BatchLine line : lines.values()) {
        next = Math.min(next, leftNanos(line, now));
      }
    }
    return next;
  }

  /** Opens a batch with the loose requests of a key that fit, by the rules of the first of them. */
  private Batch open(String key, BatchSettings rules) {
    BatchLine line = lines.get(key);
    BatchMeters of =
        meters.computeIfAbsent(BatchSettings.methodOf(key), method -> new BatchMeters());
    Batch batch = new Batch(this, key, line == null ? rules : line.rules(), ++lastId, of);
    places++;
    expected = key.equals(refilled) ? 0 : expected; // others are late
    if (line != null) {
      List<BatchEntry> first = line.entries.subList(0, fitting(line.entries, batch.rules));
      first.forEach(each -> enter(each, batch));
      first.clear();
      line.isLate = false;
      forgetIfEmpty(line, key);
    }
    return batch;
  }

  private void forgetIfEmpty(BatchLine line, String key) {
    if (line.entries.isEmpty()) {
      lines.remove(key);
    }
  }

  private void closeIfComplete(Batch batch) {
    if (batch.isSealed && batch.seats <= 0 && !batch.isClosed) {
      close(batch);
    }
  }

  /** Starts a batch with what has arrived, or ends it without a run. */
  private void close(Batch batch) {
    gathering.remove(batch);
    batch.isSealed = true;
    batch.isClosed = true;
    shorten(batch);
    batch.unfinished = batch.entries.size();
    if (batch.unfinished == 0) {
      places--;
      placeFreed |= batch.isUsed; // else its opener would open it again
      return;
    }
    batch.startedAt = nanoClock.getAsLong();
    int position = 0;
    for (BatchEntry each : batch.entries) {
      each.stage = BatchStage.STARTED;
      each.position = position++;
      batch.meters.onWait(batch.waitedNanos(each));
    }
    batch.meters.onStart(position, batch.rules.maxSize());
    started.add(batch);
  }

  /** Puts the requests beyond the bounds of a batch back into their line. */
  private void shorten(Batch batch) {
    int size = batch.rules.sizeFor(fitting(batch.entries, batch.rules));
    if (size == batch.entries.size()) {
      return;
    }
    BatchLine line = lines.computeIfAbsent(batch.key, key -> new BatchLine());
    List<BatchEntry> beyond = batch.entries.subList(size, batch.entries.size());
    for (BatchEntry each : beyond) { // a loose one has its own rules
      line.add(each, each.rules == null ? batch.rules : each.rules);
    }
    beyond.clear();
  }
}
