package dev.berth.upstream.client;

import org.jspecify.annotations.Nullable;

/**
 * The resolved settings of an upstream. Immutable.
 *
 * @param host name or address, without brackets; {@code localhost} for a unix domain socket
 * @param socketPath path of a unix domain socket, which takes the place of host and port
 * @param tls null for plain HTTP
 * @param maxConnections limit of exchanges at the same time
 */
public record UpstreamTarget(
    String host,
    int port,
    @Nullable String socketPath,
    @Nullable UpstreamTls tls,
    ExchangeTimeouts timeouts,
    int maxConnections,
    AddressPolicy addresses,
    HttpChoice http) {

  /** Versions of HTTP that a client offers. */
  public enum HttpVersions {
    HTTP_1,
    /** HTTP/2 alone: by prior knowledge, or by ALPN under TLS. */
    HTTP_2,
    /** HTTP/2 if the peer selects it by ALPN, else HTTP/1.1; under TLS only. */
    NEGOTIATED;

    /** Returns the protocols of ALPN. */
    public String[] protocols() {
      return switch (this) {
        case HTTP_1 -> new String[0];
        case HTTP_2 -> new String[] {"h2"};
        case NEGOTIATED -> new String[] {"h2", "http/1.1"};
      };
    }
  }

  /**
   * The protocol.
   *
   * @param windowBytes flow-control window of a stream: maximum in flight beyond a pause
   */
  public record HttpChoice(HttpVersions versions, int windowBytes) {}

  /**
   * Timeouts in nanoseconds; 0 for none.
   *
   * @param connectNanos from the resolution of the name to the end of the TLS handshake
   * @param firstByteNanos from the end of the request to the head of the response
   * @param idleNanos between two parts of the response, and between two accepted parts of a request
   */
  public record ExchangeTimeouts(long connectNanos, long firstByteNanos, long idleNanos) {}

  /** Returns the value of the {@code host} field. */
  String authority() {
    String name = host.indexOf(':') < 0 ? host : "[" + host + "]"; // an IPv6 address
    boolean known = socketPath != null || port == (tls == null ? 80 : 443);
    return known ? name : name + ":" + port;
  }
}
