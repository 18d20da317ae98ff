/**
 * Handlers of upstreams: remote servers that serve the requests of a replica. One handler relays
 * the requests of one upstream, on the event loop of its replica.
 */
@NullMarked
package dev.berth.upstream;

import org.jspecify.annotations.NullMarked;
