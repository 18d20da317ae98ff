/**
 * The replicated log of the control nodes of a cluster, as a group of Apache Ratis. Only this
 * package uses Ratis. It has its own jar, found by {@link dev.berth.desired.ConsensusEngine}, and
 * is not loaded without a cluster.
 *
 * <p>Guarantees: a committed change survives a kill of any node; a failed proposal reports whether
 * its outcome is unknown; a damaged log is never treated as a short one.
 *
 * <p>Source: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014; the
 * behaviour of Ratis when killed, full or damaged: decision 0036.
 */
@NullMarked
package dev.berth.cluster.ratis;

import org.jspecify.annotations.NullMarked;
