package dev.berth.upstream.client;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
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
 * @param reserved further ports by address, in its shortest form; thread-safe
 * @param only address that takes the place of the name's addresses; null for none
 */
public record AddressPolicy(
    boolean loopbackOnly,
    Set<Integer> ownPorts,
    Set<InetAddress> ownAddresses,
    Supplier<Map<String, Set<Integer>>> reserved,
    @Nullable String only) {
  /** Kinds of refused addresses, by their first hexadecimal digits. */
  private static final Map<String, String> REFUSED_V4 =
      Map.of(
          "00", "unspecified",
          "a9fe", "link-local", // with 169.254.169.254
          "646464c8", "a metadata address", // 100.100.100.200
          "a83f8110", "a metadata address", // 168.63.129.16
          "c00000c0", "a metadata address", // 192.0.0.192
          "e", "multicast",
          "ffffffff", "multicast");

  private static final Map<String, String> REFUSED_V6 =
      Map.of(
          "0".repeat(32),
          "unspecified",
          "fd2000ce000000000000000000000254",
          "a metadata address",
          "fe8",
          "link-local",
          "fe9",
          "link-local",
          "fea",
          "link-local",
          "feb",
          "link-local",
          "fd000ec2000000000000000000000254",
          "a metadata address",
          "ff",
          "multicast");

  private static final String LOOPBACK_V6 = "0".repeat(31) + "1";

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

  AddressPolicy(boolean loopbackOnly, Set<Integer> ownPorts, Set<InetAddress> ownAddresses) {
    this(loopbackOnly, ownPorts, ownAddresses, Map::of, null);
  }

  /** Returns a policy for this host. Reads the network interfaces, so not for an event loop. */
  public static AddressPolicy ofHost(
      Set<Integer> ownPorts, Supplier<Map<String, Set<Integer>>> reserved) {
    try {
      Set<InetAddress> own =
          NetworkInterface.networkInterfaces()
              .flatMap(NetworkInterface::inetAddresses)
              .collect(Collectors.toUnmodifiableSet());
      return new AddressPolicy(false, Set.copyOf(ownPorts), own, reserved, null);
    } catch (SocketException unreadable) {
      throw new IllegalStateException("network interfaces: not readable", unreadable);
    }
  }

  /** Returns the same policy for credentials over plain HTTP. */
  public AddressPolicy onlyLoopback() {
    return new AddressPolicy(true, ownPorts, ownAddresses, reserved, only);
  }

  /** Returns the same policy for one address of the name. */
  public AddressPolicy only(@Nullable String address) {
    return new AddressPolicy(loopbackOnly, ownPorts, ownAddresses, reserved, address);
  }

  /** Returns the reason why a connect is refused; null if it is permitted. */
  public @Nullable String refusal(InetAddress address, int port) {
    String digits = HexFormat.of().formatHex(address.getAddress());
    String kind = kind(digits);
    if (kind != null) {
      return "address %s: %s (expected: an upstream)".formatted(address.getHostAddress(), kind);
    }
    boolean own = forms(digits).anyMatch(this::isOwn);
    if (own && ownPorts.contains(port)) {
      return "port %d: one of this instance's own (expected: an upstream)".formatted(port);
    }
    for (Map.Entry<String, Set<Integer>> each : reserved.get().entrySet()) {
      String node = digits(each.getKey());
      boolean same = own ? isOwn(node) : forms(digits).anyMatch(node::equals);
      if (same && each.getValue().contains(port)) {
        return "port %d: one of this cluster's own (expected: an upstream)".formatted(port);
      }
    }
    return loopbackOnly && !address.isLoopbackAddress()
        ? "address %s: credentials over plain HTTP (expected: https, or the loopback interface)"
            .formatted(address.getHostAddress())
        : null;
  }

  private static String digits(String address) {
    return HexFormat.of().formatHex(NetUtil.createByteArrayFromIpAddressString(address));
  }

  /** Returns the kind of a refused address; null if it is permitted. */
  private static @Nullable String kind(String digits) {
    return forms(digits)
        .flatMap(
            form ->
                (form.length() == 8 ? REFUSED_V4 : REFUSED_V6)
                    .entrySet().stream()
                        .filter(refused -> form.startsWith(refused.getKey()))
                        .map(Map.Entry::getValue))
        .findFirst()
        .orElse(null);
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

  private boolean isOwn(String form) {
    boolean loopback = form.startsWith("7f") ? form.length() == 8 : form.equals(LOOPBACK_V6);
    return loopback
        || ownAddresses.stream()
            .anyMatch(own -> HexFormat.of().formatHex(own.getAddress()).equals(form));
  }
}
