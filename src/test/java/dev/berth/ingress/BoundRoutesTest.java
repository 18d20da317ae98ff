package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.metrics.Meters;
import dev.berth.metrics.RouteMeters;
import dev.berth.metrics.RouteTemplates;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Routes of a loop whose table changes. */
class BoundRoutesTest {
  private final BoundRoutes routes =
      new BoundRoutes(null, new Meters("n", "127.0.0.1", "", false).addIngressLoop(), 2);

  private ResolvedRoute matchAfterChange(long parkNanos) {
    RouteTable<IngressRoute> table =
        RouteTable.of("", Map.of("/a", IngressRoute.nowhere(parkNanos)));
    return Objects.requireNonNull(routes.match(table, "/a/x"));
  }

  @Test
  void metersOfATemplateOutliveAChangeOfItsRoute() {
    RouteMeters before = matchAfterChange(1).templates().of("/x");
    assertThat(matchAfterChange(2).templates().of("/x")).isNotNull().isSameAs(before);
  }

  @Test
  void changeOfARouteWithTooManyTemplatesBeginsAgain() {
    RouteTemplates full = matchAfterChange(1).templates();
    RouteMeters before = full.of("/x");
    assertThat(full.of("/y")).isNotNull();
    assertThat(full.of("/z")).isNull();
    RouteTemplates empty = matchAfterChange(2).templates();
    assertThat(empty.of("/z")).isNotNull();
    assertThat(empty.of("/x")).isNotNull().isNotSameAs(before);
  }
}
