package dev.berth.ingress.edge;

import org.jspecify.annotations.Nullable;

/**
 * Origin of a request that came by trusted proxies.
 *
 * @param client address of the client
 * @param scheme of the client's URL, http or https
 * @param host of the client's URL with its port, if any; null if unknown
 */
public record RequestOrigin(String client, String scheme, @Nullable String host) {}
