package dev.berth.admin.live;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A client of the feed. An event is written only while the client's connection takes more, so a
 * slow client costs one number per topic: its skipped deltas. It gets that number and a new
 * snapshot when its connection takes more again. Confined to the control loop.
 */
final class LiveViewer {
  /** Connection of a viewer. */
  interface EventSink {
    /** Returns whether the connection has enough unsent bytes. */
    boolean isFull();

    void write(Buffer event);

    void close();
  }

  /** Time without progress after which a viewer is closed, in nanoseconds. */
  static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** Time without an event after which a comment is sent, in nanoseconds. */
  static final long KEEP_ALIVE_NANOS = TimeUnit.SECONDS.toNanos(15);

  private static final Buffer KEEP_ALIVE = Buffer.buffer(": keep-alive\n\n");

  /** Skipped deltas of topics whose next event is a snapshot; -1 for a topic without any event. */
  private final Map<LiveTopic, Integer> behind = new LinkedHashMap<>();

  private final Map<LiveTopic, String> failures = new LinkedHashMap<>(); // sent ones
  final Set<LiveTopic> topics;
  final EventSink sink;
  private long wroteNanos;
  private long movedNanos; // last time at which the connection took bytes

  LiveViewer(Set<LiveTopic> topics, EventSink sink, long nowNanos) {
    this.topics = topics;
    this.sink = sink;
    this.wroteNanos = nowNanos;
    this.movedNanos = nowNanos;
    topics.forEach(each -> behind.put(each, -1));
  }

  /** Returns whether the viewer waits for the first event of a topic. */
  boolean isNew(LiveTopic topic) {
    return behind.getOrDefault(topic, 0) < 0 && !sink.isFull();
  }

  /** Returns whether the next event of a topic is a snapshot that the connection takes now. */
  boolean wantsSnapshot(LiveTopic topic) {
    return behind.containsKey(topic) && !sink.isFull();
  }

  /**
   * Sends the result of a sample.
   *
   * @param delta null without changes
   * @param snapshot null if no viewer wanted one when the sample began
   * @return false if the viewer skips the delta
   */
  boolean offer(LiveTopic topic, @Nullable Buffer delta, @Nullable Buffer snapshot, long nowNanos) {
    failures.remove(topic);
    Integer skipped = behind.get(topic);
    if (skipped == null && delta == null) {
      return true;
    }
    if (sink.isFull() || (skipped != null && snapshot == null)) {
      int more = delta == null ? 0 : 1;
      behind.merge(topic, more, (before, one) -> before < 0 ? before : before + one);
      return more == 0;
    }
    if (skipped == null) {
      write(delta, nowNanos);
      return true;
    }
    if (skipped > 0) {
      JsonObject event = new JsonObject().put("topic", topic.name()).put("skipped", skipped);
      write(TopicEntries.event("skipped", event), nowNanos);
    }
    behind.remove(topic);
    write(snapshot, nowNanos);
    return true;
  }

  /** Reports that a topic has no data, once per reason. The next event is a snapshot. */
  void fail(LiveTopic topic, String code, String message, long nowNanos) {
    behind.putIfAbsent(topic, 0);
    if (!sink.isFull() && !message.equals(failures.put(topic, message))) {
      behind.put(topic, 0); // not new any longer
      JsonObject event =
          new JsonObject().put("topic", topic.name()).put("code", code).put("message", message);
      write(TopicEntries.event("unavailable", event), nowNanos);
    }
  }

  void write(@Nullable Buffer event, long nowNanos) {
    wroteNanos = nowNanos;
    sink.write(event == null ? KEEP_ALIVE : event);
  }

  /** Sends a keep-alive if it is due. Returns false for a viewer that reads nothing. */
  boolean check(long nowNanos) {
    if (sink.isFull()) {
      return nowNanos - movedNanos < STALL_NANOS;
    }
    movedNanos = nowNanos;
    if (nowNanos - wroteNanos >= KEEP_ALIVE_NANOS) {
      write(KEEP_ALIVE, nowNanos);
    }
    return true;
  }
}
