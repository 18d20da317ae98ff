package dev.berth.ingress.tls;

import dev.berth.config.HttpOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import io.netty.handler.ssl.OpenSsl;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.JdkSSLEngineOptions;
import io.vertx.core.net.OpenSSLEngineOptions;
import io.vertx.core.net.ServerSSLOptions;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TLS of an instance's HTTP server: BoringSSL where its library loads, else the JDK's engine; and
 * the {@code ssl_*} files, read again while it runs.
 *
 * <pre>
 *   CURRENT --files changed, usable--> the new ones serve new connections
 *           --files changed, not usable--> looked at again; said once if they stay so
 * </pre>
 *
 * The first loop's ingress drives it; what reads files runs on a worker.
 */
public final class Tls {
  private static final Logger LOG = LoggerFactory.getLogger(Tls.class);

  private static final List<Buffer> UNREADABLE = List.of(Buffer.buffer());

  /** How often the files are looked at. */
  public static final Duration LOOK_INTERVAL = Duration.ofSeconds(1);

  private final Settings files; // where they are, and how long a handshake may take
  private @Nullable TlsMaterial material; // guarded by this, once read
  private boolean looking; // the loop's
  private List<Buffer> failedContents = List.of();
  private boolean failureSaid;

  public Tls(Settings files) {
    this.files = files;
  }

  /** Reads the files, the first time it is asked. Blocks. */
  private synchronized TlsMaterial material(Vertx vertx) {
    TlsMaterial known = material;
    if (known == null) {
      known = TlsMaterial.of(files, TlsMaterial.contents(files));
      X509Certificate own = known.check(files, vertx);
      material = known;
      LOG.info(
          "tls: {}, {} until {}{}",
          OpenSsl.isAvailable() ? "BoringSSL" : "the JDK's engine (" + whyNotNative() + ")",
          own.getSubjectX500Principal(),
          own.getNotAfter().toInstant(),
          files.find(HttpOptions.SSL_CA_CERTS) == null ? "" : ", clients need a certificate");
    }
    return known;
  }

  private static String whyNotNative() {
    Throwable cause = OpenSsl.unavailabilityCause();
    return cause == null ? "no BoringSSL" : "no BoringSSL: " + cause;
  }

  /** Makes a server speak TLS, and HTTP/2 or HTTP/1.1 as the client wants it. */
  public Future<HttpServerOptions> applyTo(HttpServerOptions options, Vertx vertx) {
    options.setSsl(true);
    options.setUseAlpn(true);
    options.setSslEngineOptions(
        OpenSsl.isAvailable() ? new OpenSSLEngineOptions() : new JdkSSLEngineOptions());
    options.setSslHandshakeTimeout(files.get(LimitOptions.HEADER_READ_TIMEOUT_S).toMillis());
    options.setSslHandshakeTimeoutUnit(TimeUnit.MILLISECONDS);
    return vertx
        .executeBlocking(() -> material(vertx).applyTo(options.getSslOptions()))
        .map(applied -> options);
  }

  /** Looks at the files; if they have changed, new connections get what they hold now. */
  public void reload(Vertx vertx, HttpServer server) {
    if (looking) {
      return;
    }
    looking = true;
    vertx
        .executeBlocking(() -> changed(vertx), false)
        .compose(
            next ->
                next == null
                    ? Future.succeededFuture()
                    : server
                        .updateSSLOptions(next.applyTo(new ServerSSLOptions()))
                        .onSuccess(updated -> taken(next))
                        .<Void>mapEmpty())
        .onFailure(failed -> LOG.error("tls: the new files were not taken", failed))
        .onComplete(looked -> looking = false);
  }

  private synchronized void taken(TlsMaterial next) {
    material = next;
    LOG.info("tls: {} was read again, for new connections", files.get(HttpOptions.SSL_CERTFILE));
  }

  /** What the files hold now; null when that is the same as before, or of no use. */
  private synchronized @Nullable TlsMaterial changed(Vertx vertx) {
    TlsMaterial known = material;
    List<Buffer> contents = UNREADABLE;
    try {
      contents = TlsMaterial.contents(files);
      if (known == null || contents.equals(known.files())) {
        failedContents = List.of();
        return null;
      }
      if (contents.equals(failedContents) && failureSaid) {
        return null;
      }
      TlsMaterial next = TlsMaterial.of(files, contents);
      next.check(files, vertx);
      return next;
    } catch (TlsFileException unusable) {
      failed(contents, unusable);
      return null;
    }
  }

  /** Files are replaced one after the other, so what is of no use once may be half of a change. */
  private void failed(List<Buffer> contents, TlsFileException unusable) {
    if (!contents.equals(failedContents)) {
      failedContents = contents;
      failureSaid = false;
    } else if (!failureSaid) {
      failureSaid = true;
      LOG.warn("tls: changed files are not taken, the old ones stay: {}", unusable.getMessage());
    }
  }
}
