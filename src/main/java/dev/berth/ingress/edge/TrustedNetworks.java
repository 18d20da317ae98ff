package dev.berth.ingress.edge;

import io.netty.handler.ipfilter.IpFilterRuleType;
import io.netty.handler.ipfilter.IpSubnetFilterRule;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Addresses and networks of trusted proxies. Immutable. */
public final class TrustedNetworks {
  private final List<IpSubnetFilterRule> networks;

  /**
   * @param networks IP addresses and networks, as in 10.0.0.0/8
   */
  public TrustedNetworks(List<String> networks) {
    this.networks = networks.stream().map(TrustedNetworks::network).toList();
  }

  private static IpSubnetFilterRule network(String text) {
    int whole = text.indexOf(':') < 0 ? 32 : 128;
    return text.indexOf('/') < 0
        ? new IpSubnetFilterRule(text, whole, IpFilterRuleType.ACCEPT)
        : new IpSubnetFilterRule(text, IpFilterRuleType.ACCEPT);
  }

  /** Returns whether a peer is a trusted proxy. */
  public boolean contain(@Nullable SocketAddress peer) {
    return !networks.isEmpty()
        && peer instanceof InetSocketAddress from
        && !from.isUnresolved()
        && networks.stream().anyMatch(network -> network.matches(from));
  }
}
