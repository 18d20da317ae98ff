package dev.berth.ingress;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Immutable map from paths to routes by longest prefix. A prefix matches a path if it ends in
 * {@code /}, equals the path, or is followed by {@code /}. So {@code /} matches all paths, and
 * {@code /a} matches {@code /a} and {@code /a/b} but not {@code /ab}.
 *
 * <p>Prefixes are sorted. A search starts at the last prefix that does not sort after the path. All
 * other prefixes of the path are prefixes of this entry, and each entry links to the next shorter
 * one. A match thus costs one binary search, regardless of the number of routes, and no allocation.
 *
 * <p>Source: {@code match_route} of Ray Serve's proxy router, with the same rules.
 *
 * @param <T> the target of a route
 */
public final class RouteTable<T> {
  private static final int NONE = -1;

  private final String rootPath;
  private final Map<String, T> routes; // sorted
  private final String[] prefixes; // of the routes
  private final int[] shorter; // index of the longest other prefix of each, or NONE
  private final List<T> targets;

  private RouteTable(String rootPath, TreeMap<String, T> routes) {
    this.rootPath = rootPath;
    this.routes = Collections.unmodifiableMap(routes);
    this.prefixes = routes.keySet().toArray(String[]::new);
    this.targets = List.copyOf(routes.values());
    this.shorter = new int[prefixes.length];
    for (int i = 0; i < prefixes.length; i++) {
      int candidate = i - 1;
      while (candidate != NONE && !prefixes[i].startsWith(prefixes[candidate])) {
        candidate = shorter[candidate];
      }
      shorter[i] = candidate;
    }
  }

  /** Returns a table without routes. */
  public static <T> RouteTable<T> empty() {
    return of("", Map.of());
  }

  /**
   * Returns a table of routes.
   *
   * @param rootPath mount path of all routes, without a trailing {@code /}; empty for none
   * @param routes by prefix; each begins with {@code /} and, except {@code /} itself, does not end
   *     with it
   */
  public static <T> RouteTable<T> of(String rootPath, Map<String, T> routes) {
    return new RouteTable<>(rootPath, new TreeMap<>(routes));
  }

  /**
   * Returns the target of a path; null if no route matches.
   *
   * @param path as received, without the query; matched percent-decoded
   */
  public @Nullable T match(String path) {
    String wanted = path.indexOf('%') < 0 ? path : decoded(path);
    wanted = unmounted(wanted);
    int found = Arrays.binarySearch(prefixes, wanted);
    int index = found >= 0 ? found : -found - 2;
    while (index >= 0 && !matches(prefixes[index], wanted)) {
      index = shorter[index];
    }
    return index < 0 ? null : targets.get(index);
  }

  /** Returns a path without the root path and the prefix of its route; empty for the prefix. */
  String below(String prefix, String path) {
    String unmounted = unmounted(path);
    return matches(prefix, unmounted) && !prefix.equals("/")
        ? unmounted.substring(prefix.length())
        : unmounted;
  }

  /** Returns the routes by prefix, sorted. */
  public Map<String, T> routes() {
    return routes;
  }

  /** Returns the same routes with other targets, for a loop that resolves each target once. */
  public <U> RouteTable<U> map(BiFunction<String, T, U> mapper) {
    TreeMap<String, U> mapped = new TreeMap<>();
    routes.forEach((prefix, target) -> mapped.put(prefix, mapper.apply(prefix, target)));
    return new RouteTable<>(rootPath, mapped);
  }

  private static boolean matches(String prefix, String path) {
    int length = prefix.length();
    return path.startsWith(prefix)
        && (path.length() == length
            || prefix.charAt(length - 1) == '/'
            || path.charAt(length) == '/');
  }

  /**
   * Removes the root path. A path without it matches too, since a proxy in front may have removed
   * it.
   */
  private String unmounted(String path) {
    if (rootPath.isEmpty() || !matches(rootPath, path)) {
      return path;
    }
    return path.length() == rootPath.length() ? "/" : path.substring(rootPath.length());
  }

  private static String decoded(String path) {
    try {
      return URLDecoder.decode(path.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException malformed) {
      return path; // a malformed % stands for itself
    }
  }
}
