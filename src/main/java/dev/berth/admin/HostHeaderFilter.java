package dev.berth.admin;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Filter of Host headers for an admin server that listens on loopback. A web page can resolve its
 * own name to 127.0.0.1 and make an operator's browser send requests to Berth (DNS rebinding). Such
 * a request names the page's host, so only names of this machine are allowed. A server that listens
 * on another address allows every name.
 *
 * @param listeningHost host as configured
 * @param loopback whether the host is an address of this machine only
 */
record HostHeaderFilter(String listeningHost, boolean loopback) {
  HostHeaderFilter {
    listeningHost = bare(listeningHost);
  }

  /**
   * Returns whether a Host header is allowed.
   *
   * @param hostHeader null when absent; browsers always send one
   */
  boolean allows(@Nullable String hostHeader) {
    if (!loopback || hostHeader == null) {
      return true;
    }
    String host = bare(hostHeader);
    return host.equals("localhost")
        || host.endsWith(".localhost")
        || host.equals("::1")
        || host.matches("127(\\.[0-9]{1,3}){3}") // the whole host: 127.0.0.1.example.com is a name
        || host.equals(listeningHost);
  }

  /** Returns the host without port, brackets and final dot, in lower case. */
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
