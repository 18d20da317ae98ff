package dev.berth.ingress.limit;

import io.netty.channel.Channel;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.ssl.SslHandler;
import io.vertx.core.http.impl.Http1xOrH2CHandler;
import io.vertx.core.http.impl.Http1xUpgradeToH2CHandler;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Set of connections in their first phase on some ports: the TLS handshake on ports for other
 * nodes, the protocol detection on other ports. Above the limit, the oldest connection is closed:
 * an honest one completes in milliseconds, and a silent one soon becomes the oldest. Thread-safe.
 */
public final class HandshakeLimiter {
  /** Maximum number of such connections on all of these ports. */
  private static final int MAX_HANDSHAKES = 256;

  private final Set<Channel> begun = new LinkedHashSet<>(); // completed ones stay until it is full
  private long ended;

  public synchronized void begin(Channel accepted) {
    begun.add(accepted);
    accepted.closeFuture().addListener(closed -> forget(accepted));
    if (begun.size() > MAX_HANDSHAKES) {
      begun.removeIf(HandshakeLimiter::isOver);
    }
    if (begun.size() > MAX_HANDSHAKES) {
      Iterator<Channel> each = begun.iterator();
      Channel oldest = each.next();
      each.remove(); // its loop may take a while to close it
      oldest.close();
      ended++;
    }
  }

  private synchronized void forget(Channel closed) {
    begun.remove(closed);
  }

  /** Returns the number of connections closed above the limit. */
  public synchronized long closedCount() {
    return ended;
  }

  /** Returns whether the TLS handshake is complete, or Vert.x has detected the protocol. */
  private static boolean isOver(Channel accepted) {
    ChannelPipeline pipeline = accepted.pipeline();
    SslHandler tls = pipeline.get(SslHandler.class);
    return tls != null
        ? tls.handshakeFuture().isDone()
        : pipeline.get(Http1xOrH2CHandler.class) == null
            && pipeline.get(Http1xUpgradeToH2CHandler.class) == null;
  }
}
