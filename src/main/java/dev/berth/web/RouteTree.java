package dev.berth.web;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Path templates as a tree of segments. A literal segment precedes a parameter. A lookup visits
 * each node at most once, so its cost is bounded by the path and the number of routes.
 */
final class RouteTree {
  private static final String NAME = "[A-Za-z_][A-Za-z0-9_]*";
  private static final char REPLACEMENT = '\uFFFD'; // where bytes are not UTF-8

  /** A position in the tree; with routes by method if a template ends here. */
  static final class Node {
    final Map<String, Node> literals = new HashMap<>();
    final Map<String, TypedRoute> routes = new TreeMap<>();
    @Nullable Node parameter;
  }

  /** A node with the decoded segments at its parameters. */
  record RouteMatch(Node node, List<String> values) {}

  private final Node root = new Node();

  /**
   * Adds a route.
   *
   * @throws IllegalArgumentException when another route has the same method and path, or the same
   *     path with other names of parameters
   */
  void add(TypedRoute route) {
    Node node = root;
    for (String segment : segmentsOf(route.template)) {
      if (isParameter(segment)) {
        node.parameter = node.parameter == null ? new Node() : node.parameter;
        node = node.parameter;
      } else {
        node = node.literals.computeIfAbsent(segment, absent -> new Node());
      }
    }
    for (TypedRoute other : node.routes.values()) {
      if (other.method.equals(route.method) || !other.template.equals(route.template)) {
        throw new IllegalArgumentException(
            "routes: %s conflicts with %s (expected: one route per method and path, with the same names)"
                .formatted(route, other));
      }
    }
    node.routes.put(route.method, route);
  }

  /** Returns the node of a path; null when no template matches. */
  @Nullable RouteMatch find(String path) {
    List<String> segments = new ArrayList<>();
    for (String raw : segmentsOf(path)) {
      String segment = decode(raw);
      if (segment == null || segment.equals(".") || segment.equals("..")) {
        return null;
      }
      segments.add(segment);
    }
    List<String> values = new ArrayList<>(4);
    Node found = find(root, segments, 0, values);
    return found == null ? null : new RouteMatch(found, values);
  }

  private static @Nullable Node find(Node at, List<String> path, int from, List<String> values) {
    if (from == path.size()) {
      return at.routes.isEmpty() ? null : at;
    }
    String segment = path.get(from);
    Node literal = at.literals.get(segment);
    Node found = literal == null ? null : find(literal, path, from + 1, values);
    if (found != null || at.parameter == null || segment.isEmpty()) {
      return found;
    }
    values.add(segment);
    found = find(at.parameter, path, from + 1, values);
    if (found == null) {
      values.remove(values.size() - 1);
    }
    return found;
  }

  /** Returns the names of the parameters of a template, in order. */
  static List<String> namesOf(String template) {
    return segmentsOf(template).stream()
        .filter(RouteTree::isParameter)
        .map(each -> each.substring(1, each.length() - 1))
        .toList();
  }

  /**
   * Checks a template.
   *
   * @throws IllegalArgumentException when it is not a path whose parameters are whole segments
   */
  static void check(String template) {
    boolean valid = template.startsWith("/");
    for (String segment : segmentsOf(template)) {
      boolean literal = segment.matches("[^{}/?#%]+") && !segment.matches("\\.\\.?");
      valid &= isParameter(segment) || literal;
    }
    if (!valid || new HashSet<>(namesOf(template)).size() < namesOf(template).size()) {
      throw new IllegalArgumentException(
          "route: " + template + " (expected: such as /items/{id}, each name once)");
    }
  }

  private static boolean isParameter(String segment) {
    return segment.matches("\\{" + NAME + "}");
  }

  private static List<String> segmentsOf(String path) {
    String inner = path.startsWith("/") ? path.substring(1) : path;
    return inner.isEmpty() ? List.of() : List.of(inner.split("/", -1));
  }

  /** Decodes one segment; null when it is not percent-encoded UTF-8. */
  static @Nullable String decode(String raw) {
    if (raw.indexOf('%') < 0) {
      return raw;
    }
    try {
      String text = URLDecoder.decode(raw.replace("+", "%2B"), StandardCharsets.UTF_8);
      return text.indexOf(REPLACEMENT) < 0 ? text : null;
    } catch (IllegalArgumentException malformed) {
      return null;
    }
  }
}
