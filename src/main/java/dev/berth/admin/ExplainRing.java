package dev.berth.admin;

import dev.berth.metrics.Meters;
import dev.berth.view.ExplanationConsumer;
import dev.berth.view.RequestExplanation;
import io.vertx.core.json.JsonObject;
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
public final class ExplainRing implements ExplanationConsumer {
  /** A record with the number of records before it. */
  private record NumberedExplanation(long number, RequestExplanation explanation) {}

  private final AtomicReferenceArray<@Nullable NumberedExplanation> ring;
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
      NumberedExplanation made = new NumberedExplanation(number, explanation);
      ring.accumulateAndGet((int) (number % ring.length()), made, ExplainRing::later);
    }
  }

  /**
   * Returns the later record. The present one may be later if this thread was overtaken by a whole
   * round.
   */
  private static NumberedExplanation later(
      @Nullable NumberedExplanation there, NumberedExplanation made) {
    return there != null && there.number > made.number ? there : made;
  }

  /**
   * Returns the retained records of a request and of its nested calls, latest first. A client may
   * send several requests with the same id. Empty if there are none.
   */
  List<RequestExplanation> explanations(String requestId) {
    return newest(explanation -> explanation.requestId().equals(requestId), ring.length());
  }

  /** Returns the latest retained record of a request, without its nested calls; null for none. */
  public @Nullable JsonObject latestOf(String requestId) {
    return explanations(requestId).stream()
        .filter(explanation -> explanation.parent() == null)
        .findFirst()
        .map(ExplainJson::of)
        .orElse(null);
  }

  /**
   * Returns the latest records, newest first.
   *
   * @param most maximum number of records
   */
  List<RequestExplanation> latest(int most) {
    return newest(explanation -> true, most);
  }

  private List<RequestExplanation> newest(Predicate<RequestExplanation> wanted, int most) {
    return IntStream.range(0, ring.length())
        .mapToObj(ring::get)
        .filter(kept -> kept != null && wanted.test(kept.explanation))
        .sorted(Comparator.comparingLong(NumberedExplanation::number).reversed())
        .limit(most)
        .map(NumberedExplanation::explanation)
        .toList();
  }

  /** Registers the metrics. */
  public void show(Meters meters) {
    long most = ring.length();
    meters.addCounter("berth_explained_requests", recorded::get);
    meters.addCounter("berth_explanations_dropped", () -> Math.max(0, recorded.get() - most));
    meters.add(into -> into.gauge("berth_explanations", Math.min(most, recorded.get()), most));
  }
}
