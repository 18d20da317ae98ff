package dev.berth.metrics;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counters of copies of a route's requests to one deployment, on one event loop. The loop writes,
 * and any thread reads.
 */
public final class ShadowMeters {

  /** Result of a request to copy. */
  public enum ShadowEvent {
    /** The copy was sent. */
    COPIED,
    /** Fewer than two slots were free, or a request was waiting. */
    SKIPPED_BUSY,
    /** The body streams, or is too large. */
    SKIPPED_BODY,
    /** The copy has no response: refused, failed, timed out, or cancelled with its request. */
    FAILED,
    STATUS_SAME,
    STATUS_OTHER,
    BODY_SAME,
    BODY_OTHER
  }

  private static final ShadowEvent[] EVENTS = ShadowEvent.values();

  private final AtomicLongArray counts = new AtomicLongArray(EVENTS.length);
  private final LatencyBuckets latencies = new LatencyBuckets();
  private final LatencyBuckets usersLatencies = new LatencyBuckets();

  ShadowMeters() {}

  public void count(ShadowEvent event) {
    counts.incrementAndGet(event.ordinal());
  }

  /** Records the latency of a copy's response. Confined to the event loop. */
  public void recordResponse(long nanos) {
    latencies.add(nanos);
  }

  /** Records the latency of a copied request's own response. Confined to the event loop. */
  public void recordUserResponse(long nanos) {
    usersLatencies.add(nanos);
  }

  void addTo(Map<ShadowEvent, Long> sums) {
    for (ShadowEvent event : EVENTS) {
      sums.merge(event, counts.get(event.ordinal()), Long::sum);
    }
  }

  void collect(MetricSeries into) {
    for (ShadowEvent event : EVENTS) {
      into.with("event", event.name().toLowerCase(Locale.ROOT))
          .counter("berth_shadow_requests", counts.get(event.ordinal()));
    }
    into.histogram("berth_shadow_latency_ms", List.of(latencies));
    into.histogram("berth_shadow_user_latency_ms", List.of(usersLatencies));
  }
}
