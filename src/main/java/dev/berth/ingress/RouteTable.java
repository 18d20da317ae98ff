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
 * Which route takes a path: the longest prefix that matches. A prefix matches a path when it ends
 * in {@code /}, or equals it, or the path goes on with {@code /}; so {@code /} takes everything and
 * {@code /a} takes {@code /a} and {@code /a/b} but not {@code /ab}. Immutable, replaced whole.
 *
 * <p>The prefixes are sorted. The last one that is not after the path is the only place to start:
 * every prefix of the path is among those that it begins with, and each knows the next shorter one.
 * So a match costs a binary search, whatever the number of routes, and no allocation.
 *
 * <p>Source: Ray Serve's proxy router {@code match_route}; the rules are its own.
 *
 * @param <T> what a route leads to
 */
public final class RouteTable<T> {
  private static final int NONE = -1;

  private final String rootPath;
  private final Map<String, T> routes; // sorted
  private final String[] prefixes; // of these
  private final int[] shorter; // of each: the longest other prefix that it begins with, or NONE
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

  /** A table without routes. */
  public static <T> RouteTable<T> empty() {
    return of("", Map.of());
  }

  /**
   * @param rootPath where all routes are mounted, without a {@code /} at its end; empty is none
   * @param routes by prefix; each begins with {@code /} and, but for {@code /} itself, does not end
   *     with it
   */
  public static <T> RouteTable<T> of(String rootPath, Map<String, T> routes) {
    return new RouteTable<>(rootPath, new TreeMap<>(routes));
  }

  /**
   * The target of a path; null when no route takes it.
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

  /** The routes by prefix, sorted. */
  public Map<String, T> routes() {
    return routes;
  }

  /** The same routes to other targets: for a loop that resolves what it needs of each once. */
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

  /** A proxy in front may have taken the root path off already, so a path without it is as good. */
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
      return path; // a stray % means itself
    }
  }
}
