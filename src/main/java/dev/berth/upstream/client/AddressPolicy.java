package dev.berth.upstream.client;

import java.net.InetAddress;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The addresses that an upstream's name may resolve to. Each connect resolves the name, checks the
 * address and uses that very address.
 *
 * @param loopbackOnly refuses other hosts, for credentials over plain HTTP
 * @param ownPorts ports of this instance
 * @param ownAddresses addresses of this host, beside the loopback addresses
 */
public record AddressPolicy(
    boolean loopbackOnly, Set<Integer> ownPorts, Set<InetAddress> ownAddresses) {

  /** Returns a policy for this host. Reads the network interfaces, so not for an event loop. */
  public static AddressPolicy ofHost(Set<Integer> ownPorts) {
    throw new UnsupportedOperationException();
  }

  /** Returns the same policy for credentials over plain HTTP. */
  public AddressPolicy onlyLoopback() {
    return new AddressPolicy(true, ownPorts, ownAddresses);
  }

  /** Returns the reason why a connect is refused; null if it is permitted. */
  public @Nullable String refusal(InetAddress address, int port) {
    throw new UnsupportedOperationException();
  }
}
