package dev.berth.admin;

import dev.berth.view.TrafficView;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An application's route {@code /shop} with several deployments, and an endpoint {@code /all}. */
final class FakeTraffic implements TrafficView {
  private static final JsonArray ROUTES =
      new JsonArray()
          .add(new JsonObject().put("route", "/all").put("application", ""))
          .add(new JsonObject().put("route", "/shop").put("application", "shop"));

  @Override
  public JsonArray routes(@Nullable String route) {
    JsonArray some = new JsonArray();
    ROUTES.stream()
        .map(JsonObject.class::cast)
        .filter(each -> route == null || route.equals(each.getString("route")))
        .forEach(some::add);
    return some;
  }

  @Override
  public @Nullable JsonObject explain(String route, Map<String, String> parts) {
    return route.equals("/shop") ? new JsonObject().put("why", parts.toString()) : null;
  }
}
