package dev.berth.config;

import dev.berth.api.Deployment;
import dev.berth.config.builtin.OpenAiOptions;
import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * {@code berth.upstreams} of a deployment: remote servers, each with a limit of its own. One entry
 * is one replica.
 */
public final class UpstreamOptions {
  /** Maximum number of upstreams of one deployment. */
  public static final int MAX_UPSTREAMS = 64;

  private static final Type<String> REQUEST_PATH =
      Types.string("a path that starts with /, in ASCII", "^/[!\"$-~]*$");
  private static final Type<String> PATH_PREFIX =
      Types.string(
          "empty, or a path that starts with /, does not end with /, and has no dot segments",
          "^((?!.*/\\.{1,2}(/|$))(/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+)?$");
  private static final Type<String> HEADER =
      Types.string(
          "authorization, proxy-authorization, x-api-key, api-key, cookie or a name that starts with"
              + " x-berth-; other headers pass anyway",
          "^(authorization|proxy-authorization|x-api-key|api-key|cookie|x-berth-[a-z0-9_-]+)$");

  private static final Type<String> HTTP_VERSION =
      Types.parsed(
          "1.1, 2 or auto",
          text -> List.of("1.1", "2", "auto").contains(text) ? text : null,
          Schema.oneOf(List.of("auto", "1.1", "2", 1.1, 2)));

  // --- tls ---

  private static final Keys OF_TLS = new Keys(ChangeReach.REPLICA_LIVE);

  public static final ConfigKey<String> CA_FILE =
      OF_TLS
          .optional("ca_file", Types.TEXT)
          .means(
              "CA certificates in PEM, below berth.secrets_dir. null: the certificates of the JVM.");
  public static final ConfigKey<String> CERT_FILE =
      OF_TLS
          .optional("cert_file", Types.TEXT)
          .means("Client certificate chain in PEM, below berth.secrets_dir; with key_file.");
  public static final ConfigKey<String> KEY_FILE =
      OF_TLS
          .optional("key_file", Types.TEXT)
          .means(
              "Private key of the client certificate in PEM, not encrypted, below"
                  + " berth.secrets_dir.");
  public static final ConfigKey<String> SERVER_NAME =
      OF_TLS
          .optional("server_name", Types.string("a host name", "^[A-Za-z0-9._-]+$"))
          .means("Name that is sent as SNI and that the certificate must have. null: the host.");

  static final Section TLS_SECTION = OF_TLS.section().check(UpstreamOptions::checkTls);

  // --- health ---

  private static final Keys OF_HEALTH = new Keys(ChangeReach.REPLICA_LIVE);

  public static final ConfigKey<String> HEALTH_PATH =
      OF_HEALTH
          .required("path", REQUEST_PATH)
          .means("Path of the probe, after path_prefix; a status from 200 to 399 is healthy.");
  public static final ConfigKey<Duration> INTERVAL_S =
      OF_HEALTH
          .key("interval_s", Types.SECONDS, Duration.ofSeconds(10))
          .means("Time between two probes.");
  public static final ConfigKey<Duration> TIMEOUT_S =
      OF_HEALTH
          .key("timeout_s", Types.SECONDS, Duration.ofSeconds(5))
          .means("Timeout of one probe, after which it has failed.");

  // --- an upstream ---

  private static final Keys KEYS = new Keys(ChangeReach.REPLICA_LIVE);

  public static final ConfigKey<UpstreamOrigin> URL =
      KEYS.required("url", UpstreamOrigin.TYPE)
          .means(
              "Origin of the server. With id it identifies the upstream, which the instance may"
                  + " have only once.");
  public static final ConfigKey<String> ID =
      KEYS.optional(
              "id", Types.string("1 to 64 letters, digits, . _ or -", "^[A-Za-z0-9._-]{1,64}$"))
          .means("Tells two upstreams of one origin apart; each then has a limit of its own.");
  public static final ConfigKey<Integer> MAX_ONGOING_REQUESTS =
      KEYS.required(
              "max_ongoing_requests",
              Types.integer(1, Deployment.MAX_ONGOING_REQUESTS_LIMIT, "requests"))
          .means("Slots of the upstream: maximum of concurrent requests, exact.");
  public static final ConfigKey<String> PREFIX =
      KEYS.key("path_prefix", PATH_PREFIX, "")
          .means(
              "Path in front of the request's path, which follows the route prefix. With berth:openai"
                  + " it replaces /v1.");
  public static final ConfigKey<String> HEADERS_FILE =
      KEYS.optional("headers_file", Types.TEXT)
          .means(
              "File below berth.secrets_dir with lines Name: value, such as credentials. They are"
                  + " set last, and sent over https or on this host only. Others must not be able"
                  + " to read the file.");
  public static final ConfigKey<List<String>> PASS_HEADERS =
      KEYS.key("pass_headers", Types.list(HEADER), List.of())
          .means("Headers of the client that pass although they are dropped by default.");
  public static final ConfigKey<Settings> TLS =
      KEYS.optional("tls", TLS_SECTION).means("TLS towards the upstream; only with https.");
  public static final ConfigKey<String> HTTP =
      KEYS.optional("http", HTTP_VERSION)
          .means(
              "HTTP version towards the upstream: 1.1, 2 (with http by prior knowledge), or auto:"
                  + " 2 if an https server selects it by ALPN, else 1.1. null: auto.");
  public static final ConfigKey<Duration> CONNECT_TIMEOUT_S =
      KEYS.key("connect_timeout_s", Types.SECONDS, Duration.ofSeconds(5))
          .means("Maximum time to connect, including TLS.");
  public static final ConfigKey<Duration> FIRST_BYTE_TIMEOUT_S =
      KEYS.optional("first_byte_timeout_s", Types.SECONDS)
          .means("Maximum time from the whole request to the response's head. null: no limit.");
  public static final ConfigKey<Duration> IDLE_TIMEOUT_S =
      KEYS.key("idle_timeout_s", Types.SECONDS, Duration.ofSeconds(60))
          .means("Maximum time between two chunks of a response.");
  public static final ConfigKey<Integer> READ_AHEAD_BYTES =
      KEYS.key("read_ahead_bytes", Types.integer(0, 64 << 20, "bytes"), 1 << 20)
          .means(
              "Maximum of a response's bytes that are read before the client accepts them, so that"
                  + " a slow client does not occupy the slot.");
  public static final ConfigKey<List<Integer>> NOT_RUN =
      KEYS.key("not_run", Types.list(Types.integer(400, 599, "")), List.of(429))
          .means(
              "Statuses of an upstream that refused the request and did not run it; 421 always"
                  + " is one. The request is then sent to another upstream if there is one.");
  public static final ConfigKey<Boolean> STOPS_ON_CLOSE =
      KEYS.key("stops_on_close", Types.BOOL, true)
          .means(
              "Whether the server stops a request when its connection closes, or its stream of"
                  + " HTTP/2 is reset. false: the response of a cancelled request is read to its end,"
                  + " which frees the slot.");
  public static final ConfigKey<Duration> ORPHAN_S =
      KEYS.optional("orphan_s", Types.SECONDS_OR_ZERO)
          .means(
              "Time after a reset connection until its request counts as ended. null: the request"
                  + " timeout, or 600 without one.");
  public static final ConfigKey<Settings> HEALTH =
      KEYS.optional("health", OF_HEALTH.section())
          .means("Probes that close an unhealthy upstream; they take no slot. null: none.");

  public static final ConfigKey<Integer> OWNERS =
      KEYS.key("owners", Types.integer(1, 1_000, "nodes"), 1)
          .means(
              "Number of nodes that own a part of the upstream. The parts' maxima differ by at most"
                  + " 1, and their sum is max_ongoing_requests, the maximum of owners.");

  public static final ConfigKey<Boolean> LOCAL =
      KEYS.key("local", Types.BOOL, false)
          .means(
              "Whether each node of a cluster has an upstream of its own at this url, such as"
                  + " http://127.0.0.1:8000: one replica per node, with the whole maximum each.");

  public static final ConfigKey<String> RESOLVE =
      KEYS.key("resolve", Types.choice(List.of("name", "addresses")), "name")
          .means(
              "name: one upstream, at any address of its host name. addresses: one upstream at each"
                  + " address, at most 64, with the whole maximum each; looked up every 5 s.");

  public static final ConfigKey<String> MODEL =
      KEYS.optional("model", OpenAiOptions.MODEL_NAME)
          .means(
              "Name of the model in every request to this upstream, in place of upstream_name; only"
                  + " with import_path: berth:openai. null: upstream_name.");

  private static final String PART = " part "; // of a key; no origin or id has a space
  private static final String ON = " on "; // a node
  private static final String AT = " at "; // an address

  static final Section SECTION = KEYS.section().check(UpstreamOptions::check);

  // --- a deployment, under berth ---

  static final ConfigKey<List<Settings>> UPSTREAMS =
      ConfigKey.of("upstreams", Types.list(SECTION), List.of())
          .means(
              "Remote servers that serve the requests, one replica each; only with import_path:"
                  + " berth:proxy, berth:openai or berth:mcp, which require them. From 1 to 64."
                  + " Changed live.");
  static final ConfigKey<List<String>> FALLBACK =
      ConfigKey.of("fallback", Types.list(Types.NAME), List.of())
          .means(
              "Deployments of the same application, in order, for requests that no upstream has"
                  + " run: each is closed or has refused the request.");
  static final ConfigKey<Integer> REPLAY_BYTES =
      ConfigKey.of("replay_bytes", Types.integer(0, 64 << 20, "bytes"), 1 << 20)
          .means("Largest request body that may be sent to another upstream after a refusal.");
  static final ConfigKey<Boolean> IDEMPOTENT =
      ConfigKey.of("idempotent", Types.BOOL, false)
          .means(
              "Whether the requests of the route may run twice: a request that an upstream received"
                  + " and did not answer is then sent to another one, or to a fallback.");
  static final ConfigKey<Duration> FALLBACK_AFTER_MS =
      ConfigKey.optional("fallback_after_ms", Types.millis(0, 86_400_000))
          .means(
              "Wait in the queue after which a request goes to the first fallback that is open. null:"
                  + " it waits while an upstream is open.");

  /** Name in the user_config of the route prefix, which is removed from paths. */
  public static final String ROUTE_PREFIX = "route_prefix";

  /** Name in the user_config of the mark of {@code berth:openai}. */
  public static final String IS_OPENAI = "is_openai";

  /** Name in the user_config of the address of a replica at one address. */
  public static final String ADDRESS = "address";

  /** Name in the user_config of the mark that no other upstream could run a refused request. */
  public static final String IS_ONLY = "is_only";

  private static final Duration USUAL_ORPHAN = Duration.ofSeconds(600);

  private UpstreamOptions() {}

  /** Returns the identity of an upstream: its origin, and {@code #id} if it has one. */
  public static String key(Settings entry) {
    String id = entry.find(ID);
    return entry.get(URL) + (id == null ? "" : "#" + id);
  }

  /** Returns whether the replicas of a deployment are upstreams. */
  public static boolean isGiven(Settings deployment) {
    return !deployment.all(UPSTREAMS).isEmpty();
  }

  /** Returns whether an upstream needs {@code berth.secrets_dir}. */
  public static boolean namesFiles(Settings entry) {
    Settings tls = entry.find(TLS);
    return entry.gives(HEADERS_FILE)
        || tls != null && (tls.gives(CA_FILE) || tls.gives(CERT_FILE) || tls.gives(KEY_FILE));
  }

  /**
   * Returns the upstreams of a deployment by their keys, in their order; empty without any. Each
   * part of an upstream with several owners has its own key and maximum.
   */
  public static Map<String, Settings> byKey(Settings deployment) {
    Map<String, Settings> all = new LinkedHashMap<>();
    deployment.all(UPSTREAMS).forEach(each -> all.putAll(parts(each)));
    return all;
  }

  private static Map<String, Settings> parts(Settings entry) {
    Map<String, Settings> parts = new LinkedHashMap<>();
    int owners = entry.get(OWNERS);
    int maximum = entry.get(MAX_ONGOING_REQUESTS);
    for (int part = 0; part < owners; part++) {
      int own = maximum / owners + (part < maximum % owners ? 1 : 0);
      parts.put(
          key(entry) + (part == 0 ? "" : PART + (part + 1)),
          owners == 1 ? entry : entry.put(MAX_ONGOING_REQUESTS, own));
    }
    return parts;
  }

  /** Returns the key of a local upstream's replica on a node, from the key of its entry. */
  public static String onNode(String key, String node) {
    return key + ON + node;
  }

  /** Returns the key of an upstream's replica at an address, from the key of its entry. */
  public static String atAddress(String key, String address) {
    return key + AT + address;
  }

  /** Returns the address in the key of a replica; null for none. */
  public static @Nullable String address(String key) {
    int place = key.indexOf(AT);
    return place < 0 ? null : key.substring(place + AT.length());
  }

  /** Returns whether the upstreams of an entry are the addresses of its host name. */
  public static boolean isByAddress(Settings entry) {
    return "addresses".equals(entry.find(RESOLVE));
  }

  /** Returns the kind of place in the key of a replica; empty for none. */
  public static String placeKind(String key) {
    return key.contains(ON) ? ON : key.contains(AT) ? AT : "";
  }

  /** Returns the key of an upstream's entry or part in the key of a replica. */
  public static String withoutPlace(String key) {
    int place = Math.max(key.indexOf(ON), key.indexOf(AT));
    return place < 0 ? key : key.substring(0, place);
  }

  /** Returns the entry of a replica's key, with the replica's own maximum; null for none. */
  public static @Nullable Settings find(Settings deployment, String key) {
    return byKey(deployment).get(withoutPlace(key));
  }

  /** Returns the identity of an upstream in the key of one of its parts. */
  public static String withoutPart(String key) {
    int part = key.indexOf(PART);
    return part < 0 ? key : key.substring(0, part);
  }

  /** Returns the sum of the maxima of an upstream's parts; 0 when the deployment has none. */
  public static int limit(Settings deployment, String key) {
    String entry = withoutPart(withoutPlace(key));
    return deployment.all(UPSTREAMS).stream()
        .filter(each -> key(each).equals(entry))
        .mapToInt(each -> each.get(MAX_ONGOING_REQUESTS))
        .sum();
  }

  /**
   * Returns the number of servers of a deployment, each with a store of its own. More than one at
   * the addresses of a name, or on the nodes of a cluster, counts as 2.
   */
  public static int origins(Settings deployment) {
    List<Settings> all = deployment.all(UPSTREAMS);
    boolean several = all.stream().anyMatch(each -> each.get(LOCAL) || isByAddress(each));
    long urls = all.stream().map(each -> each.get(URL)).distinct().count();
    return (int) urls + (several ? 1 : 0);
  }

  /**
   * Returns the paths of the upstreams in an entry of {@code applications}, by their keys.
   *
   * @param application a valid entry, as JSON values
   */
  public static Map<String, String> paths(Map<String, ?> application) {
    Map<String, String> paths = new LinkedHashMap<>();
    forEachEntry(application, (path, entry) -> paths.put(key(SECTION.fromMap(entry)), path));
    return paths;
  }

  /** Returns the maxima of the upstreams in an entry of {@code applications}, by their keys. */
  public static Map<String, Integer> maxima(Map<String, ?> application) {
    Map<String, Integer> maxima = new LinkedHashMap<>();
    forEachEntry(
        application,
        (path, entry) -> {
          Map<Object, Object> known = new LinkedHashMap<>(entry); // others may be of later versions
          known
              .keySet()
              .retainAll(Set.of(URL.name(), ID.name(), MAX_ONGOING_REQUESTS.name(), OWNERS.name()));
          parts(SECTION.fromMap(known))
              .forEach((key, part) -> maxima.put(key, part.get(MAX_ONGOING_REQUESTS)));
        });
    return maxima;
  }

  private static void forEachEntry(Map<String, ?> application, BiConsumer<String, Map<?, ?>> into) {
    List<?> deployments = list(application.get("deployments"));
    for (int at = 0; at < deployments.size(); at++) {
      Object own = ((Map<?, ?>) deployments.get(at)).get("berth");
      List<?> all = own instanceof Map<?, ?> map ? list(map.get(UPSTREAMS.name())) : List.of();
      for (int index = 0; index < all.size(); index++) {
        String path = "deployments[%s].berth.%s[%s]".formatted(at, UPSTREAMS, index);
        into.accept(path, (Map<?, ?>) all.get(index));
      }
    }
  }

  private static List<?> list(@Nullable Object value) {
    return value instanceof List<?> list ? list : List.of();
  }

  /** Returns the expectation of a key that another upstream has already. */
  public static String uniqueExcept(String other) {
    return "unique in the instance; " + other + " has it already: set id to count it apart";
  }

  /**
   * Returns the {@code user_config} of an entry as a map that the caller may change.
   *
   * @param timeout default of {@code orphan_s}; null for none
   */
  static Map<String, @Nullable Object> toUserConfig(Settings entry, @Nullable Duration timeout) {
    Duration orphan = timeout == null ? USUAL_ORPHAN : timeout;
    return new LinkedHashMap<>(
        (entry.gives(ORPHAN_S) ? entry : entry.put(ORPHAN_S, orphan)).toMap());
  }

  /** Reads an entry from the {@code user_config} of its replica. */
  public static Settings fromUserConfig(Map<String, @Nullable Object> userConfig) {
    return SECTION.fromMap(userConfig);
  }

  /**
   * Requires that fallbacks exist, once each, and that none leads back.
   *
   * @param deployments those of an application that have upstreams, by name
   */
  static void checkFallbacks(Map<String, Settings> deployments) {
    Map<String, List<String>> fallbacks = new HashMap<>();
    deployments.forEach(
        (name, own) ->
            fallbacks.put(name, Objects.requireNonNullElse(own.find(FALLBACK), List.of())));
    Set<String> cyclic = new HashSet<>(fallbacks.keySet());
    while (cyclic.removeIf(name -> Collections.disjoint(cyclic, fallbacks.get(name)))) {
      // the rest leads to itself
    }
    deployments.forEach(
        (name, own) -> {
          List<String> given = fallbacks.getOrDefault(name, List.of());
          if (!deployments.keySet().containsAll(given)
              || new HashSet<>(given).size() < given.size()) {
            own.problem(FALLBACK, given.toString(), "deployments of the application, once each");
          }
          if (cyclic.contains(name)) {
            own.problem(FALLBACK, given + ", a cycle", "deployments that do not lead back");
          }
        });
  }

  /**
   * Requires that no upstream of a deployment has an earlier one's key.
   *
   * @param paths of the earlier ones by key, to which those of the deployment are added
   */
  static void requireUnique(Settings deployment, Map<String, String> paths) {
    for (Settings entry : deployment.all(UPSTREAMS)) {
      String key = entry.find(URL) == null ? null : key(entry);
      String first = key == null ? null : paths.putIfAbsent(key, entry.marks().place().path());
      if (first != null) {
        entry.problem(URL, key + " twice", uniqueExcept(first));
      }
    }
  }

  private static void checkTls(Settings tls) {
    if (tls.gives(CERT_FILE) != tls.gives(KEY_FILE)) {
      boolean key = tls.gives(KEY_FILE);
      tls.problem(
          key ? CERT_FILE : KEY_FILE,
          "missing",
          "a path, since " + (key ? KEY_FILE : CERT_FILE) + " is set");
    }
  }

  private static void check(Settings entry) {
    UpstreamOrigin origin = entry.find(URL);
    if (origin == null) {
      return; // invalid, already reported
    }
    Integer maximum = entry.find(MAX_ONGOING_REQUESTS);
    Integer owners = entry.find(OWNERS);
    if (maximum != null && owners != null && owners > maximum) {
      entry.problem(OWNERS, owners.toString(), "at most max_ongoing_requests, " + maximum);
    }
    if (Boolean.TRUE.equals(entry.find(LOCAL)) && owners != null && owners > 1) {
      entry.problem(OWNERS, owners + ", with local", "no owners beside local: true");
    }
    if (isByAddress(entry)) {
      checkByAddress(entry, origin, owners);
    }
    if (entry.gives(TLS) && !origin.isTls()) {
      entry.problem(TLS, "with " + origin, "a url of https, or no tls");
    }
    if (entry.gives(HEADERS_FILE) && sendsInClear(origin)) {
      entry.problem(
          HEADERS_FILE, "with " + origin, "a url of https, or of this host, such as localhost");
    }
  }

  private static void checkByAddress(
      Settings entry, UpstreamOrigin origin, @Nullable Integer owners) {
    if (origin.isUnix() || origin.isAddress()) {
      entry.problem(RESOLVE, "addresses, with " + origin, "name, or a url with a host name");
    }
    if (Boolean.TRUE.equals(entry.find(LOCAL)) || owners != null && owners > 1) {
      entry.problem(RESOLVE, "addresses, with local or owners", "name, or neither of them");
    }
  }

  /** Returns whether the text of the origin proves that others could read the bytes. */
  private static boolean sendsInClear(UpstreamOrigin origin) {
    return !origin.isTls() && !origin.isLoopback() && origin.isAddress();
  }
}
