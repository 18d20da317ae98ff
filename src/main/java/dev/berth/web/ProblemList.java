package dev.berth.web;

import dev.berth.api.Response;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;

/** The problems of one request, with a limit. Confined to the request. */
final class ProblemList {
  static final int MAX_PROBLEMS = 100;
  private static final int MAX_CHARS = 300;

  private final JsonArray problems = new JsonArray();

  /**
   * Adds a problem.
   *
   * @param in path, query, header or body
   * @param path names and indexes; empty for the whole body
   */
  void add(String in, List<?> path, String message) {
    if (!isFull()) {
      StringBuilder field = new StringBuilder();
      for (Object step : path) {
        String name = step instanceof Integer index ? "[" + index + "]" : "." + step;
        field.append(field.isEmpty() && name.startsWith(".") ? name.substring(1) : name);
      }
      add(in, field.isEmpty() ? in : field.toString(), message);
    }
  }

  /** Adds a problem of a field by its text. */
  void add(String in, String field, String message) {
    if (!isFull()) {
      problems.add(
          new JsonObject()
              .put("in", in)
              .put("field", shorten(field))
              .put("message", shorten(message)));
    }
  }

  private static String shorten(String text) {
    return text.length() <= MAX_CHARS ? text : text.substring(0, MAX_CHARS) + "…";
  }

  /** Returns whether further problems are dropped. */
  boolean isFull() {
    return problems.size() >= MAX_PROBLEMS;
  }

  boolean isEmpty() {
    return problems.isEmpty();
  }

  boolean has(String field) {
    return problems.stream().anyMatch(each -> field.equals(((JsonObject) each).getString("field")));
  }

  /** Returns the response with status 400 that lists all problems. */
  Response toResponse() {
    JsonObject body = new JsonObject().put("code", "invalid_request").put("problems", problems);
    return Response.json(400, body.encode());
  }
}
