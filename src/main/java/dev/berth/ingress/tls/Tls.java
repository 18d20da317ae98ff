package dev.berth.ingress.tls;

import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.net.tls.TlsFiles;
import dev.berth.net.tls.TlsMaterial;
import dev.berth.net.tls.TlsWatch;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.WorkerExecutor;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.ServerSSLOptions;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TLS of an instance's HTTP server, 1.3 and 1.2: the {@code ssl_*} files, read again while it runs.
 * The first loop's ingress drives it; what reads files runs on a worker.
 */
public final class Tls {
  private static final Logger LOG = LoggerFactory.getLogger(Tls.class);

  /** How often the files are looked at. */
  public static final Duration LOOK_INTERVAL = Duration.ofSeconds(1);

  private final Settings settings; // how long a handshake may take
  private final TlsWatch watch;
  private boolean looking; // the loop's

  /**
   * @param settings of the HTTP server
   * @param files that they name
   */
  public Tls(Settings settings, TlsFiles files) {
    this.settings = settings;
    this.watch = new TlsWatch(files, "tls");
  }

  /** Makes a server speak TLS, and HTTP/2 or HTTP/1.1 as the client wants it. */
  public Future<HttpServerOptions> applyTo(HttpServerOptions options, Vertx vertx) {
    options.setSsl(true);
    options.setUseAlpn(true);
    options.setSslEngineOptions(TlsMaterial.engine());
    options.setSslHandshakeTimeout(settings.get(LimitOptions.HEADER_READ_TIMEOUT_S).toMillis());
    options.setSslHandshakeTimeoutUnit(TimeUnit.MILLISECONDS);
    return read(vertx, () -> with(watch.current(), options.getSslOptions()))
        .map(applied -> options);
  }

  /** On a thread of its own: user code that blocks every other one keeps no certificate old. */
  private static <T> Future<T> read(Vertx vertx, Callable<T> reader) {
    WorkerExecutor own = vertx.createSharedWorkerExecutor("berth-tls", 1);
    return own.executeBlocking(reader, false).onComplete(read -> own.close());
  }

  private static ServerSSLOptions with(TlsMaterial material, ServerSSLOptions options) {
    options.setEnabledSecureTransportProtocols(new LinkedHashSet<>(List.of("TLSv1.3", "TLSv1.2")));
    return material.applyTo(options);
  }

  /** Looks at the files; if they have changed, new connections get what they hold now. */
  public void reload(Vertx vertx, HttpServer server) {
    if (looking) {
      return;
    }
    looking = true;
    read(vertx, watch::changed)
        .compose(
            next ->
                next == null
                    ? Future.succeededFuture()
                    : server
                        .updateSSLOptions(with(next, new ServerSSLOptions()))
                        .onSuccess(updated -> watch.taken(next))
                        .<Void>mapEmpty())
        .onFailure(failed -> LOG.error("tls: the new files were not taken", failed))
        .onComplete(looked -> looking = false);
  }
}
