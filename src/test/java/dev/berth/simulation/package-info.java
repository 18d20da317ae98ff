/**
 * The real routers, replicas, ledgers and codecs in one thread under a virtual clock: every order
 * of events, every delay and every fault comes from one seed, so a failure replays exactly. What is
 * simulated: time, event loops, the bus, the network, the controller's snapshots, handlers and
 * callers. What is not: threads that truly run at once; for those see the concurrency tests.
 *
 * <p>Source: FoundationDB's and TigerBeetle's deterministic simulation; docs/simulation.md says how
 * to replay a seed.
 */
@NullMarked
package dev.berth.simulation;

import org.jspecify.annotations.NullMarked;
