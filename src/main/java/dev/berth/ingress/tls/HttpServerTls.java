package dev.berth.ingress.tls;

import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.net.tls.TlsFileWatcher;
import dev.berth.net.tls.TlsFiles;
import dev.berth.net.tls.TlsMaterial;
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
 * TLS 1.3 and 1.2 of an HTTP server of the instance. Reads the {@code ssl_*} files, and reloads
 * them at run time. The owner drives the reload; a worker thread reads the files.
 */
public final class HttpServerTls {
  private static final Logger LOG = LoggerFactory.getLogger(HttpServerTls.class);

  /** Interval between checks of the files. */
  public static final Duration LOOK_INTERVAL = Duration.ofSeconds(1);

  private final Settings settings; // for the handshake timeout
  private final String of;
  private final TlsFileWatcher watch;
  private boolean looking; // confined to the loop

  /**
   * @param settings of the instance
   * @param files of the server
   * @param of the server, for the log
   */
  public HttpServerTls(Settings settings, TlsFiles files, String of) {
    this.settings = settings;
    this.of = of;
    this.watch = new TlsFileWatcher(files, of);
  }

  /** Returns the contents that new connections use. */
  public TlsMaterial current() {
    return watch.current();
  }

  /** Enables TLS on a server, with HTTP/2 or HTTP/1.1 as the client negotiates. */
  public Future<HttpServerOptions> applyTo(HttpServerOptions options, Vertx vertx) {
    options.setSsl(true);
    options.setUseAlpn(true);
    options.setSslEngineOptions(TlsMaterial.engine());
    options.setSslHandshakeTimeout(settings.get(LimitOptions.HEADER_READ_TIMEOUT_S).toMillis());
    options.setSslHandshakeTimeoutUnit(TimeUnit.MILLISECONDS);
    return read(vertx, () -> with(watch.current(), options.getSslOptions()))
        .map(applied -> options);
  }

  /**
   * Runs a task on a dedicated thread, so that blocking user code cannot delay a certificate
   * reload.
   */
  private static <T> Future<T> read(Vertx vertx, Callable<T> reader) {
    WorkerExecutor own = vertx.createSharedWorkerExecutor("berth-tls", 1);
    return own.executeBlocking(reader, false).onComplete(read -> own.close());
  }

  private static ServerSSLOptions with(TlsMaterial material, ServerSSLOptions options) {
    options.setEnabledSecureTransportProtocols(new LinkedHashSet<>(List.of("TLSv1.3", "TLSv1.2")));
    return material.applyTo(options);
  }

  /** Checks the files. If they changed, new connections use the new content. */
  public void reload(Vertx vertx, HttpServer server) {
    if (looking) {
      return;
    }
    looking = true;
    read(vertx, watch::readIfChanged)
        .compose(
            next ->
                next == null
                    ? Future.succeededFuture()
                    : server
                        .updateSSLOptions(with(next, new ServerSSLOptions()))
                        .onSuccess(updated -> watch.setCurrent(next))
                        .<Void>mapEmpty())
        .onFailure(failed -> LOG.error("{}: new files not loaded", of, failed))
        .onComplete(looked -> looking = false);
  }
}
