package dev.berth.admin;

import io.vertx.core.http.HttpMethod;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Route;
import io.vertx.ext.web.Router;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Serves {@code GET /}: the paths of the admin port and their methods, {@code {"paths":
 * {"/metrics": ["GET"], …}}}, for clients without the documentation. HEAD is allowed wherever GET
 * is.
 */
final class AdminIndex {
  /** Metadata key of a route for every method: its operations, each as {@code POST /path}. */
  static final String ANSWERS = "berth.answers";

  private AdminIndex() {}

  /** Mounts the index. Call after all other routes are mounted, since it lists them. */
  static void mount(Router router) {
    Map<String, Set<String>> paths = new TreeMap<>();
    for (Route route : router.getRoutes()) {
      Set<HttpMethod> methods = route.methods();
      String path = route.getPath();
      if (methods != null && path != null) {
        methods.forEach(method -> add(paths, method.name(), path.replaceAll(":(\\w+)", "{$1}")));
        if (methods.contains(HttpMethod.GET)) {
          route.method(HttpMethod.HEAD);
        }
      }
      List<String> answers = route.getMetadata(ANSWERS);
      if (answers != null) {
        answers.forEach(each -> add(paths, each.split(" ")[0], each.split(" ")[1]));
      }
    }
    JsonObject listed = new JsonObject();
    paths.forEach((path, methods) -> listed.put(path, new JsonArray(List.copyOf(methods))));
    JsonObject index = new JsonObject().put("paths", listed);
    router
        .get("/")
        .method(HttpMethod.HEAD)
        .handler(context -> AdminResponses.json(context, 200, index));
  }

  private static void add(Map<String, Set<String>> paths, String method, String path) {
    paths.computeIfAbsent(path, none -> new TreeSet<>()).add(method);
  }
}
