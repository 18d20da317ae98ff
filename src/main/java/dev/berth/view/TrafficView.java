package dev.berth.view;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How routes are split among their deployments, and what came of it. On the control loop. */
public interface TrafficView {

  /**
   * The routes with several deployments, matches, shadows or a key, in the order of their prefixes:
   * {@code route}, {@code application}, and unless it leads nowhere {@code traffic}, {@code match},
   * {@code shadow}, {@code shard_key}.
   *
   * @param route only this one; null for all
   */
  JsonArray routes(@Nullable String route);

  /**
   * Who would answer a request, and why.
   *
   * @param parts of it, by {@code header NAME} in lower case, {@code cookie NAME}, {@code query
   *     NAME}, {@code path} and {@code method}
   * @return null when there is no such route, or it leads nowhere
   */
  @Nullable JsonObject explain(String route, Map<String, String> parts);
}
