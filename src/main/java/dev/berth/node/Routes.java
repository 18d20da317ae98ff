package dev.berth.node;

import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.Unroute;
import dev.berth.ingress.Ingress;
import dev.berth.ingress.IngressRoute;
import dev.berth.ingress.RouteTable;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** Which application answers where on this instance. Belongs to the control loop. */
final class Routes {
  private final Ingress ingress;
  private final String rootPath;
  private final Function<RouteTo, IngressRoute> made;
  private final Map<String, RouteTo> byApplication = new ConcurrentHashMap<>(); // those with HTTP

  /**
   * @param made what a route leads to, as it is configured now
   */
  Routes(Ingress ingress, String rootPath, Function<RouteTo, IngressRoute> made) {
    this.ingress = ingress;
    this.rootPath = rootPath;
    this.made = made;
  }

  void route(RouteTo command) {
    if (command.prefix() == null) {
      byApplication.remove(command.application());
    } else {
      byApplication.put(command.application(), command);
    }
    update();
  }

  void unroute(Unroute command) {
    if (byApplication.remove(command.application()) != null) {
      update();
    }
  }

  /** Where an application answers; empty when it does not. Any thread. */
  String prefixOf(String application) {
    RouteTo route = byApplication.get(application);
    String prefix = route == null ? null : route.prefix();
    return prefix == null ? "" : prefix;
  }

  private void update() {
    Map<String, IngressRoute> routes = new HashMap<>();
    byApplication
        .values()
        .forEach(
            route -> {
              String prefix = route.prefix();
              if (prefix != null) {
                routes.put(prefix, made.apply(route));
              }
            });
    ingress.update(RouteTable.of(rootPath, routes));
  }
}
