package dev.berth.config.edge;

import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Keys of {@code berth} of an application, and of each of {@code berth.endpoints}, for browsers and
 * proxies. The ingress applies them, so that no replica restarts.
 */
public final class EdgeOptions {
  /** Wildcard of origins, methods and headers. */
  public static final String ANY = "*";

  private static final String TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
  private static final String TYPE = "[a-z0-9!#$&^_.+-]+";
  private static final int MAX_HEADERS = 32;

  /** Headers of framing, of a connection, or that the ingress itself sets. */
  private static final Set<String> OWN_HEADERS =
      Set.of(
          "connection",
          "content-encoding",
          "content-length",
          "keep-alive",
          "proxy-connection",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade",
          "x-request-id");

  private static final Type<String> TOKENS =
      Types.string("a token, or *", "^" + TOKEN + "$"); // * is a token

  /** Type of {@code response_headers}. */
  public static final Type<Map<String, @Nullable Object>> HEADERS_TYPE =
      new Type.RestrictedType<>(
          Types.TEXT_MAP,
          map -> map.size() <= MAX_HEADERS && map.entrySet().stream().allMatch(EdgeOptions::isFine),
          "at most "
              + MAX_HEADERS
              + " names of headers with values of visible ASCII, none of framing, of a connection"
              + " or x-request-id",
          "with another name or value",
          Types.TEXT_MAP.schema());

  private static boolean isFine(Map.Entry<String, @Nullable Object> header) {
    return header.getKey().matches(TOKEN)
        && !OWN_HEADERS.contains(header.getKey().toLowerCase(Locale.ROOT))
        && header.getValue() instanceof String value
        && value.matches("[!-~]([ -~]*[!-~])?");
  }

  // --- compression ---

  private static final Keys COMPRESS = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<List<String>> TYPES =
      COMPRESS
          .key(
              "types",
              Types.list(
                  Types.string(
                      "a media type in lower case, as application/json or text/*",
                      "^" + TYPE + "/(\\*|" + TYPE + ")$")),
              List.of(
                  "text/*",
                  "application/javascript",
                  "application/json",
                  "application/problem+json",
                  "application/xml",
                  "image/svg+xml"))
          .means(
              "Media types of compressed responses. text/event-stream is compressed only if it is"
                  + " listed itself.");
  public static final ConfigKey<Integer> MIN_BYTES =
      COMPRESS
          .key("min_bytes", Types.integer(0, 1 << 30, "bytes"), 1024)
          .means("Smallest compressed response; one of unknown length is compressed.");
  public static final ConfigKey<Integer> LEVEL =
      COMPRESS
          .key("level", Types.integer(1, 6, ""), 4)
          .means(
              "Level of gzip and deflate. Higher ones are slower, and those above 6 too slow for"
                  + " an event loop.");

  // --- CORS ---

  private static final Keys SHARE = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<List<String>> ORIGINS =
      SHARE
          .required(
              "origins",
              Types.list(
                  Types.string(
                      "an origin such as https://app.example, or *",
                      "^(\\*|null|[a-z][a-z0-9+.-]*://[!-.0-~]+)$")))
          .means("Exact values of Origin of pages that may read responses; *: all pages.");
  public static final ConfigKey<List<String>> METHODS =
      SHARE
          .key("methods", Types.list(TOKENS), List.of("GET", "HEAD", "POST"))
          .means("Methods that pages may use.");
  public static final ConfigKey<List<String>> HEADERS =
      SHARE
          .key("headers", Types.list(TOKENS), List.of("content-type"))
          .means("Request headers that pages may set.");
  public static final ConfigKey<List<String>> EXPOSED_HEADERS =
      SHARE
          .key("exposed_headers", Types.list(TOKENS), List.of("x-request-id"))
          .means("Response headers that pages may read, besides those that CORS permits.");
  public static final ConfigKey<Boolean> CREDENTIALS =
      SHARE
          .key("credentials", Types.BOOL, false)
          .means("Whether browsers send cookies and authorization. Not with any *.");
  public static final ConfigKey<Duration> MAX_AGE_S =
      SHARE
          .key("max_age_s", Types.wholeSeconds(0, 86_400), Duration.ofSeconds(600))
          .means("Time that a browser may store the answer to a preflight.");

  // --- a route ---

  private static final Keys KEYS = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<Settings> COMPRESSION =
      KEYS.optional("compression", COMPRESS.section())
          .means("Compression of responses with gzip or deflate; null: none.");
  public static final ConfigKey<Settings> CORS =
      KEYS.optional("cors", SHARE.section().check(EdgeOptions::checkCors))
          .means(
              "Pages of other origins that may use the application. The ingress answers preflights"
                  + " without a slot. null: the application answers them.");
  public static final ConfigKey<Map<String, @Nullable Object>> RESPONSE_HEADERS =
      KEYS.key("response_headers", HEADERS_TYPE, Map.of())
          .means(
              "Headers added to responses of the application and of Berth for it, unless the"
                  + " response has them.");
  public static final ConfigKey<Boolean> DECODE_REQUESTS =
      KEYS.key("decode_requests", Types.BOOL, false)
          .means(
              "Whether the ingress decodes bodies with Content-Encoding gzip or deflate; another"
                  + " coding gets 415. Otherwise bodies pass as they came.");

  /** Keys of a route. */
  public static final Section SECTION = KEYS.section();

  private static final List<ConfigKey<?>> ALL =
      List.of(COMPRESSION, CORS, RESPONSE_HEADERS, DECODE_REQUESTS);

  private EdgeOptions() {}

  /** Returns whether the settings of a route have any of the keys. */
  public static boolean isGiven(Settings route) {
    return ALL.stream().anyMatch(route::gives);
  }

  private static void checkCors(Settings cors) {
    if (Boolean.TRUE.equals(cors.find(CREDENTIALS))) {
      Stream.of(ORIGINS, METHODS, HEADERS, EXPOSED_HEADERS)
          .filter(
              key -> Objects.requireNonNullElse(cors.find(key), List.<String>of()).contains(ANY))
          .forEach(key -> cors.problem(key, "* with credentials", "each one by name"));
    }
  }
}
