package dev.berth.admin;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Which Host headers an admin server that listens on loopback answers. A web page elsewhere can
 * point its own name at 127.0.0.1 and have the browser of whoever runs Berth ask us (DNS
 * rebinding); such a request names the page's host, so only names of this machine are answered. A
 * server that listens for others answers every name.
 *
 * @param listeningHost as configured
 * @param loopback whether it is an address of this machine only
 */
record HostGuard(String listeningHost, boolean loopback) {
  HostGuard {
    listeningHost = bare(listeningHost);
  }

  /**
   * @param hostHeader null when there is none, which no browser sends
   */
  boolean allows(@Nullable String hostHeader) {
    if (!loopback || hostHeader == null) {
      return true;
    }
    String host = bare(hostHeader);
    return host.equals("localhost")
        || host.endsWith(".localhost")
        || host.equals("::1")
        || host.matches("127(\\.[0-9]{1,3}){3}") // a name that only begins so is a name
        || host.equals(listeningHost);
  }

  /** The host without its port, brackets and final dot, in lower case. */
  private static String bare(String hostAndPort) {
    String host = hostAndPort.trim().toLowerCase(Locale.ROOT);
    if (host.startsWith("[")) {
      int close = host.indexOf(']');
      return close < 0 ? host : host.substring(1, close);
    }
    int colon = host.indexOf(':');
    if (colon >= 0 && colon == host.lastIndexOf(':')) {
      host = host.substring(0, colon);
    }
    return host.endsWith(".") ? host.substring(0, host.length() - 1) : host;
  }
}
