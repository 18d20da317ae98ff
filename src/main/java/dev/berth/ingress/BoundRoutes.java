package dev.berth.ingress;

import dev.berth.metrics.HttpMeters;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The routes as one loop serves them, each with what was made for it there. Of a thousand routes a
 * change concerns one: the others stay bound. Confined to its loop.
 */
final class BoundRoutes {
  private final BiFunction<String, IngressRoute, BoundRoute> bind;
  private final HttpMeters meters;
  private RouteTable<IngressRoute> boundFrom = RouteTable.empty();
  private RouteTable<BoundRoute> bound = RouteTable.empty();
  private Map<String, Binding> bindings = new HashMap<>(); // by prefix

  /** A route, and what was made of it. */
  private record Binding(IngressRoute from, BoundRoute to) {}

  /**
   * @param bind makes that of a prefix and its route
   * @param meters where those that are gone are forgotten
   */
  BoundRoutes(BiFunction<String, IngressRoute, BoundRoute> bind, HttpMeters meters) {
    this.bind = bind;
    this.meters = meters;
  }

  /** The route of a path among those of now; null when none takes it. */
  @Nullable BoundRoute match(RouteTable<IngressRoute> current, String path) {
    if (current != boundFrom) {
      rebind(current);
    }
    return bound.match(path);
  }

  private void rebind(RouteTable<IngressRoute> current) {
    Map<String, Binding> before = bindings;
    Map<String, Binding> now = new HashMap<>();
    bound =
        current.map(
            (prefix, route) -> {
              Binding known = before.remove(prefix);
              Binding binding =
                  known != null && known.from == route
                      ? known
                      : new Binding(route, bind.apply(prefix, route));
              if (known != null && known != binding) {
                forget(known.to, binding.to.counts());
              }
              now.put(prefix, binding);
              return binding.to;
            });
    before.values().forEach(gone -> forget(gone.to, Set.of()));
    bindings = now;
    boundFrom = current;
  }

  private void forget(BoundRoute gone, Set<Object> butWhat) {
    Set<Object> counts = gone.counts();
    counts.removeAll(butWhat);
    meters.forget(counts);
  }
}
