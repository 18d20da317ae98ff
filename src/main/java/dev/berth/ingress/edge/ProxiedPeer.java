package dev.berth.ingress.edge;

import dev.berth.protocol.RequestOrigin;
import io.netty.channel.Channel;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpServerRequest;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Peer of a connection that a trusted proxy opened. Handlers get {@code x-forwarded-for}, {@code
 * -proto} and {@code -host} with one value each, whatever headers came. Immutable.
 *
 * @param address of the client in the PROXY header, or else of the proxy
 */
public record ProxiedPeer(InetSocketAddress address, TrustedNetworks trusted) {
  private static final String FOR = "x-forwarded-for";
  private static final String PROTO = "x-forwarded-proto";
  private static final String HOST = "x-forwarded-host";

  /** Returns the peer of a connection; null if no trusted proxy opened it. */
  public static @Nullable ProxiedPeer of(Channel channel, TrustedNetworks trusted) {
    SocketAddress peer = channel.remoteAddress();
    if (!trusted.contain(peer)) {
      return null;
    }
    InetSocketAddress client = channel.attr(ProxyPreface.CLIENT).get();
    return new ProxiedPeer(client == null ? (InetSocketAddress) peer : client, trusted);
  }

  /** Replaces the headers of proxies by the origin that they name. */
  public void normalize(HttpServerRequest request) {
    MultiMap headers = request.headers();
    String scheme = request.isSSL() ? "https" : "http";
    RequestOrigin origin = ForwardedWalk.origin(headers, address, trusted, scheme);
    headers.remove("forwarded").remove("x-forwarded-port").remove(HOST);
    headers.set(FOR, origin.client()).set(PROTO, origin.scheme());
    if (origin.host() != null) {
      headers.set(HOST, origin.host());
    }
  }

  /** Returns the origin that a connection has by itself. */
  public static RequestOrigin direct(Channel channel, boolean tls) {
    SocketAddress peer = channel.remoteAddress();
    String client = peer instanceof InetSocketAddress of ? ForwardedWalk.text(of) : "";
    return new RequestOrigin(client, tls ? "https" : "http", null);
  }

  /** Returns the origin of a request with normalized headers. */
  public static RequestOrigin originIn(MultiMap headers) {
    return new RequestOrigin(
        String.valueOf(headers.get(FOR)), String.valueOf(headers.get(PROTO)), headers.get(HOST));
  }
}
