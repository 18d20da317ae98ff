package dev.berth.admin;

import dev.berth.view.RequestExplanation;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An explanation with those of the calls made by its handler. All records of a tree share one id
 * and name the calling deployment; the caller is found by the arrival time.
 */
record ExplainTree(RequestExplanation request, List<ExplainTree> made) {

  /**
   * Returns the requests that arrived by HTTP, or whose caller has no record, the newest first. The
   * calls of each request are in order of arrival.
   */
  static List<ExplainTree> of(List<RequestExplanation> sameId) {
    List<ExplainTree> byArrival =
        sameId.stream()
            .sorted(Comparator.comparing(RequestExplanation::arrivedAt))
            .map(request -> new ExplainTree(request, new ArrayList<>()))
            .toList();
    List<ExplainTree> roots = new ArrayList<>();
    for (ExplainTree each : byArrival) {
      ExplainTree maker = maker(each, byArrival);
      if (maker == null) {
        roots.add(0, each);
      } else {
        maker.made.add(each);
      }
    }
    return roots;
  }

  /**
   * Returns the last earlier request to the calling deployment that had not ended; null for none.
   */
  private static @Nullable ExplainTree maker(ExplainTree made, List<ExplainTree> byArrival) {
    return byArrival.stream()
        .takeWhile(each -> each != made)
        .filter(each -> each.request.deployment().equals(made.request.parent()))
        .filter(each -> !made.request.arrivedAt().isAfter(each.over()))
        .reduce((before, last) -> last)
        .orElse(null);
  }

  private Instant over() {
    return request.arrivedAt().plusNanos(request.phases().total());
  }
}
