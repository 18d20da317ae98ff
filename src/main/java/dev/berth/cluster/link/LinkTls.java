package dev.berth.cluster.link;

import dev.berth.cluster.CertificateNames;
import dev.berth.config.ClusterConfig.ClusterRole;
import dev.berth.net.tls.TlsFileWatcher;
import dev.berth.net.tls.TlsFiles;
import dev.berth.net.tls.TlsMaterial;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.net.ClientSSLOptions;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetClientOptions;
import io.vertx.core.net.NetSocket;
import io.vertx.core.net.SSLOptions;
import io.vertx.core.net.ServerSSLOptions;
import io.vertx.core.net.TCPSSLOptions;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The TLS settings of a node's links: only version 1.3, and mutual authentication by certificates
 * of the cluster's own CA. The names in a certificate identify the node; its host name is not
 * verified. Insecure links, on the loopback interface, use no TLS.
 */
public final class LinkTls {
  /** Timeout of a connect in milliseconds, without the handshake that follows. */
  public static final int CONNECT_MS = 2_000;

  /**
   * Timeout of a handshake, for both peers of every link: first of the TLS handshake, then until
   * both peers have identified themselves.
   */
  public static final Duration HANDSHAKE = Duration.ofSeconds(2);

  private static final Set<String> PROTOCOLS = Set.of("TLSv1.3");
  private static final String ANY_HOST = "";

  private static final Logger LOG = LoggerFactory.getLogger(LinkTls.class);

  private final @Nullable TlsFileWatcher watch;
  private final List<Function<TlsMaterial, Future<?>>> users = new CopyOnWriteArrayList<>();

  private LinkTls(@Nullable TlsFileWatcher watch) {
    this.watch = watch;
  }

  /** Returns settings without TLS: any peer may claim to be any node. */
  public static LinkTls insecure() {
    return new LinkTls(null);
  }

  /**
   * Reads the files of {@code berth.cluster.tls}.
   *
   * @return fails with the key of an unusable file
   */
  public static Future<LinkTls> read(Vertx vertx, TlsFiles files) {
    TlsFileWatcher watch = new TlsFileWatcher(files, "links");
    return vertx.executeBlocking(watch::current).map(read -> new LinkTls(watch));
  }

  /**
   * Returns the end of validity of the certificate, in seconds since 1970; 0 without TLS.
   * Thread-safe.
   */
  public long expirySeconds() {
    return watch == null ? 0 : watch.expirySeconds();
  }

  // --- clients and servers ---

  /**
   * Creates a client that connects to other nodes on the caller's event loop. A connect completes
   * after the TLS handshake and is tried once; the caller retries. The caller must retain the
   * client, because Vert.x closes an unreferenced one.
   */
  public NetClient dialer(Vertx vertx) {
    NetClient client =
        vertx.createNetClient(
            secured(
                new NetClientOptions()
                    .setHostnameVerificationAlgorithm(ANY_HOST)
                    .setConnectTimeout(CONNECT_MS)));
    renewClient(client::updateSSLOptions);
    return client;
  }

  /** Adds mutual TLS to the options of a server for other nodes, or of a client of one. */
  public <T extends TCPSSLOptions> T secured(T options) {
    options.setTcpNoDelay(true);
    if (watch != null) {
      options.setSsl(true).setSslEngineOptions(TlsMaterial.engine());
      options.setEnabledSecureTransportProtocols(PROTOCOLS); // creates the SSL options
      secure(options.getSslOptions(), watch.current());
    }
    return options;
  }

  /**
   * Adds mutual TLS to the options of the event bus, with the keys that it has at the start: Vert.x
   * copies these options as JSON, and gives no access to the sockets of the bus.
   */
  public static EventBusOptions secureBus(EventBusOptions options, TlsMaterial material) {
    options.setSsl(true).setSslEngineOptions(TlsMaterial.engine());
    options
        .setKeyCertOptions(material.keyPem())
        .setTrustOptions(material.authoritiesPem())
        .setClientAuth(ClientAuth.REQUIRED)
        .setTrustAll(false)
        .setEnabledSecureTransportProtocols(PROTOCOLS)
        .setSslHandshakeTimeout(HANDSHAKE.toMillis())
        .setSslHandshakeTimeoutUnit(TimeUnit.MILLISECONDS);
    return options;
  }

  private static <T extends SSLOptions> T secure(T options, TlsMaterial material) {
    options.setEnabledSecureTransportProtocols(PROTOCOLS);
    options
        .setSslHandshakeTimeout(HANDSHAKE.toMillis())
        .setSslHandshakeTimeoutUnit(TimeUnit.MILLISECONDS);
    return material.applyTo(options);
  }

  /**
   * Registers a server that receives the new TLS material whenever the files change.
   *
   * @param update its {@code updateSSLOptions}
   */
  public void renewServer(Function<ServerSSLOptions, Future<?>> update) {
    users.add(next -> update.apply(secure(new ServerSSLOptions(), next)));
  }

  /** Registers a client that receives the new TLS material whenever the files change. */
  public void renewClient(Function<ClientSSLOptions, Future<?>> update) {
    users.add(
        next ->
            update.apply(
                secure(new ClientSSLOptions(), next).setHostnameVerificationAlgorithm(ANY_HOST)));
  }

  /**
   * Checks the files. If they have changed, new links use the new material; existing links
   * continue.
   */
  public Future<Void> reload(Vertx vertx) {
    TlsFileWatcher read = watch;
    if (read == null) {
      return Future.succeededFuture();
    }
    return vertx
        .executeBlocking(read::readIfChanged)
        .compose(next -> next == null ? Future.succeededFuture() : give(read, next))
        .onFailure(failed -> LOG.error("links: new TLS files not loaded", failed));
  }

  private Future<Void> give(TlsFileWatcher read, TlsMaterial next) {
    return Future.all(users.stream().<Future<?>>map(user -> user.apply(next)).toList())
        .onSuccess(all -> read.setCurrent(next))
        .mapEmpty();
  }

  /** Returns the requirement on a peer, for error messages. */
  public String expected() {
    return watch == null
        ? "no TLS, by berth.cluster.insecure here"
        : "TLS 1.3, by berth.cluster.tls here";
  }

  // --- identity of the peer ---

  /**
   * Checks whether a peer's certificate authorises a node.
   *
   * @return the reason for a refusal; null when the certificate authorises the node
   */
  public @Nullable String refusal(NetSocket peer, String cluster, String node, ClusterRole role) {
    return watch == null ? null : refusal(peer.sslSession(), cluster, node, role);
  }

  /** Checks the peer's session as {@link #refusal(NetSocket, String, String, Role)} does. */
  public @Nullable String refusal(
      @Nullable SSLSession peer, String cluster, String node, ClusterRole role) {
    if (watch == null) {
      return null;
    }
    return peer == null
        ? "no TLS session (expected: mutual TLS)"
        : CertificateNames.refusal(CertificateNames.of(peer), cluster, node, role);
  }
}
