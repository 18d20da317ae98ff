package dev.berth.config;

import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * {@code http_options}: where requests come in.
 *
 * @param host name or address to listen on
 * @param port TCP port, 0 to 65535; 0 takes any free one
 * @param rootPath in front of every route; empty, or a path that does not end with /
 * @param requestTimeout from arrival to the end of the answer, then 408; null is no bound
 * @param keepAliveTimeout how long a connection may stay open between two requests
 * @param tls null for plain HTTP
 */
public record HttpOptions(
    String host,
    int port,
    String rootPath,
    @Nullable Duration requestTimeout,
    Duration keepAliveTimeout,
    @Nullable TlsFiles tls) {

  static final Key<String> HOST =
      Key.of(
          "host",
          Types.text(),
          Defaults.HTTP_HOST,
          "Name or address the HTTP server listens on. The default is every interface.");
  static final Key<Integer> PORT =
      Key.of(
          "port",
          Types.port(),
          Defaults.HTTP_PORT,
          "TCP port of the HTTP server; 0 takes any free one and logs it.");
  static final Key<String> ROOT_PATH =
      Key.of(
          "root_path",
          Types.rootPath(),
          Defaults.ROOT_PATH,
          "Path in front of every route, for a server that is mounted below another.");
  static final Key<Duration> REQUEST_TIMEOUT_S =
      Key.optional(
          "request_timeout_s",
          Types.seconds(),
          "Time from a request's arrival to the end of its answer; after it the client gets 408."
              + " null is no bound.");
  static final Key<Duration> KEEP_ALIVE_TIMEOUT_S =
      Key.of(
          "keep_alive_timeout_s",
          Types.seconds(),
          Defaults.KEEP_ALIVE_TIMEOUT,
          "How long a connection may stay open between two requests.");

  static final Key<Path> SSL_KEYFILE =
      Key.optional(
          "ssl_keyfile",
          Types.file(),
          "Private key in PEM, RSA or EC. With ssl_certfile it turns TLS on. Read again when it"
              + " changes, as the other ssl_ files are.");
  static final Key<Path> SSL_CERTFILE =
      Key.optional(
          "ssl_certfile",
          Types.file(),
          "Certificate chain in PEM, the server's own first. With ssl_keyfile it turns TLS on.");
  static final Key<String> SSL_KEYFILE_PASSWORD =
      Key.optional(
          "ssl_keyfile_password",
          Types.secret(),
          "Password of an encrypted ssl_keyfile. It is never printed.");
  static final Key<Path> SSL_CA_CERTS =
      Key.optional(
          "ssl_ca_certs",
          Types.file(),
          "Certificates in PEM: a client must then show one that is signed by one of them.");

  static final Section SECTION =
      Section.of(
              HOST,
              PORT,
              ROOT_PATH,
              REQUEST_TIMEOUT_S,
              KEEP_ALIVE_TIMEOUT_S,
              SSL_KEYFILE,
              SSL_CERTFILE,
              SSL_KEYFILE_PASSWORD,
              SSL_CA_CERTS)
          .and(RayOnly.HTTP)
          .check(HttpOptions::check);

  /** Checks each value against its key. */
  public HttpOptions {
    HOST.require(host);
    PORT.require(port);
    ROOT_PATH.require(rootPath);
    REQUEST_TIMEOUT_S.requireIfSet(requestTimeout);
    KEEP_ALIVE_TIMEOUT_S.require(keepAliveTimeout);
  }

  /** Plain HTTP, mounted at the top. */
  public HttpOptions(
      String host, int port, @Nullable Duration requestTimeout, Duration keepAliveTimeout) {
    this(host, port, Defaults.ROOT_PATH, requestTimeout, keepAliveTimeout, null);
  }

  /** What a file that says nothing gives. */
  public static HttpOptions defaults() {
    return from(Values.empty(SECTION));
  }

  private static void check(Values values) {
    boolean key = values.gives(SSL_KEYFILE);
    boolean certificate = values.gives(SSL_CERTFILE);
    if (key && !certificate) {
      values.problem(SSL_CERTFILE, "missing", "a path, since ssl_keyfile is set");
    }
    if (certificate && !key) {
      values.problem(SSL_KEYFILE, "missing", "a path, since ssl_certfile is set");
    }
    if (!key && !certificate) {
      requireTls(values, SSL_KEYFILE_PASSWORD);
      requireTls(values, SSL_CA_CERTS);
    }
  }

  private static void requireTls(Values values, Key<?> key) {
    if (values.gives(key)) {
      values.problem(key, "set without TLS", "ssl_keyfile and ssl_certfile beside it");
    }
  }

  static HttpOptions from(Values values) {
    Path certificate = values.find(SSL_CERTFILE);
    Path key = values.find(SSL_KEYFILE);
    return new HttpOptions(
        values.get(HOST),
        values.get(PORT),
        values.get(ROOT_PATH),
        values.find(REQUEST_TIMEOUT_S),
        values.get(KEEP_ALIVE_TIMEOUT_S),
        certificate == null || key == null
            ? null
            : new TlsFiles(
                certificate, key, values.find(SSL_KEYFILE_PASSWORD), values.find(SSL_CA_CERTS)));
  }

  /** These options at another address. */
  public HttpOptions withAddress(String host, int port) {
    return new HttpOptions(host, port, rootPath, requestTimeout, keepAliveTimeout, tls);
  }
}
