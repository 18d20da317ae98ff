/**
 * Client of one upstream on one event loop. Nothing queues: each exchange has a connection of
 * HTTP/1.1 or a stream of HTTP/2, and its end states whether the upstream may still work on it.
 *
 * <p>Source: decision 0044.
 */
@NullMarked
package dev.berth.upstream.client;

import org.jspecify.annotations.NullMarked;
