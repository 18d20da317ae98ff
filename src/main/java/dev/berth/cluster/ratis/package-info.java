/**
 * The replicated log of the control nodes of a cluster, as a group of Apache Ratis. Only this
 * package uses Ratis. It has its own jar, found by {@link dev.berth.desired.ConsensusEngine}, and
 * is not loaded without a cluster.
 *
 * <p>Guarantees: (1) A committed change survives a kill of any node. (2) A failed proposal reports
 * whether its outcome is unknown. (3) A damaged log is never treated as a short one.
 *
 * <p>Source: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014.
 * Decision 0036 describes Ratis when killed, full or damaged.
 */
@NullMarked
package dev.berth.cluster.ratis;

import org.jspecify.annotations.NullMarked;
