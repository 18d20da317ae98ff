package dev.berth.admin;

import dev.berth.view.CommandRejectedException;
import dev.berth.view.ControllerCommands;
import dev.berth.view.TrafficView;
import io.vertx.core.Future;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Routes of the traffic splits.
 *
 * <pre>
 *   GET /api/v1/traffic[?route=/p]                                 200, {"routes"}
 *   GET /api/v1/traffic/explain?route=/p[&amp;method=M][&amp;path=P]
 *       [&amp;header=N: V]…[&amp;cookie=N=V]…[&amp;query=N=V]…     200, {"application", "deployment", "why"}
 *   PUT /api/v1/traffic?route=/p   {"weights": {"a": 90, "b": 10}}  200, {"revision"}
 * </pre>
 */
record TrafficRoutes(TrafficView view, ControllerCommands commands, RequestBodyReader bodies)
    implements AdminRoutes {
  private static final String PATH = "/api/v1/traffic";
  private static final String ROUTE = "route";
  private static final String WEIGHTS = "weights";
  private static final String EXPECTED = " (expected: {\"weights\": {\"DEPLOYMENT\": number, …}})";
  private static final int MAX_BYTES = 16 << 10;

  @Override
  public void mount(Router router) {
    router.get(PATH).handler(this::routes);
    router.get(PATH + "/explain").handler(this::explain);
    router.put(PATH).handler(this::split);
  }

  private void routes(RoutingContext context) {
    List<String> asked = QueryParameters.of(context, true, ROUTE).all(ROUTE);
    JsonArray all = view.routes(asked.isEmpty() ? null : asked.get(0));
    if (!asked.isEmpty() && all.isEmpty()) {
      throw unknown(asked.get(0));
    }
    AdminResponses.json(context, 200, new JsonObject().put("routes", all));
  }

  private static CommandRejectedException unknown(@Nullable Object route) {
    return CommandRejectedException.notFound("route: %s (expected: a known route)", route);
  }

  private void explain(RoutingContext context) {
    QueryParameters given =
        QueryParameters.of(context, true, ROUTE, "method", "path", "header", "cookie", "query");
    String route = one(given, ROUTE);
    Map<String, String> parts = new HashMap<>();
    for (String part : List.of("method", "path", "header", "cookie", "query")) {
      given.all(part).forEach(value -> put(parts, part, value.strip()));
    }
    JsonObject why = view.explain(route, parts);
    if (why == null) {
      throw CommandRejectedException.notFound(
          "route: %s (expected: a route with several deployments)", route);
    }
    AdminResponses.json(context, 200, why);
  }

  private static void put(Map<String, String> into, String part, String value) {
    boolean header = part.equals("header");
    if (part.equals("method") || part.equals("path")) {
      into.put(part, value);
      return;
    }
    String[] pair = value.split(header ? ":" : "=", 2);
    if (pair.length < 2 || pair[0].isEmpty()) {
      String expected = header ? "NAME: VALUE" : "NAME=VALUE";
      throw CommandRejectedException.invalid("%s: %s (expected: %s)", part, value, expected);
    }
    String name = header ? pair[0].toLowerCase(Locale.ROOT) : pair[0];
    into.put(part + " " + name, pair[1].strip());
  }

  private static String one(QueryParameters given, String name) {
    List<String> all = given.all(name);
    if (all.size() != 1) {
      throw CommandRejectedException.invalid("%s: %s (expected: one)", name, all);
    }
    return all.get(0);
  }

  private void split(RoutingContext context) {
    String route = one(QueryParameters.of(context, true, ROUTE), ROUTE);
    ControllerCommands once = AdminResponses.once(commands, context);
    bodies
        .use(context, (bytes, text) -> split(once, route, weights(bytes.length(), text)))
        .onComplete(
            revision -> {
              AdminResponses.accepted(context, "traffic", ROUTE, route);
              AdminResponses.json(context, 200, new JsonObject().put("revision", revision));
            },
            context::fail);
  }

  private Future<Long> split(ControllerCommands once, String route, Map<String, Double> weights) {
    JsonArray known = view.routes(route);
    if (known.isEmpty()) {
      throw unknown(route);
    }
    String application = known.getJsonObject(0).getString("application");
    return application.isEmpty()
        ? once.splitEndpoint(route, weights)
        : once.split(application, weights);
  }

  private static Map<String, Double> weights(int bytes, String text) {
    if (bytes > MAX_BYTES) {
      throw invalid(bytes + " bytes");
    }
    try {
      Map<String, Double> weights = new LinkedHashMap<>();
      JsonObject given = new JsonObject(text).getJsonObject(WEIGHTS);
      given.fieldNames().forEach(name -> weights.put(name, given.getDouble(name)));
      if (weights.isEmpty() || weights.containsValue(null)) {
        throw invalid(given.encode());
      }
      return weights;
    } catch (DecodeException | ClassCastException | NullPointerException none) {
      throw invalid("malformed");
    }
  }

  private static CommandRejectedException invalid(String what) {
    return CommandRejectedException.invalid("%s: %s%s", WEIGHTS, what, EXPECTED);
  }
}
