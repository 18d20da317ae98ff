package dev.berth.config;

import dev.berth.config.keys.Key;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import dev.berth.net.tls.PemFile;
import dev.berth.net.tls.TlsFiles;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * {@code http_options}: the listener of the HTTP server. With {@code ssl_certfile}, the server
 * accepts TLS only.
 */
public final class HttpOptions {

  private static final Keys KEYS = new Keys();

  public static final Key<String> HOST =
      KEYS.key("host", Types.TEXT, "0.0.0.0")
          .means("Name or address the HTTP server listens on. The default is every interface.");
  public static final Key<Integer> PORT =
      KEYS.key("port", Types.PORT, 8000)
          .means("TCP port of the HTTP server; 0 takes any free one and logs it.");
  public static final Key<String> ROOT_PATH =
      KEYS.key("root_path", Types.ROOT_PATH, "")
          .means("Path in front of every route, for a server that is mounted below another.");
  public static final Key<Duration> REQUEST_TIMEOUT_S =
      KEYS.optional("request_timeout_s", Types.SECONDS)
          .means(
              "Time from a request's arrival to the end of its answer; after it the client gets 408."
                  + " null is no bound. An application or a deployment may have its own.");
  public static final Key<Duration> KEEP_ALIVE_TIMEOUT_S =
      KEYS.key("keep_alive_timeout_s", Types.SECONDS, Duration.ofSeconds(90))
          .means("How long a connection may stay open between two requests.");

  // TLS: set none of these, or the first two and optionally the third.
  public static final Key<Path> SSL_KEYFILE =
      KEYS.optional("ssl_keyfile", Types.FILE)
          .means(
              "Private key in PEM, RSA or EC, not encrypted. With ssl_certfile it turns TLS on. Read again when it"
                  + " changes, as the other ssl_ files are.");
  public static final Key<Path> SSL_CERTFILE =
      KEYS.optional("ssl_certfile", Types.FILE)
          .means(
              "Certificate chain in PEM, the server's own first. With ssl_keyfile it turns TLS on.");
  public static final Key<Path> SSL_CA_CERTS =
      KEYS.optional("ssl_ca_certs", Types.FILE)
          .means("Certificates in PEM: a client must then show one that is signed by one of them.");

  static final Section SECTION = KEYS.section().and(RayOnly.HTTP).check(HttpOptions::check);

  /** Returns the TLS files; null without TLS. */
  public static @Nullable TlsFiles tls(Settings http) {
    PemFile certificate = file(SSL_CERTFILE, http);
    PemFile key = file(SSL_KEYFILE, http);
    return certificate == null || key == null
        ? null
        : new TlsFiles(certificate, key, file(SSL_CA_CERTS, http));
  }

  private static @Nullable PemFile file(Key<Path> key, Settings http) {
    Path path = http.find(key);
    return path == null ? null : new PemFile("http_options", key.name(), path);
  }

  private static void check(Settings values) {
    boolean key = values.gives(SSL_KEYFILE);
    boolean certificate = values.gives(SSL_CERTFILE);
    if (key != certificate) {
      Key<?> given = key ? SSL_KEYFILE : SSL_CERTFILE;
      values.problem(
          key ? SSL_CERTFILE : SSL_KEYFILE, "missing", "a path, since " + given + " is set");
    }
    if (!key && !certificate && values.gives(SSL_CA_CERTS)) {
      values.problem(SSL_CA_CERTS, "set without TLS", "ssl_keyfile and ssl_certfile beside it");
    }
  }

  private HttpOptions() {}
}
