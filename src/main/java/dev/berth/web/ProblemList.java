package dev.berth.web;

import dev.berth.api.Response;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;

/** The problems of one request. Confined to the request. */
final class ProblemList {
  static final int MAX_PROBLEMS = 100;
  private final List<JsonObject> problems = new ArrayList<>(0);

  /**
   * Adds a problem, up to a limit.
   *
   * @param in path, query, header or body
   * @param field name of the parameter, or path of the field such as items[2].sku
   */
  void add(String in, String field, String message) {
    if (problems.size() < MAX_PROBLEMS) {
      problems.add(new JsonObject().put("in", in).put("field", field).put("message", message));
    }
  }

  boolean isEmpty() {
    return problems.isEmpty();
  }

  boolean has(String field) {
    return problems.stream().anyMatch(problem -> field.equals(problem.getString("field")));
  }

  /** Returns the response with status 400 that lists all problems. */
  Response toResponse() {
    JsonObject body = new JsonObject().put("code", "invalid_request").put("problems", problems);
    return Response.json(400, body.encode());
  }
}
