package dev.berth.cluster.link;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;

/** Connects to other nodes. It tries once; when to try again is its caller's. */
public final class LinkDialer {
  /** How long a connect may take, in milliseconds; the handshake comes after it. */
  static final int CONNECT_MS = 2_000;

  private final NetClient client; // kept here, for one that nobody refers to is closed

  public LinkDialer(Vertx vertx, LinkTls tls) {
    client = vertx.createNetClient(tls.client().setConnectTimeout(CONNECT_MS));
    tls.renewClient(client::updateSSLOptions);
  }

  /** A connection on the event loop that this is called on, its handshake over. */
  public Future<NetSocket> dial(String host, int port) {
    return client.connect(port, host);
  }

  /** Connects no more. Links that it began are ended before: else they are waited for. */
  public Future<Void> close() {
    return client.close();
  }
}
