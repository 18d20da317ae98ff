package dev.berth.cluster.link;

import dev.berth.cluster.CertificateNames;
import dev.berth.config.ClusterConfig.Role;
import dev.berth.net.tls.TlsFiles;
import dev.berth.net.tls.TlsMaterial;
import dev.berth.net.tls.TlsWatch;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.ClientSSLOptions;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetClientOptions;
import io.vertx.core.net.NetServerOptions;
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
 * TLS of a node's links: 1.3 alone, and a certificate of the cluster's own authority on both sides,
 * whose names say which node it is; the host says nothing. Or none at all, on the loopback.
 */
public final class LinkTls {
  /** How long a connect may take, in milliseconds; the handshake comes after it. */
  private static final int CONNECT_MS = 2_000;

  /**
   * How long a handshake may take, on both sides of every link: that of TLS, and after it until
   * each side has said who it is.
   */
  public static final Duration HANDSHAKE = Duration.ofSeconds(2);

  private static final Set<String> PROTOCOLS = Set.of("TLSv1.3");
  private static final String ANY_HOST = "";

  private static final Logger LOG = LoggerFactory.getLogger(LinkTls.class);

  private final @Nullable TlsWatch watch;
  private final List<Function<TlsMaterial, Future<?>>> users = new CopyOnWriteArrayList<>();

  private LinkTls(@Nullable TlsWatch watch) {
    this.watch = watch;
  }

  /** None: anyone may say that he is any node. */
  public static LinkTls insecure() {
    return new LinkTls(null);
  }

  /**
   * Reads the files of {@code berth.cluster.tls}.
   *
   * @return fails with the key when one cannot be used
   */
  public static Future<LinkTls> read(Vertx vertx, TlsFiles files) {
    TlsWatch watch = new TlsWatch(files, "links");
    return vertx.executeBlocking(watch::current).map(read -> new LinkTls(watch));
  }

  // --- both sides ---

  NetServerOptions server() {
    return secured(new NetServerOptions());
  }

  /**
   * Connects to other nodes, on the event loop that asks, until the handshake is over. It tries
   * once; when to try again is its caller's. Keep it: one that nobody refers to is closed.
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

  /** Of a server of HTTP for other nodes. */
  public HttpServerOptions httpServer() {
    return secured(new HttpServerOptions());
  }

  /** Of a client of such servers. */
  public HttpClientOptions httpClient() {
    return secured(new HttpClientOptions().setVerifyHost(false));
  }

  private <T extends TCPSSLOptions> T secured(T options) {
    options.setTcpNoDelay(true);
    if (watch != null) {
      options.setSsl(true).setSslEngineOptions(TlsMaterial.engine());
      options.setEnabledSecureTransportProtocols(PROTOCOLS); // makes what is set up next
      secure(options.getSslOptions(), watch.current());
    }
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
   * Gives a server what the files hold, whenever they have changed.
   *
   * @param update its {@code updateSSLOptions}
   */
  public void renewServer(Function<ServerSSLOptions, Future<?>> update) {
    users.add(next -> update.apply(secure(new ServerSSLOptions(), next)));
  }

  /** Likewise a client. */
  public void renewClient(Function<ClientSSLOptions, Future<?>> update) {
    users.add(
        next ->
            update.apply(
                secure(new ClientSSLOptions(), next).setHostnameVerificationAlgorithm(ANY_HOST)));
  }

  /**
   * Looks at the files; if they have changed, new links get what they hold now, and those that are
   * there stay.
   */
  public Future<Void> reload(Vertx vertx) {
    TlsWatch read = watch;
    if (read == null) {
      return Future.succeededFuture();
    }
    return vertx
        .executeBlocking(read::changed)
        .compose(next -> next == null ? Future.succeededFuture() : give(read, next))
        .onFailure(failed -> LOG.error("links: the new files were not taken", failed));
  }

  private Future<Void> give(TlsWatch read, TlsMaterial next) {
    return Future.all(users.stream().<Future<?>>map(user -> user.apply(next)).toList())
        .onSuccess(all -> read.taken(next))
        .mapEmpty();
  }

  /** What a peer has to do as well. */
  public String expected() {
    return watch == null
        ? "no TLS, as berth.cluster.insecure says here"
        : "TLS 1.3, as berth.cluster.tls says here";
  }

  // --- who the peer is ---

  /**
   * Whether the other side may be a node, by its certificate.
   *
   * @return what it is not; null when it may
   */
  public @Nullable String refusal(NetSocket peer, String cluster, String node, Role role) {
    return watch == null ? null : refusal(peer.sslSession(), cluster, node, role);
  }

  /** As {@link #refusal(NetSocket, String, String, Role)}, by the other side's session. */
  public @Nullable String refusal(
      @Nullable SSLSession peer, String cluster, String node, Role role) {
    if (watch == null) {
      return null;
    }
    return peer == null
        ? "no TLS session (expected: mutual TLS)"
        : CertificateNames.refusal(CertificateNames.of(peer), cluster, node, role);
  }
}
