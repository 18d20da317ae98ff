package dev.berth.view;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Traffic splits of the routes, with their results. Confined to the control loop. */
public interface TrafficView {

  /**
   * Returns the routes that have several deployments, matches, shadows or a key, ordered by prefix.
   * The fields are {@code route}, {@code application}, and, if the route has a target, {@code
   * traffic}, {@code match}, {@code shadow}, {@code shard_key}.
   *
   * @param route the only route to return; null for all
   */
  JsonArray routes(@Nullable String route);

  /**
   * Returns the deployment that would serve a request, and the reason.
   *
   * @param parts of the request, by {@code header NAME} in lower case, {@code cookie NAME}, {@code
   *     query NAME}, {@code path} and {@code method}
   * @return null if the route does not exist or has no target
   */
  @Nullable JsonObject explain(String route, Map<String, String> parts);
}
