package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
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

  public static final ConfigKey<String> HOST =
      KEYS.key("host", Types.TEXT, "0.0.0.0")
          .means("Listen name or address of the HTTP server. The default is every interface.");
  public static final ConfigKey<Integer> PORT =
      KEYS.key("port", Types.PORT, 8000)
          .means("TCP port of the HTTP server; 0 selects a free one and logs it.");
  public static final ConfigKey<String> ROOT_PATH =
      KEYS.key("root_path", Types.ROOT_PATH, "")
          .means("Path prefix of all routes, for a server mounted below another.");
  public static final ConfigKey<Duration> REQUEST_TIMEOUT_S =
      KEYS.optional("request_timeout_s", Types.SECONDS)
          .means(
              "Time from the arrival of a request to the end of the response; then the client gets"
                  + " 408. null: no limit. Applications and deployments can override it.");
  public static final ConfigKey<Duration> KEEP_ALIVE_TIMEOUT_S =
      KEYS.key("keep_alive_timeout_s", Types.SECONDS, Duration.ofSeconds(90))
          .means("Maximum idle time of a connection between two requests.");

  // TLS: set none of these, or the first two and optionally the third.
  public static final ConfigKey<Path> SSL_KEYFILE =
      KEYS.optional("ssl_keyfile", Types.FILE)
          .means(
              "Private key in PEM, RSA or EC, not encrypted. Enables TLS with ssl_certfile."
                  + " Reloaded when it changes, as the other ssl_ files.");
  public static final ConfigKey<Path> SSL_CERTFILE =
      KEYS.optional("ssl_certfile", Types.FILE)
          .means(
              "Certificate chain in PEM, server certificate first. Enables TLS with ssl_keyfile.");
  public static final ConfigKey<Path> SSL_CA_CERTS =
      KEYS.optional("ssl_ca_certs", Types.FILE)
          .means("CA certificates in PEM: clients must present a certificate signed by one.");

  static final Section SECTION =
      KEYS.section().and(UnsupportedRayKeys.HTTP).check(HttpOptions::check);

  /** Returns the TLS files; null without TLS. */
  public static @Nullable TlsFiles tls(Settings http) {
    PemFile certificate = file(SSL_CERTFILE, http);
    PemFile key = file(SSL_KEYFILE, http);
    return certificate == null || key == null
        ? null
        : new TlsFiles(certificate, key, file(SSL_CA_CERTS, http));
  }

  private static @Nullable PemFile file(ConfigKey<Path> key, Settings http) {
    Path path = http.find(key);
    return path == null ? null : new PemFile("http_options", key.name(), path);
  }

  private static void check(Settings values) {
    boolean key = values.gives(SSL_KEYFILE);
    boolean certificate = values.gives(SSL_CERTFILE);
    if (key != certificate) {
      ConfigKey<?> given = key ? SSL_KEYFILE : SSL_CERTFILE;
      values.problem(
          key ? SSL_CERTFILE : SSL_KEYFILE, "missing", "a path, since " + given + " is set");
    }
    if (!key && !certificate && values.gives(SSL_CA_CERTS)) {
      values.problem(SSL_CA_CERTS, "set without TLS", "ssl_keyfile and ssl_certfile too");
    }
  }

  private HttpOptions() {}
}
