/**
 * Links between two nodes, whatever they carry: one socket each, with frames of our own under
 * mutual TLS, that can be ended at once. A link is confined to one event loop, its owner's, who is
 * told what came and that it has ended. How much may be under way to a peer is counted over all of
 * its links.
 *
 * <p>Source: decision 0035, for what carries frames and how a link ends.
 */
@NullMarked
package dev.berth.cluster.link;

import org.jspecify.annotations.NullMarked;
