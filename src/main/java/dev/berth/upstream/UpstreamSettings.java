package dev.berth.upstream;

import dev.berth.api.Deployment;
import dev.berth.api.Headers;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.UpstreamOrigin;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Settings;
import dev.berth.net.tls.SecretFiles;
import dev.berth.upstream.client.AddressPolicy;
import dev.berth.upstream.client.UpstreamClient;
import dev.berth.upstream.client.UpstreamTarget;
import dev.berth.upstream.client.UpstreamTarget.ExchangeTimeouts;
import dev.berth.upstream.client.UpstreamTarget.HttpChoice;
import dev.berth.upstream.client.UpstreamTarget.HttpVersions;
import dev.berth.upstream.client.UpstreamTls;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The settings of an upstream, with the contents of its files. Immutable; its text shows no header
 * value.
 *
 * @param stripPrefix removed from the path of a request
 * @param isOpenAi whether requests are those of {@code berth:openai}
 * @param model name of the model in each request; null for that of the request's own deployment
 * @param secret headers of the operator, set last
 * @param notRun statuses by which the upstream refuses a request without running it
 * @param isOnly whether no other upstream or fallback could run a refused request
 */
record UpstreamSettings(
    UpstreamTarget target,
    String stripPrefix,
    String pathPrefix,
    boolean isOpenAi,
    @Nullable String model,
    Set<String> passHeaders,
    Headers secret,
    int readAheadBytes,
    Set<Integer> notRun,
    boolean isOnly,
    boolean stopsOnClose,
    long graceNanos,
    long orphanNanos,
    @Nullable HealthProbe health) {

  /** Status of a request that reached the wrong server (RFC 9110, 15.5.20). */
  private static final int MISDIRECTED = 421;

  /** Bounds of the flow-control window of HTTP/2; a quarter of the read-ahead between them. */
  private static final int MIN_WINDOW_BYTES = 64 << 10;

  /**
   * Active health checks.
   *
   * @param path with the path prefix
   */
  record HealthProbe(String path, long intervalNanos, long timeoutNanos) {}

  /**
   * Reads the files of an entry, so not for an event loop.
   *
   * @throws RuntimeException if a file is unusable
   */
  static UpstreamSettings read(Map<String, @Nullable Object> userConfig, RelayEnvironment instance)
      throws Exception {
    Settings entry = UpstreamOptions.fromUserConfig(userConfig);
    UpstreamOrigin origin = entry.get(UpstreamOptions.URL);
    String headersFile = entry.find(UpstreamOptions.HEADERS_FILE);
    Headers secret =
        headersFile == null
            ? Headers.empty()
            : SecretHeaders.read(instance.secretsDir(), headersFile);
    String prefix = entry.get(UpstreamOptions.PREFIX);
    Object route = userConfig.get(UpstreamOptions.ROUTE_PREFIX);
    Number grace = (Number) userConfig.get(DeploymentConfig.CANCEL_GRACE_S.name());
    return new UpstreamSettings(
        target(entry, addresses(userConfig, origin, secret.size() > 0, instance), instance),
        route == null || route.equals("/") ? "" : route.toString(),
        prefix,
        Boolean.TRUE.equals(userConfig.get(UpstreamOptions.IS_OPENAI)),
        entry.find(UpstreamOptions.MODEL),
        Set.copyOf(entry.get(UpstreamOptions.PASS_HEADERS)),
        secret,
        Math.max(1, entry.get(UpstreamOptions.READ_AHEAD_BYTES)),
        notRun(entry),
        Boolean.TRUE.equals(userConfig.get(UpstreamOptions.IS_ONLY)),
        entry.get(UpstreamOptions.STOPS_ON_CLOSE),
        (long) (1e9 * Objects.requireNonNull(grace).doubleValue()),
        entry.get(UpstreamOptions.ORPHAN_S).toNanos(),
        health(entry.find(UpstreamOptions.HEALTH), prefix));
  }

  /**
   * Probes the upstream by a connect, or by its health check.
   *
   * @param done receives null if the upstream is well, else the reason
   */
  void probe(UpstreamClient client, Consumer<@Nullable String> done) {
    client.probe(
        health == null ? null : health.path(),
        health == null ? target.timeouts().connectNanos() : health.timeoutNanos(),
        done);
  }

  private static Set<Integer> notRun(Settings entry) {
    Set<Integer> statuses = new HashSet<>(entry.get(UpstreamOptions.NOT_RUN));
    statuses.add(MISDIRECTED);
    return statuses;
  }

  private static @Nullable HealthProbe health(@Nullable Settings health, String prefix) {
    return health == null
        ? null
        : new HealthProbe(
            prefix + health.get(UpstreamOptions.HEALTH_PATH),
            health.get(UpstreamOptions.INTERVAL_S).toNanos(),
            health.get(UpstreamOptions.TIMEOUT_S).toNanos());
  }

  private static AddressPolicy addresses(
      Map<String, @Nullable Object> userConfig,
      UpstreamOrigin origin,
      boolean secrets,
      RelayEnvironment instance) {
    AddressPolicy all = instance.addresses().get();
    return (secrets && !origin.isTls() ? all.onlyLoopback() : all)
        .only((String) userConfig.get(UpstreamOptions.ADDRESS));
  }

  private static UpstreamTarget target(
      Settings entry, AddressPolicy addresses, RelayEnvironment instance) {
    UpstreamOrigin origin = entry.get(UpstreamOptions.URL);
    Duration firstByte = entry.find(UpstreamOptions.FIRST_BYTE_TIMEOUT_S);
    ExchangeTimeouts timeouts =
        new ExchangeTimeouts(
            entry.get(UpstreamOptions.CONNECT_TIMEOUT_S).toNanos(),
            firstByte == null ? 0 : firstByte.toNanos(),
            entry.get(UpstreamOptions.IDLE_TIMEOUT_S).toNanos());
    HttpVersions versions = versions(entry.find(UpstreamOptions.HTTP), origin.isTls());
    int window = Math.max(MIN_WINDOW_BYTES, entry.get(UpstreamOptions.READ_AHEAD_BYTES) / 4);
    return new UpstreamTarget(
        origin.isUnix() ? "localhost" : origin.host(),
        origin.port(),
        origin.isUnix() ? origin.host() : null,
        origin.isTls() ? tls(entry.find(UpstreamOptions.TLS), origin, versions, instance) : null,
        timeouts,
        Deployment.MAX_ONGOING_REQUESTS_LIMIT, // the ledger holds the limit, which may rise first
        addresses,
        new HttpChoice(versions, window));
  }

  /** Returns the versions of a key's value; without ALPN {@code auto} is HTTP/1.1. */
  private static HttpVersions versions(@Nullable String http, boolean tls) {
    if (http == null || http.equals("auto")) {
      return tls ? HttpVersions.NEGOTIATED : HttpVersions.HTTP_1;
    }
    return http.equals("2") ? HttpVersions.HTTP_2 : HttpVersions.HTTP_1;
  }

  private static UpstreamTls tls(
      @Nullable Settings tls,
      UpstreamOrigin origin,
      HttpVersions versions,
      RelayEnvironment instance) {
    String name = tls == null ? null : tls.find(UpstreamOptions.SERVER_NAME);
    return UpstreamTls.read(
        file(tls, UpstreamOptions.CA_FILE, instance),
        file(tls, UpstreamOptions.CERT_FILE, instance),
        file(tls, UpstreamOptions.KEY_FILE, instance),
        name == null ? origin.host() : name,
        versions.protocols());
  }

  private static @Nullable Path file(
      @Nullable Settings tls, ConfigKey<String> key, RelayEnvironment instance) {
    String name = tls == null ? null : tls.find(key);
    return name == null ? null : SecretFiles.below(instance.secretsDir(), name);
  }
}
