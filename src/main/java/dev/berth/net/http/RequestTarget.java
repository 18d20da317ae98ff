package dev.berth.net.http;

import io.netty.util.NetUtil;
import io.vertx.core.net.impl.HostAndPortImpl;
import org.jspecify.annotations.Nullable;

/**
 * What a request may be for (RFC 9112, 3.2, and RFC 3986). A path is taken as it was sent: dot
 * segments are not resolved, so that it means here what it meant to a proxy that looked at it.
 */
public final class RequestTarget {
  private RequestTarget() {}

  /**
   * Why a request is not for an origin server, or for nothing; null when it is.
   *
   * @param method as sent
   * @param target with the query; in origin-form, or {@code *}
   */
  public static @Nullable RefusedRequest refusal(String method, String target) {
    if (method.equals("CONNECT") || method.equals("TRACE")) {
      return RefusedRequest.unsupported(405, "method: one for proxies (expected: GET, POST, ...)");
    }
    return isOriginForm(target) || (target.equals("*") && method.equals("OPTIONS"))
        ? null
        : RefusedRequest.malformed("request target: malformed (expected: a path, percent-encoded)");
  }

  /** A path, and a query in which a percent sign may mean itself. */
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

  /** Whether two digits stand there, and not for NUL. */
  private static boolean isEncoded(String target, int from) {
    if (from + 1 >= target.length()) {
      return false;
    }
    int high = Character.digit(target.charAt(from), 16);
    int low = Character.digit(target.charAt(from + 1), 16);
    return high >= 0 && low >= 0 && high + low > 0;
  }

  /** Whether a Host field may have this value: a name or an address, and perhaps a port. */
  static boolean isHost(String value) {
    if (!HostAndPortImpl.isValidAuthority(value) || value.startsWith(":")) {
      return false;
    }
    // Of what stands in brackets Vert.x only looks where it ends.
    return !value.startsWith("[")
        || (value.indexOf('%') < 0
            && NetUtil.isValidIpV6Address(value.substring(1, value.indexOf(']'))));
  }
}
