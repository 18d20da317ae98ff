package dev.berth.ingress;

import org.jspecify.annotations.Nullable;

/**
 * Headers of a handler's response that must not reach the client as they are: those that mean the
 * connection and not the response (RFC 9110, 7.6.1), and the framing, which the ingress sets.
 */
final class HopByHop {
  private HopByHop() {}

  /** By length first: it tells most headers apart without reading them. */
  static boolean isDropped(String name) {
    return switch (name.length()) {
      case 2 -> name.equalsIgnoreCase("te");
      case 7 -> name.equalsIgnoreCase("upgrade") || name.equalsIgnoreCase("trailer");
      case 8 -> name.equalsIgnoreCase("trailers");
      case 10 -> name.equalsIgnoreCase("connection") || name.equalsIgnoreCase("keep-alive");
      case 14 -> name.equalsIgnoreCase("content-length");
      case 16 -> name.equalsIgnoreCase("proxy-connection");
      case 17 -> name.equalsIgnoreCase("transfer-encoding");
      default -> false;
    };
  }

  /** Whether the response's own {@code Connection} header names this header too. */
  static boolean isNamedBy(@Nullable String connection, String name) {
    if (connection == null) {
      return false;
    }
    for (String each : connection.split(",")) {
      if (each.trim().equalsIgnoreCase(name)) {
        return true;
      }
    }
    return false;
  }
}
