package dev.berth.ingress.edge;

import io.netty.util.NetUtil;
import io.vertx.core.MultiMap;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
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
  private static final Pattern HOST = Pattern.compile("[A-Za-z0-9._~-]{1,255}(:\\d{1,5})?");
  private static final Pattern HOST_V6 = Pattern.compile("\\[[0-9a-fA-F:.]{2,45}](:\\d{1,5})?");
  private static final Pattern PORT = Pattern.compile("\\d{1,5}");
  private static final Pattern PORT_OF = Pattern.compile(":\\d+$");

  /** A pair of an element of Forwarded, or the end of the element. */
  private static final Pattern PAIR =
      Pattern.compile(
          "\\s*(?:([A-Za-z]+)=(?:\"((?:[^\"\\\\]|\\\\.)*+)\"|([^\\s\";,]*+)))?\\s*([;,]|\\z)");

  private final List<@Nullable String> clients = new ArrayList<>(); // from the nearest hop
  private final List<@Nullable String> schemes = new ArrayList<>();
  private final List<@Nullable String> hosts = new ArrayList<>();
  private InetSocketAddress client; // found so far

  private ForwardedWalk(InetSocketAddress peer) {
    client = peer;
  }

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
    ForwardedWalk common = new ForwardedWalk(peer);
    common.split(headers, "x-forwarded-for", common.clients);
    common.split(headers, "x-forwarded-proto", common.schemes);
    common.split(headers, "x-forwarded-host", common.hosts);
    ForwardedWalk standard = new ForwardedWalk(peer);
    standard.elements(String.join(",", headers.getAll("forwarded")));
    RequestOrigin one = common.origin(direct, headers.get("x-forwarded-port"), trusted);
    RequestOrigin other = standard.origin(direct, null, trusted);
    if (standard.clients.isEmpty()) {
      return one;
    }
    boolean alone = common.clients.isEmpty() && common.schemes.isEmpty() && common.hosts.isEmpty();
    return alone || one.equals(other) ? other : direct;
  }

  private RequestOrigin origin(
      RequestOrigin direct, @Nullable String port, TrustedNetworks trusted) {
    int hop = walk(trusted);
    String scheme = String.valueOf(at(schemes, hop)).toLowerCase(Locale.ROOT);
    String host = at(hosts, hop);
    boolean named =
        host != null && (HOST.matcher(host).matches() || HOST_V6.matcher(host).matches());
    if (named && port != null && PORT.matcher(port).matches() && !PORT_OF.matcher(host).find()) {
      host += ":" + port;
    }
    return new RequestOrigin(
        text(client),
        scheme.matches("https?") ? scheme : direct.scheme(),
        named ? host : direct.host());
  }

  private void split(MultiMap headers, String name, List<@Nullable String> into) {
    List<String> lines = headers.getAll(name);
    if (!lines.isEmpty()) {
      for (String each : String.join(",", lines).split(",", -1)) {
        into.add(0, each.strip());
      }
    }
  }

  /** Reads Forwarded. A malformed element hides itself and all before it. */
  private void elements(String text) {
    Matcher pairs = PAIR.matcher(text);
    @Nullable String[] element = new @Nullable String[3];
    int end = 0;
    while (end < text.length()) {
      if (!pairs.region(end, text.length()).lookingAt()) {
        int next = text.indexOf(',', end);
        end = next < 0 ? text.length() : next + 1;
        element = add(new @Nullable String[3]);
        continue;
      }
      String value = pairs.group(3) != null ? pairs.group(3) : unquoted(pairs.group(2));
      switch (String.valueOf(pairs.group(1)).toLowerCase(Locale.ROOT)) {
        case "for" -> element[0] = value;
        case "proto" -> element[1] = value;
        case "host" -> element[2] = value;
        default -> {}
      }
      end = pairs.end();
      if (!";".equals(pairs.group(4))) {
        element = add(element);
      }
    }
  }

  private @Nullable String[] add(@Nullable String[] element) {
    clients.add(0, element[0]);
    schemes.add(0, element[1]);
    hosts.add(0, element[2]);
    return new @Nullable String[3];
  }

  private static @Nullable String unquoted(@Nullable String text) {
    return text == null ? null : text.replaceAll("\\\\(.)", "$1");
  }

  /** Finds the client. Returns the index of its hop, or 0 if no hop names one. */
  private int walk(TrustedNetworks trusted) {
    int hop = 0;
    for (int i = 0; i < clients.size() && trusted.contain(client); i++) {
      InetSocketAddress next = address(clients.get(i));
      if (next == null) {
        break;
      }
      client = next;
      hop = i;
    }
    return hop;
  }

  /** Returns the value of a hop. A list that is shorter has one value for all farther hops. */
  private static @Nullable String at(List<@Nullable String> values, int hop) {
    return values.isEmpty() ? null : values.get(Math.min(hop, values.size() - 1));
  }

  /** Returns an address of an IP address with or without a port; null for anything else. */
  static @Nullable InetSocketAddress address(@Nullable String hop) {
    if (hop == null || hop.length() > 60) {
      return null;
    }
    String host = hop;
    int port = hop.lastIndexOf(':');
    boolean brackets = hop.startsWith("[");
    if (brackets || (port >= 0 && port == hop.indexOf(':'))) { // else no port, or IPv6
      int end = brackets ? hop.indexOf(']') : port;
      String rest = end < 0 ? "?" : hop.substring(brackets ? end + 1 : end);
      if (!rest.isEmpty() && !rest.matches(":\\d{1,5}")) {
        return null;
      }
      host = hop.substring(brackets ? 1 : 0, end);
    }
    byte[] bytes = host.indexOf('%') < 0 ? NetUtil.createByteArrayFromIpAddressString(host) : null;
    if (bytes == null || brackets && host.indexOf(':') < 0) {
      return null;
    }
    try {
      return new InetSocketAddress(InetAddress.getByAddress(bytes), 0);
    } catch (UnknownHostException otherLength) {
      return null;
    }
  }

  static String text(InetSocketAddress address) {
    return NetUtil.toAddressString(address.getAddress());
  }
}
