package dev.berth.metrics;

import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

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

  private final Map<Event, LongAdder> counts = new EnumMap<>(Event.class);
  private final LatencyBuckets latencies = new LatencyBuckets();
  private final LatencyBuckets usersLatencies = new LatencyBuckets();

  ShadowMeters() {
    for (Event event : Event.values()) {
      counts.put(event, new LongAdder());
    }
  }

  public void count(Event event) {
    counts.get(event).increment();
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
    counts.forEach((event, count) -> sums.merge(event, count.sum(), Long::sum));
  }

  void collect(Series into) {
    counts.forEach(
        (event, count) ->
            into.with("event", event.name().toLowerCase(Locale.ROOT))
                .counter("berth_shadow_requests", count.sum()));
    into.histogram("berth_shadow_latency_ms", List.of(latencies));
    into.histogram("berth_shadow_user_latency_ms", List.of(usersLatencies));
  }
}
