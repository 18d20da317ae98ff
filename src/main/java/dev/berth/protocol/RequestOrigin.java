package dev.berth.protocol;

import dev.berth.api.RequestContext;
import org.jspecify.annotations.Nullable;

/**
 * Origin of an HTTP request, from the connection or as trusted proxies name it.
 *
 * @param client IP address of the client, without a scope; empty if unknown
 * @param scheme of the client's URL, http or https
 * @param host of the client's URL with its port, if any; null if the Host header of the request has
 *     it, or if it is unusable
 */
public record RequestOrigin(String client, String scheme, @Nullable String host) {
  public RequestOrigin {
    host = isHost(host) ? host : null;
  }

  /** Returns whether a host is there and has at most 255 characters. */
  public static boolean isHost(@Nullable String host) {
    return host != null && !host.isEmpty() && host.length() <= 255;
  }

  /** Returns the origin that the calls of a handler inherit; null if its request has none. */
  public static @Nullable RequestOrigin of(@Nullable RequestContext caller) {
    return caller == null || caller.clientAddress().isEmpty()
        ? null
        : new RequestOrigin(caller.clientAddress(), caller.scheme(), caller.host());
  }
}
