package dev.berth.upstream;

import static java.time.format.DateTimeFormatter.RFC_1123_DATE_TIME;

import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.protocol.port.ModelHeader;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The rules for the target and the headers that pass between a client and an upstream. */
final class RelayHeaders {
  /** Hop-by-hop headers (RFC 9110, 7.6.1), and those that the sender of a message sets itself. */
  private static final Set<String> OF_ONE_HOP =
      Set.of(
          "connection",
          "proxy-connection",
          "keep-alive",
          "te",
          "trailer",
          "trailers",
          "transfer-encoding",
          "upgrade",
          "expect",
          "host",
          "http2-settings");

  /** Headers of the client that an upstream of the operator must not see by default. */
  private static final Set<String> OF_CLIENT =
      Set.of(
          "authorization",
          "proxy-authorization",
          "proxy-authenticate",
          "x-api-key",
          "api-key",
          "cookie");

  private static final Set<String> NEVER_TRAILERS =
      Set.of("set-cookie", "www-authenticate", "authentication-info", "retry-after", "location");

  private RelayHeaders() {}

  /**
   * Returns the headers of the request to the upstream: those of the client that pass, then those
   * of Berth, then those of the operator, which replace others of the same name.
   *
   * @param requestId value of {@code x-request-id}
   * @param via entry of this instance in {@code via}
   */
  static Headers toUpstream(
      Request request, String requestId, UpstreamSettings settings, String via) {
    Headers from = request.headers();
    Set<String> connection = namesOfConnection(from);
    List<String> pairs = new ArrayList<>(2 * from.size() + 8);
    from.forEach(
        (name, value) -> {
          String lower = name.toLowerCase(Locale.ROOT);
          if (passesHop(lower, connection)
              && !(settings.isOpenAi() && isOfOpenAi(lower))
              && !lower.equals("content-length")
              && !lower.equals("x-request-id")
              && (!isOfClient(lower) || settings.passHeaders().contains(lower))
              && settings.secret().get(lower) == null
              && settings.secret().get(alias(lower)) == null) {
            add(pairs, lower, value);
          }
        });
    if (settings.secret().get("x-request-id") == null) {
      add(pairs, "x-request-id", requestId);
    }
    add(pairs, "via", via);
    settings.secret().forEach((name, value) -> add(pairs, name, value));
    return Headers.of(pairs.toArray(String[]::new));
  }

  /**
   * Returns the trailers that pass to the client: no field that frames, routes or authenticates
   * (RFC 9110, 6.5.1).
   */
  static Headers trailersToClient(Headers from) {
    List<String> pairs = new ArrayList<>(2 * from.size());
    from.forEach(
        (name, value) -> {
          String lower = name.toLowerCase(Locale.ROOT);
          if (passesHop(lower, Set.of())
              && !isOfClient(lower)
              && !NEVER_TRAILERS.contains(lower)
              && !lower.startsWith("content-")) {
            add(pairs, lower, value);
          }
        });
    return Headers.of(pairs.toArray(String[]::new));
  }

  /** Returns the headers of the upstream's response that pass to the client. */
  static Headers toClient(Headers from) {
    Set<String> connection = namesOfConnection(from);
    List<String> pairs = new ArrayList<>(2 * from.size());
    from.forEach(
        (name, value) -> {
          String lower = name.toLowerCase(Locale.ROOT);
          if (passesHop(lower, connection) && !lower.startsWith("x-berth-")) {
            add(pairs, name, value);
          }
        });
    return pairs.size() == 2 * from.size() ? from : Headers.of(pairs.toArray(String[]::new));
  }

  private static void add(List<String> pairs, String name, String value) {
    pairs.add(name);
    pairs.add(value);
  }

  /** Returns the names that {@code connection} lists, in lower case: headers of one hop. */
  private static Set<String> namesOfConnection(Headers from) {
    return from.get("connection") == null
        ? Set.of()
        : Stream.of(String.join(",", from.all("connection")).toLowerCase(Locale.ROOT).split(","))
            .map(String::strip)
            .collect(Collectors.toSet());
  }

  private static boolean passesHop(String name, Set<String> connection) {
    return !OF_ONE_HOP.contains(name) && !connection.contains(name);
  }

  /** Returns a name as CGI servers read it, which take {@code _} and {@code -} for the same. */
  private static String alias(String name) {
    return name.replace('_', '-');
  }

  private static boolean isOfClient(String name) {
    String plain = alias(name);
    return OF_CLIENT.contains(plain) || plain.startsWith("x-berth-");
  }

  /** Returns whether a header states the client's account, or the model in its own words. */
  private static boolean isOfOpenAi(String name) {
    return alias(name).startsWith("openai-") || name.equals(ModelHeader.HEADER);
  }

  /** Returns the milliseconds of {@code retry-after}; negative when it has none. */
  static long retryAfterMillis(Headers headers, Supplier<Instant> now) {
    String value = headers.get("retry-after");
    if (value == null) {
      return -1;
    }
    try {
      return value.matches("[0-9]{1,9}")
          ? Long.parseLong(value) * 1_000
          : Math.max( // a past date states no time
              -1,
              Duration.between(now.get(), RFC_1123_DATE_TIME.parse(value, Instant::from))
                  .toMillis());
    } catch (DateTimeException meaningless) {
      return -1;
    }
  }

  /**
   * Returns the target of the request to the upstream.
   *
   * @param rootPath mount path of all routes
   */
  static String target(Request request, UpstreamSettings settings, String rootPath) {
    String path = without(settings.stripPrefix(), without(rootPath, request.path()));
    String prefix = settings.pathPrefix();
    String target =
        prefix + (settings.isOpenAi() && !prefix.isEmpty() ? without("/v1", path) : path);
    int slashes = 0;
    while (target.startsWith("/", slashes)) {
      slashes++;
    }
    target = target.isEmpty() ? "/" : target.substring(Math.max(0, slashes - 1)); // no authority
    return request.query() == null ? target : target + "?" + request.query();
  }

  private static String without(String prefix, String path) {
    boolean matches =
        path.startsWith(prefix)
            && (path.length() == prefix.length() || path.charAt(prefix.length()) == '/');
    return matches ? path.substring(prefix.length()) : path;
  }

  /**
   * Returns whether a path has a dot segment, encoded or not. Such a path could leave the path
   * prefix at the upstream.
   */
  static boolean hasDotSegment(String path) {
    if (path.indexOf('.') < 0 && path.indexOf('%') < 0) {
      return false;
    }
    String plain =
        path.replaceAll("(?i)%2e", ".").replaceAll("(?i)%2f|%5c", "/").replace('\\', '/');
    for (String segment : plain.split("/")) {
      int end = segment.indexOf(';');
      String name = end < 0 ? segment : segment.substring(0, end);
      if (name.equals(".") || name.equals("..")) {
        return true;
      }
    }
    return false;
  }
}
