package dev.berth.config;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * {@code http_options}: where requests come in.
 *
 * @param host name or address to listen on
 * @param port TCP port, 0 to 65535; 0 takes any free one
 * @param requestTimeout from arrival to the end of the answer, then 408; null is no bound
 * @param keepAliveTimeout how long a connection may stay open between two requests
 */
public record HttpOptions(
    String host, int port, @Nullable Duration requestTimeout, Duration keepAliveTimeout) {

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

  static final Section SECTION =
      Section.of(HOST, PORT, REQUEST_TIMEOUT_S, KEEP_ALIVE_TIMEOUT_S)
          .notYet(
              "root_path",
              "ssl_keyfile",
              "ssl_certfile",
              "ssl_keyfile_password",
              "ssl_ca_certs",
              "location",
              "num_cpus",
              "middlewares");

  /** Checks each value against its key. */
  public HttpOptions {
    HOST.require(host);
    PORT.require(port);
    REQUEST_TIMEOUT_S.requireIfSet(requestTimeout);
    KEEP_ALIVE_TIMEOUT_S.require(keepAliveTimeout);
  }

  /** What a file that says nothing gives. */
  public static HttpOptions defaults() {
    return from(Values.empty(SECTION));
  }

  static HttpOptions from(Values values) {
    return new HttpOptions(
        values.get(HOST),
        values.get(PORT),
        values.find(REQUEST_TIMEOUT_S),
        values.get(KEEP_ALIVE_TIMEOUT_S));
  }

  /** These options at another address. */
  public HttpOptions withAddress(String host, int port) {
    return new HttpOptions(host, port, requestTimeout, keepAliveTimeout);
  }
}
