/**
 * Links between two nodes, independent of their content: one socket each, with length-prefixed
 * frames under mutual TLS, which either node can end immediately. A link is confined to the event
 * loop of its owner, which receives its frames and its end. The bytes in flight to a peer are
 * limited over all of its links.
 *
 * <p>Source: decision 0035, for the transport of frames and the end of a link.
 */
@NullMarked
package dev.berth.cluster.link;

import org.jspecify.annotations.NullMarked;
