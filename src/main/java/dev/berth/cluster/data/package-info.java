/**
 * Data links: what routers and replicas of two nodes say to each other. Each event loop has its own
 * link to each process that it sends to, made by the first message, so that the order from loop to
 * loop holds; answers come by a link of the other side's. A link is refused unless both sides are
 * who they are thought to be. Everything that may be late is aged by the time it was under way.
 *
 * <p>State belongs to the loop that has it ({@link dev.berth.cluster.data.LoopLinks}); who the
 * peers are is told from outside, by any thread.
 *
 * <p>Source: decision 0035.
 */
@NullMarked
package dev.berth.cluster.data;

import org.jspecify.annotations.NullMarked;
