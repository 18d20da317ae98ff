package dev.berth.ingress;

import io.netty.handler.ipfilter.IpFilterRuleType;
import io.netty.handler.ipfilter.IpSubnetFilterRule;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * How fast an address may open connections: so many a second, and what it did not open in the last
 * ten seconds besides. Who is faster is let wait for its turn, and past a second is closed. One
 * that the instance cut for a flood counts as many, since it cost as much. Of IPv6 a network of 64
 * bits is one address. Any thread.
 */
final class ConnectionRate {
  /** It is not served. */
  static final long REFUSED = -1;

  /** What one that was cut counts as. */
  static final int CUT = 50;

  /** How long one may wait for its turn. */
  static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long BURST_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** The least lately seen beyond these are forgotten, and begin anew. */
  static final int MOST_ADDRESSES = 4096;

  private final long nanosEach; // 0 for no bound
  private final List<IpSubnetFilterRule> trusted;
  private final Map<Object, Long> paidUntil =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Object, Long> eldest) {
          return size() > MOST_ADDRESSES;
        }
      };

  /**
   * @param perSecond connections of one address; 0 for no bound
   * @param trusted addresses and networks that have none
   */
  ConnectionRate(int perSecond, List<String> trusted) {
    this.nanosEach = perSecond == 0 ? 0 : TimeUnit.SECONDS.toNanos(1) / perSecond;
    this.trusted = trusted.stream().map(ConnectionRate::network).toList();
  }

  private static IpSubnetFilterRule network(String text) {
    int whole = text.indexOf(':') < 0 ? 32 : 128;
    return text.indexOf('/') < 0
        ? new IpSubnetFilterRule(text, whole, IpFilterRuleType.ACCEPT)
        : new IpSubnetFilterRule(text, IpFilterRuleType.ACCEPT);
  }

  /** Counts a connection: nanoseconds until it is served, or {@link #REFUSED}, and not counted. */
  long open(@Nullable SocketAddress from, long now) {
    return charge(from, 1, PATIENCE_NANOS, now);
  }

  /** A connection of this address was cut for a flood. */
  void cut(@Nullable SocketAddress from, long now) {
    charge(from, CUT, Long.MAX_VALUE, now);
  }

  private long charge(@Nullable SocketAddress of, int connections, long patience, long now) {
    if (nanosEach == 0
        || !(of instanceof InetSocketAddress from)
        || trusted.stream().anyMatch(network -> network.matches(from))) {
      return 0;
    }
    synchronized (paidUntil) {
      Object key = keyOf(from.getAddress());
      Long known = paidUntil.get(key);
      long until = known == null || known - now < 0 ? now : known;
      long wait = Math.max(0, until - now - BURST_NANOS);
      if (wait > patience) {
        return REFUSED;
      }
      // Floods are not saved up for hours.
      long most = now + BURST_NANOS + BURST_NANOS;
      paidUntil.put(key, Math.min(until + connections * nanosEach, most));
      return wait;
    }
  }

  private static Object keyOf(InetAddress address) {
    byte[] bytes = address.getAddress();
    return bytes.length == 4 ? address : ByteBuffer.wrap(bytes).getLong();
  }
}
