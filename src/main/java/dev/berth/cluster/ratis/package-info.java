/**
 * The log that the control nodes of a cluster agree on, as a group of Apache Ratis. The only
 * package that names Ratis, in a jar of its own, found by {@link
 * dev.berth.desired.ConsensusEngine}: without a cluster nothing of it is loaded. It promises that
 * what was committed outlasts a kill of any node, that what failed says whether it may come true
 * yet, and that a log which is damaged is never taken for one that is short.
 *
 * <p>Source: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014; what
 * Ratis does when it is killed, full or damaged: decision 0036.
 */
@NullMarked
package dev.berth.cluster.ratis;

import org.jspecify.annotations.NullMarked;
