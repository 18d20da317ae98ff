package dev.berth.ingress;

import io.netty.channel.Channel;
import io.netty.handler.ssl.SslHandler;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * The connections to ports for other nodes whose TLS handshake is not over. There may be so many;
 * past it the oldest gives way: one of a node is over in milliseconds, and one that says nothing is
 * the oldest soon. Any thread.
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

  private static boolean isOver(Channel accepted) {
    SslHandler tls = accepted.pipeline().get(SslHandler.class);
    return tls != null && tls.handshakeFuture().isDone();
  }
}
