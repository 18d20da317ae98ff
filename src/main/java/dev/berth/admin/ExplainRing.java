package dev.berth.admin;

import dev.berth.metrics.Meters;
import dev.berth.view.ExplainView;
import dev.berth.view.Explanations;
import dev.berth.view.RequestExplanation;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Ring buffer of the last explanations. Event loops add without a lock. Readers scan the whole
 * ring: reads are rare enough for this, and it needs no index. A record has at most {@value
 * RequestExplanation#MAX_CANDIDATES} candidates and {@value RequestExplanation#MAX_STEPS} steps, so
 * the number of records bounds the bytes too.
 */
public final class ExplainRing implements Explanations, ExplainView {
  /** A record with the number of records before it. */
  private record Kept(long number, RequestExplanation explanation) {}

  private final AtomicReferenceArray<@Nullable Kept> ring;
  private final AtomicLong recorded = new AtomicLong();

  /**
   * @param size maximum of records; 0 stores none
   */
  public ExplainRing(int size) {
    this.ring = new AtomicReferenceArray<>(size);
  }

  @Override
  public void explained(RequestExplanation explanation) {
    long number = recorded.getAndIncrement();
    if (ring.length() > 0) {
      Kept made = new Kept(number, explanation);
      ring.accumulateAndGet((int) (number % ring.length()), made, ExplainRing::later);
    }
  }

  /**
   * Returns the later record. The present one may be later if this thread was overtaken by a whole
   * round.
   */
  private static Kept later(@Nullable Kept there, Kept made) {
    return there != null && there.number > made.number ? there : made;
  }

  @Override
  public List<RequestExplanation> explanations(String requestId) {
    return newest(explanation -> explanation.requestId().equals(requestId), ring.length());
  }

  @Override
  public List<RequestExplanation> latest(int most) {
    return newest(explanation -> true, most);
  }

  private List<RequestExplanation> newest(Predicate<RequestExplanation> wanted, int most) {
    return IntStream.range(0, ring.length())
        .mapToObj(ring::get)
        .filter(kept -> kept != null && wanted.test(kept.explanation))
        .sorted(Comparator.comparingLong(Kept::number).reversed())
        .limit(most)
        .map(Kept::explanation)
        .toList();
  }

  /** Returns the number of records since the start. */
  public long recorded() {
    return recorded.get();
  }

  /** Returns the number of stored records. */
  public int kept() {
    return (int) Math.min(ring.length(), recorded.get());
  }

  /** Returns the number of records that were overwritten or never stored. */
  public long dropped() {
    return Math.max(0, recorded.get() - ring.length());
  }

  /** Registers the metrics. */
  public void show(Meters meters) {
    meters.addCounter("berth_explained_requests", this::recorded);
    meters.addCounter("berth_explanations_dropped", this::dropped);
    meters.addGauge("berth_explanations", this::kept);
    meters.addGauge("berth_explanations_limit", ring::length);
  }
}
