package dev.berth.ingress.limit;

import dev.berth.ingress.edge.TrustedNetworks;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Rate limit for new connections per client address, with a burst of ten seconds. A connection
 * above the rate waits up to one second, and beyond that is closed. A connection closed for a flood
 * counts as {@link #CUT} connections, since it cost as much. An IPv6 network of 64 bits counts as
 * one address. Thread-safe.
 */
public final class ConnectionRateLimiter {
  /** Result for a connection that must be closed. */
  public static final long REFUSED = -1;

  /** Connections charged for one that was closed for a flood. */
  static final int CUT = 50;

  /** Maximum delay of a connection in nanoseconds. */
  static final long MAX_DELAY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long BURST_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Maximum number of addresses. Above it, the least recently seen address loses its record. */
  public static final int MAX_ADDRESSES = 4096;

  private final long nanosEach; // 0 for no limit
  private final TrustedNetworks trusted;
  private final Map<Object, Long> paidUntil =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Object, Long> eldest) {
          return size() > MAX_ADDRESSES;
        }
      };

  /**
   * @param perSecond connections per address; 0 for no limit
   * @param trusted addresses and networks without a limit
   */
  public ConnectionRateLimiter(int perSecond, TrustedNetworks trusted) {
    this.nanosEach = perSecond == 0 ? 0 : TimeUnit.SECONDS.toNanos(1) / perSecond;
    this.trusted = trusted;
  }

  /**
   * Counts a connection. Returns its delay in nanoseconds, or {@link #REFUSED}, which is not
   * counted.
   */
  public long open(@Nullable SocketAddress from, long now) {
    return charge(from, 1, MAX_DELAY_NANOS, now);
  }

  /** Charges an address for a connection that was closed for a flood. */
  public void chargeFlood(@Nullable SocketAddress from, long now) {
    charge(from, CUT, Long.MAX_VALUE, now);
  }

  private long charge(@Nullable SocketAddress of, int connections, long patience, long now) {
    if (nanosEach == 0 || !(of instanceof InetSocketAddress from) || trusted.contain(from)) {
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
      // Caps the debt of a flood, which could last for hours.
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
