package dev.berth.net.http;

import io.netty.util.NetUtil;
import io.vertx.core.net.impl.HostAndPortImpl;
import org.jspecify.annotations.Nullable;

/**
 * Validation of request targets (RFC 9112, 3.2, and RFC 3986). Paths are used as received. Dot
 * segments are not resolved, so that a path has the same meaning here as for a proxy that inspected
 * it.
 */
public final class RequestTarget {
  private RequestTarget() {}

  /**
   * Returns the refusal of a target that is malformed or not for an origin server; null if valid.
   *
   * @param method as sent
   * @param target with the query; in origin-form, or {@code *}
   */
  public static @Nullable RefusedRequest refusal(String method, String target) {
    if (method.equals("CONNECT") || method.equals("TRACE")) {
      return RefusedRequest.unsupported(405, "method: for proxies only (expected: GET, POST, ...)");
    }
    return isOriginForm(target) || (target.equals("*") && method.equals("OPTIONS"))
        ? null
        : RefusedRequest.malformed("request target: malformed (expected: a path, percent-encoded)");
  }

  /**
   * Returns whether a target is a path with an optional query. In the query, a percent sign may
   * stand for itself.
   */
  private static boolean isOriginForm(String target) {
    int length = target.length();
    if (length == 0 || target.charAt(0) != '/') {
      return false;
    }
    boolean inPath = true;
    for (int i = 1; i < length; i++) {
      char c = target.charAt(i);
      if (c <= ' ' || c >= 0x7f || c == '#') {
        return false;
      } else if (c == '?') {
        inPath = false;
      } else if (c == '%' && inPath && !isEncoded(target, i + 1)) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether two hexadecimal digits follow, and do not encode NUL. */
  private static boolean isEncoded(String target, int from) {
    if (from + 1 >= target.length()) {
      return false;
    }
    int high = Character.digit(target.charAt(from), 16);
    int low = Character.digit(target.charAt(from + 1), 16);
    return high >= 0 && low >= 0 && high + low > 0;
  }

  /**
   * Returns whether a Host field may have this value: a name or an address, with an optional port.
   */
  static boolean isHost(String value) {
    if (!HostAndPortImpl.isValidAuthority(value) || value.startsWith(":")) {
      return false;
    }
    // Inside brackets, Vert.x only looks for the end.
    return !value.startsWith("[")
        || (value.indexOf('%') < 0
            && NetUtil.isValidIpV6Address(value.substring(1, value.indexOf(']'))));
  }
}
