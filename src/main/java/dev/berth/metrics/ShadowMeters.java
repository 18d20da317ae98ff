package dev.berth.metrics;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What one event loop counts of the copies of a route's requests that went to one deployment. The
 * owning loop records, any thread reads.
 */
public final class ShadowMeters {

  /** What may become of a request that was to be copied. */
  public enum Event {
    /** It was sent. */
    COPIED,
    /** No slot was free beside one more, or somebody waited. */
    SKIPPED_BUSY,
    /** Its body streams, or is too large. */
    SKIPPED_BODY,
    /** The copy has no answer: refused, failed, out of time, or given up with its request. */
    FAILED,
    STATUS_SAME,
    STATUS_OTHER,
    BODY_SAME,
    BODY_OTHER
  }

  private static final Event[] EVENTS = Event.values();

  private final AtomicLongArray counts = new AtomicLongArray(EVENTS.length);
  private final LatencyBuckets latencies = new LatencyBuckets();
  private final LatencyBuckets usersLatencies = new LatencyBuckets();

  ShadowMeters() {}

  public void count(Event event) {
    counts.incrementAndGet(event.ordinal());
  }

  /** A copy was answered after so long. By the owning loop only. */
  public void answered(long nanos) {
    latencies.add(nanos);
  }

  /** So was a request that was copied. By the owning loop only. */
  public void userAnswered(long nanos) {
    usersLatencies.add(nanos);
  }

  void addTo(Map<Event, Long> sums) {
    for (Event event : EVENTS) {
      sums.merge(event, counts.get(event.ordinal()), Long::sum);
    }
  }

  void collect(Series into) {
    for (Event event : EVENTS) {
      into.with("event", event.name().toLowerCase(Locale.ROOT))
          .counter("berth_shadow_requests", counts.get(event.ordinal()));
    }
    into.histogram("berth_shadow_latency_ms", List.of(latencies));
    into.histogram("berth_shadow_user_latency_ms", List.of(usersLatencies));
  }
}
