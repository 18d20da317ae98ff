/**
 * Data links, which carry messages between routers and replicas of two nodes. Each event loop opens
 * its own link to a process with the first message, so that messages keep their order from loop to
 * loop. Replies arrive on a link of the peer. A link is refused unless each process is the one that
 * the other expects. The transit time of a message is subtracted from its remaining times.
 *
 * <p>State is confined to its loop ({@link dev.berth.cluster.data.EventLoopLinks}). Peers are added
 * and removed from outside, by any thread.
 *
 * <p>Source: decision 0035.
 */
@NullMarked
package dev.berth.cluster.data;

import org.jspecify.annotations.NullMarked;
