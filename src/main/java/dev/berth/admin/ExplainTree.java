package dev.berth.admin;

import dev.berth.view.RequestExplanation;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An explanation, and those of the requests that its handler made in turn. They all bear one id,
 * and say which deployment made them: whose they are is found by the time at which they came.
 */
record ExplainTree(RequestExplanation request, List<ExplainTree> made) {

  /**
   * Those that came by HTTP, or whose maker is not among them, the newest first; what each made is
   * in the order in which it came.
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

  /** The last that came before it, to the deployment that made it, and was not over. */
  private static @Nullable ExplainTree maker(ExplainTree made, List<ExplainTree> byArrival) {
    ExplainTree maker = null;
    for (ExplainTree each : byArrival) {
      if (each == made) {
        return maker;
      }
      if (each.request.deployment().equals(made.request.parent())
          && !made.request.arrivedAt().isAfter(each.over())) {
        maker = each;
      }
    }
    return maker;
  }

  private Instant over() {
    return request.arrivedAt().plusNanos(request.phases().total());
  }
}
