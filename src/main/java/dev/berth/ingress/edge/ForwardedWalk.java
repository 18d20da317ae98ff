package dev.berth.ingress.edge;

import dev.berth.protocol.RequestOrigin;
import io.netty.util.NetUtil;
import io.vertx.core.MultiMap;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Walk over the hops in {@code Forwarded} (RFC 7239) or {@code X-Forwarded-*}, from the nearest
 * one. Stops at the first hop that is not a trusted proxy, or that is malformed.
 */
final class ForwardedWalk {
  /** Maximum hops of a walk, since a walk runs on the event loop. */
  private static final int MAX_HOPS = 32;

  private static final Pattern HOST =
      Pattern.compile(
          "(?:[A-Za-z0-9._~-]{1,255}|\\[[0-9a-fA-F:.]{2,45}])(:"
              + "(?:[0-5]?\\d{1,4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5]))?");

  /** An address with or without a port, where IPv6 with a port has brackets. */
  private static final Pattern ADDRESS =
      Pattern.compile(
          "([0-9.]+)(?::\\d{1,5})?|\\[([0-9a-fA-F:.]+)](?::\\d{1,5})?|([0-9a-fA-F:.]+)");

  /** A pair of an element of Forwarded, with the end of the pair. */
  private static final Pattern PAIR =
      Pattern.compile(
          "\\s*+(?:([A-Za-z]+)=(?:\"((?:[^\"\\\\]|\\\\.)*+)\"|([^\\s\";,]*+)))?\\s*([;,]|\\z)");

  /** A hop, as the next proxy saw it. All parts are texts of a header, or null. */
  private record ForwardedHop(
      @Nullable String client, @Nullable String scheme, @Nullable String host) {}

  private ForwardedWalk() {}

  /**
   * Returns the origin of a request whose connection comes from a peer. If both forms are present
   * and differ, neither counts, since a client may have sent one of them.
   */
  static RequestOrigin origin(
      MultiMap headers, InetSocketAddress peer, TrustedNetworks trusted, String scheme) {
    RequestOrigin direct = new RequestOrigin(text(peer), scheme, headers.get("host"));
    if (!trusted.contain(peer)) {
      return direct;
    }
    List<ForwardedHop> common = common(headers);
    List<ForwardedHop> standard = standard(String.join(",", headers.getAll("forwarded")));
    RequestOrigin one = walk(common, peer, trusted, direct);
    RequestOrigin other = walk(standard, peer, trusted, direct);
    if (standard.isEmpty()) {
      return one;
    }
    return common.isEmpty() || one.equals(other) ? other : direct;
  }

  private static RequestOrigin walk(
      List<ForwardedHop> hops,
      InetSocketAddress peer,
      TrustedNetworks trusted,
      RequestOrigin direct) {
    InetSocketAddress client = peer;
    ForwardedHop last = hops.isEmpty() ? new ForwardedHop(null, null, null) : hops.get(0);
    for (ForwardedHop each : hops) {
      InetSocketAddress next = trusted.contain(client) ? address(each.client) : null;
      if (next == null) {
        break;
      }
      client = next;
      last = each;
    }
    String scheme = String.valueOf(last.scheme).toLowerCase(Locale.ROOT);
    boolean named = RequestOrigin.isHost(last.host) && HOST.matcher(last.host).matches();
    return new RequestOrigin(
        text(client),
        scheme.matches("https?") ? scheme : direct.scheme(),
        named ? last.host : direct.host());
  }

  /** Reads X-Forwarded-*. A list that is shorter has one value for all farther hops. */
  private static List<ForwardedHop> common(MultiMap headers) {
    List<String> clients = list(headers, "x-forwarded-for");
    List<String> schemes = list(headers, "x-forwarded-proto");
    List<String> hosts = list(headers, "x-forwarded-host");
    String port = String.valueOf(headers.get("x-forwarded-port"));
    if (port.matches("\\d{1,5}")) {
      hosts.replaceAll(
          host ->
              RequestOrigin.isHost(host) && !host.matches(".*:\\d+") ? host + ":" + port : host);
    }
    List<ForwardedHop> hops = new ArrayList<>();
    for (int i = 0; i < Math.max(clients.size(), schemes.size() + hosts.size() > 0 ? 1 : 0); i++) {
      String client = i < clients.size() ? clients.get(i) : null;
      hops.add(new ForwardedHop(client, at(schemes, i), at(hosts, i)));
    }
    return hops;
  }

  private static @Nullable String at(List<String> values, int hop) {
    return values.isEmpty() ? null : values.get(Math.min(hop, values.size() - 1));
  }

  private static List<String> list(MultiMap headers, String name) {
    List<String> values = new ArrayList<>();
    for (String line : headers.getAll(name)) {
      for (String each : line.split(",", -1)) {
        values.add(each.strip());
      }
    }
    return nearest(values);
  }

  /** Returns the last values of a list, the nearest one first. */
  private static <T> List<T> nearest(List<T> values) {
    List<T> last = values.subList(Math.max(0, values.size() - MAX_HOPS), values.size());
    Collections.reverse(last);
    return last;
  }

  /** Reads Forwarded. A malformed element names no client, and so ends the walk. */
  private static List<ForwardedHop> standard(String text) {
    List<ForwardedHop> hops = new ArrayList<>();
    Matcher pairs = PAIR.matcher(text);
    @Nullable String[] hop = new @Nullable String[3];
    for (int end = 0; end < text.length(); ) {
      boolean fine = pairs.region(end, text.length()).lookingAt();
      int comma = fine ? 0 : text.indexOf(',', end);
      end = fine ? pairs.end() : comma < 0 ? text.length() : comma + 1;
      String name = fine && pairs.group(1) != null ? pairs.group(1).toLowerCase(Locale.ROOT) : "";
      int part = List.of("for", "proto", "host").indexOf(name);
      if (part >= 0) {
        String quoted = pairs.group(2);
        hop[part] = quoted == null ? pairs.group(3) : quoted.replaceAll("\\\\(.)", "$1");
      }
      if (!fine || !pairs.group(4).equals(";")) {
        hops.add(new ForwardedHop(fine ? hop[0] : null, hop[1], hop[2]));
        hop = new @Nullable String[3];
      }
    }
    return nearest(hops);
  }

  /** Returns the address of an IP address with or without a port; null for anything else. */
  static @Nullable InetSocketAddress address(@Nullable String hop) {
    Matcher parts = ADDRESS.matcher(hop == null || hop.length() > 60 ? "" : hop);
    if (!parts.matches()) {
      return null;
    }
    String v6 = parts.group(2) == null ? parts.group(3) : parts.group(2);
    byte[] bytes = NetUtil.createByteArrayFromIpAddressString(v6 == null ? parts.group(1) : v6);
    try {
      return bytes == null || (v6 != null && v6.indexOf(':') < 0)
          ? null
          : new InetSocketAddress(InetAddress.getByAddress(bytes), 0);
    } catch (UnknownHostException otherLength) {
      return null;
    }
  }

  static String text(InetSocketAddress address) {
    return NetUtil.toAddressString(address.getAddress());
  }
}
