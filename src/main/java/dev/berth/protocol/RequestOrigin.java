package dev.berth.protocol;

import org.jspecify.annotations.Nullable;

/**
 * Origin of an HTTP request, from the connection or as trusted proxies name it.
 *
 * @param client address of the client
 * @param scheme of the client's URL, http or https
 * @param host of the client's URL with its port, if any; null if unknown
 */
public record RequestOrigin(String client, String scheme, @Nullable String host) {}
