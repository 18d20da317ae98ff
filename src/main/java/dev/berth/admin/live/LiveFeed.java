package dev.berth.admin.live;

import dev.berth.view.CommandRejectedException;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The sampler of the feed: reads each viewed topic once for all of its viewers, and sends them its
 * changes. Without viewers it reads nothing.
 *
 * <p><b>Cost.</b> A round reads the topics once per second, or less often, so that rounds take at
 * most 1/1000 of the time; but at least every 5 s. Comparison and JSON are the work of another
 * thread.
 *
 * <p><b>Concurrency.</b> Confined to the control loop. One round at a time.
 */
final class LiveFeed {
  /** Reads the entries of topics. Confined to the control loop. */
  interface TopicReader {
    /** Begins a round. It reads each state of the controller once. */
    void begin();

    /** Returns the entries; the supplier runs on another thread. */
    Future<Supplier<Map<String, ?>>> read(LiveTopic topic);
  }

  /** Runs slow work on another thread. The future completes on the control loop. */
  interface SlowWork {
    <T> Future<T> call(Callable<T> work);
  }

  static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long MAX_INTERVAL_NANOS = 5 * INTERVAL_NANOS;

  /** Maximum number of different topics: each may be a request to every node per round. */
  static final int MAX_TOPICS = 128;

  /** Time of rest per time of work. */
  private static final long REST_FACTOR = 1_000;

  /** Minimum time between two rounds, which new viewers may cause. */
  private static final long MIN_INTERVAL_NANOS = INTERVAL_NANOS / 5;

  /** Result of a topic in a round. Either a failure, or buffers that may be null. */
  private record TopicUpdate(
      @Nullable Buffer delta, @Nullable Buffer snapshot, @Nullable Throwable failure) {}

  private final TopicReader reader;
  private final SlowWork slowWork;
  private final LongSupplier nanoClock;
  private final LongSupplier wallMs;
  private final Set<LiveViewer> viewers = new LinkedHashSet<>();
  private final Map<LiveTopic, TopicEntries> topics = new HashMap<>(); // with a viewer
  private boolean running;
  private long beganNanos;
  private volatile long intervalNanos; // written by the other thread
  private volatile long rounds;
  private volatile long skipped;

  LiveFeed(TopicReader reader, SlowWork slowWork, LongSupplier nanoClock, LongSupplier wallMs) {
    this.reader = reader;
    this.slowWork = slowWork;
    this.nanoClock = nanoClock;
    this.wallMs = wallMs;
    this.beganNanos = nanoClock.getAsLong() - INTERVAL_NANOS;
  }

  /** Returns whether the topics of another viewer can be read, too. */
  boolean hasRoomFor(Set<LiveTopic> more) {
    return Stream.concat(topics.keySet().stream(), more.stream()).distinct().count() <= MAX_TOPICS;
  }

  /** Adds a viewer. The caller ticks soon. */
  void open(LiveViewer viewer) {
    viewers.add(viewer);
    viewer.topics.forEach(
        each -> topics.computeIfAbsent(each, made -> new TopicEntries(each.name())));
  }

  /** Removes a viewer, and forgets topics without any. */
  void close(LiveViewer viewer) {
    if (viewers.remove(viewer)) {
      topics
          .keySet()
          .removeIf(topic -> viewers.stream().noneMatch(each -> each.topics.contains(topic)));
    }
  }

  void closeAll() {
    List.copyOf(viewers).forEach(this::end);
  }

  private void end(LiveViewer viewer) {
    close(viewer);
    viewer.sink.close();
  }

  int viewers() {
    return viewers.size();
  }

  /** Returns the number of rounds. */
  long rounds() {
    return rounds;
  }

  /** Returns the number of deltas that slow viewers skipped. */
  long skipped() {
    return skipped;
  }

  /**
   * Begins a round if one is due, and closes viewers that read nothing.
   *
   * @return nanoseconds until the next tick; negative without viewers
   */
  long tick() {
    long now = nanoClock.getAsLong();
    for (LiveViewer viewer : List.copyOf(viewers)) {
      if (!viewer.check(now)) {
        end(viewer);
      }
    }
    if (viewers.isEmpty()) {
      return -1;
    }
    long since = now - beganNanos;
    boolean isDue = since >= Math.max(INTERVAL_NANOS, intervalNanos);
    List<LiveTopic> due = topics.keySet().stream().filter(each -> isDue || isNew(each)).toList();
    if (running || due.isEmpty() || since < MIN_INTERVAL_NANOS) {
      return due.isEmpty() ? INTERVAL_NANOS / 2 : MIN_INTERVAL_NANOS;
    }
    begin(due, now);
    return INTERVAL_NANOS / 2;
  }

  private boolean isNew(LiveTopic topic) {
    return viewers.stream().anyMatch(each -> each.isNew(topic));
  }

  private void begin(List<LiveTopic> due, long now) {
    running = true;
    beganNanos = now;
    rounds++;
    reader.begin();
    List<Future<Supplier<Map<String, ?>>>> reads = due.stream().map(this::read).toList();
    long spent = nanoClock.getAsLong() - now;
    Future.join(reads)
        .transform(
            read -> {
              Set<LiveTopic> wanted = wantedSnapshots(due);
              Map<LiveTopic, TopicEntries> known = Map.copyOf(topics);
              return slowWork.call(() -> update(due, reads, wanted, known, spent));
            })
        .onComplete(
            done -> {
              running = false;
              if (done.succeeded()) {
                done.result().forEach(this::deliver);
              }
            });
  }

  private Future<Supplier<Map<String, ?>>> read(LiveTopic topic) {
    try {
      return reader.read(topic);
    } catch (RuntimeException refused) {
      return Future.failedFuture(refused);
    }
  }

  private Set<LiveTopic> wantedSnapshots(List<LiveTopic> due) {
    Set<LiveTopic> wanted = new LinkedHashSet<>(due);
    wanted.removeIf(topic -> viewers.stream().noneMatch(each -> each.wantsSnapshot(topic)));
    return wanted;
  }

  /** Compares the entries with the last ones. Runs on another thread. */
  private Map<LiveTopic, TopicUpdate> update(
      List<LiveTopic> due,
      List<Future<Supplier<Map<String, ?>>>> reads,
      Set<LiveTopic> wanted,
      Map<LiveTopic, TopicEntries> known,
      long spentNanos) {
    long began = nanoClock.getAsLong();
    Map<LiveTopic, TopicUpdate> updates = new LinkedHashMap<>();
    for (int i = 0; i < due.size(); i++) {
      LiveTopic topic = due.get(i);
      TopicEntries entries = known.get(topic);
      if (entries != null) {
        updates.put(topic, update(entries, reads.get(i), wanted.contains(topic)));
      }
    }
    long spent = spentNanos + nanoClock.getAsLong() - began;
    intervalNanos = Math.min(MAX_INTERVAL_NANOS, REST_FACTOR * spent);
    return updates;
  }

  private TopicUpdate update(
      TopicEntries entries, Future<Supplier<Map<String, ?>>> read, boolean isWanted) {
    if (read.failed()) {
      return new TopicUpdate(null, null, read.cause());
    }
    try {
      Buffer delta = entries.update(read.result().get(), wallMs.getAsLong());
      return new TopicUpdate(delta, isWanted ? entries.snapshot() : null, null);
    } catch (RuntimeException broken) {
      return new TopicUpdate(null, null, broken);
    }
  }

  private void deliver(LiveTopic topic, TopicUpdate update) {
    long now = nanoClock.getAsLong();
    for (LiveViewer viewer : List.copyOf(viewers)) {
      if (!viewer.topics.contains(topic)) {
        continue;
      }
      if (update.failure != null) {
        String code =
            update.failure instanceof CommandRejectedException refused
                ? refused.kind().code
                : "internal_error";
        viewer.fail(topic, code, String.valueOf(update.failure.getMessage()), now);
      } else {
        skipped += viewer.offer(topic, update.delta, update.snapshot, now) ? 0 : 1;
      }
    }
  }
}
