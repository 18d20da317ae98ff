package dev.berth.web;

import io.vertx.ext.web.Route;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.impl.RouteImpl;
import io.vertx.ext.web.impl.RouterImpl;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The routes of a Router in their order, with the template of each: its path, below the paths of
 * the sub-routers around it. Read once, and again after a change of the Router.
 *
 * @param all in the order of matching
 * @param templates by route of the outer Router, then by name of the innermost route
 */
record RouterRoutes(Set<RouteImpl> all, Map<Route, Map<String, String>> templates) {
  static RouterRoutes of(RouterImpl router) {
    Set<RouteImpl> all = new LinkedHashSet<>();
    Map<Route, Map<String, String>> templates = new IdentityHashMap<>();
    for (Route route : router.getRoutes()) {
      all.add((RouteImpl) route);
      Map<String, String> below = new HashMap<>();
      addTo(below, "", route);
      templates.put(route, below);
    }
    return new RouterRoutes(all, templates);
  }

  private static void addTo(Map<String, String> known, String mount, Route route) {
    String path = route.getPath();
    if (path == null) {
      path = route.isRegexPath() ? "/{" + route.getName() + "}" : "/"; // a route of every path
    }
    Router inner = route.getSubRouter();
    String open = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    String name = route.getName();
    String template = mount + (route.isExactPath() && route.getPath() != null ? path : open + "/*");
    if (name != null) { // of two inner routes with one path, the name of neither is certain
      known.merge(name, template, (one, two) -> one.equals(two) ? one : mount + "/*");
    }
    if (inner != null) {
      inner.getRoutes().forEach(each -> addTo(known, mount + open, each));
    }
  }

  /**
   * Returns the template of the route that serves a request.
   *
   * @param outer matched route of the outer Router
   * @param name of the last matched route
   */
  @Nullable String template(@Nullable Route outer, @Nullable String name) {
    Map<String, String> below = outer == null ? null : templates.get(outer);
    return below == null || name == null ? null : below.get(name);
  }
}
