package dev.berth.upstream.client;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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
  private static final String IPV4_LINK_LOCAL = "a9fe"; // 169.254/16, with 169.254.169.254

  /** Addresses in hexadecimal digits at which clouds serve credentials. */
  private static final Set<String> METADATA =
      Set.of("646464c8", "a83f8110", "fd000ec2000000000000000000000254");

  /** Prefixes of IPv6 addresses that contain an IPv4 address, and its offset in digits. */
  private static final List<EmbeddedForm> EMBEDDED =
      List.of(
          new EmbeddedForm("00000000000000000000ffff", 24), // v4-mapped
          new EmbeddedForm("0000000000000000ffff0000", 24), // v4-translated (RFC 2765)
          new EmbeddedForm("000000000000000000000000", 24), // v4-compatible
          new EmbeddedForm("0064ff9b0000000000000000", 24), // NAT64 (RFC 6052)
          new EmbeddedForm("0064ff9b0001", 24), // NAT64 of a site (RFC 8215), as a /96
          new EmbeddedForm("2002", 4)); // 6to4

  private record EmbeddedForm(String prefix, int offset) {}

  /** Returns a policy for this host. Reads the network interfaces, so not for an event loop. */
  public static AddressPolicy ofHost(Set<Integer> ownPorts) {
    try {
      Set<InetAddress> own =
          NetworkInterface.networkInterfaces()
              .flatMap(NetworkInterface::inetAddresses)
              .collect(Collectors.toUnmodifiableSet());
      return new AddressPolicy(false, Set.copyOf(ownPorts), own);
    } catch (SocketException unreadable) {
      throw new IllegalStateException("network interfaces: not readable", unreadable);
    }
  }

  /** Returns the same policy for credentials over plain HTTP. */
  public AddressPolicy onlyLoopback() {
    return new AddressPolicy(true, ownPorts, ownAddresses);
  }

  /** Returns the reason why a connect is refused; null if it is permitted. */
  public @Nullable String refusal(InetAddress address, int port) {
    String digits = HexFormat.of().formatHex(address.getAddress());
    String kind = kind(digits);
    if (kind != null) {
      return "address %s: %s (expected: an upstream)".formatted(address.getHostAddress(), kind);
    }
    boolean local = forms(digits).anyMatch(AddressPolicy::isLoopback);
    if (ownPorts.contains(port) && (local || isOwn(digits))) {
      return "port %d: one of this instance's own (expected: an upstream)".formatted(port);
    }
    return loopbackOnly && !address.isLoopbackAddress()
        ? "address %s: credentials over plain HTTP (expected: https, or the loopback interface)"
            .formatted(address.getHostAddress())
        : null;
  }

  /** Returns the kind of a refused address; null if it is permitted. */
  private static @Nullable String kind(String digits) {
    return forms(digits)
        .map(AddressPolicy::kindOf)
        .filter(found -> found != null)
        .findFirst()
        .orElse(null);
  }

  private static @Nullable String kindOf(String digits) {
    boolean v4 = digits.length() == 8;
    if (METADATA.contains(digits)) {
      return "a metadata address";
    }
    if (v4 ? digits.startsWith("00") : digits.chars().allMatch(each -> each == '0')) {
      return "unspecified";
    }
    int high = Integer.parseInt(digits.substring(0, 3), 16);
    if (v4 ? digits.startsWith(IPV4_LINK_LOCAL) : high >= 0xfe8 && high <= 0xfeb) {
      return "link-local";
    }
    boolean multicast = v4 ? high >= 0xe00 && high < 0xf00 : high >= 0xff0;
    return multicast || digits.equals("ffffffff") ? "multicast" : null;
  }

  /** Returns an address and the IPv4 address in it. */
  private static Stream<String> forms(String digits) {
    if (digits.length() == 8) {
      return Stream.of(digits);
    }
    return Stream.concat(
        Stream.of(digits),
        EMBEDDED.stream()
            .filter(form -> digits.startsWith(form.prefix))
            .filter(form -> !digits.startsWith("000000000000000000000000000000"))
            .map(form -> digits.substring(form.offset, form.offset + 8)));
  }

  private static boolean isLoopback(String digits) {
    return digits.length() == 8
        ? digits.startsWith("7f")
        : digits.equals("00000000000000000000000000000001");
  }

  private boolean isOwn(String digits) {
    return forms(digits)
        .anyMatch(
            form ->
                ownAddresses.stream()
                    .anyMatch(own -> HexFormat.of().formatHex(own.getAddress()).equals(form)));
  }
}
