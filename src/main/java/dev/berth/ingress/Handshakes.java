package dev.berth.ingress;

import io.netty.channel.Channel;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.ssl.SslHandler;
import io.vertx.core.http.impl.Http1xOrH2CHandler;
import io.vertx.core.http.impl.Http1xUpgradeToH2CHandler;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * The connections to some ports whose beginning is not over: the TLS handshake on ports for other
 * nodes, the bytes that show the protocol on others. There may be so many; past it the oldest gives
 * way: an honest one is over in milliseconds, and a silent one is the oldest soon. Any thread.
 */
final class Handshakes {
  /** Connections, of all of these ports. */
  private static final int MOST = 256;

  private final Set<Channel> begun = new LinkedHashSet<>(); // some are over, until it is full
  private long ended;

  synchronized void begin(Channel accepted) {
    begun.add(accepted);
    accepted.closeFuture().addListener(closed -> forget(accepted));
    if (begun.size() > MOST) {
      begun.removeIf(Handshakes::isOver);
    }
    if (begun.size() > MOST) {
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

  /** Those that gave way so far. */
  synchronized long ended() {
    return ended;
  }

  /** Whether TLS is set up, or Vert.x has chosen the protocol and shows the connection. */
  private static boolean isOver(Channel accepted) {
    ChannelPipeline pipeline = accepted.pipeline();
    SslHandler tls = pipeline.get(SslHandler.class);
    return tls != null
        ? tls.handshakeFuture().isDone()
        : pipeline.get(Http1xOrH2CHandler.class) == null
            && pipeline.get(Http1xUpgradeToH2CHandler.class) == null;
  }
}
