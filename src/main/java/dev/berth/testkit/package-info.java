/**
 * Runs an application in a test: no HTTP, no jar, no event loops, and a clock that the test moves.
 * The router, the queue, the ledgers and the replicas are the server's own. This package supplies
 * only their surroundings: executor, clock, random generators and bus.
 *
 * <p><b>Concurrency.</b> {@link dev.berth.testkit.TestBerth} is confined to the thread of the test,
 * which runs the tasks of every event loop. Blocking handlers and hooks run on their own threads.
 * Without such threads, the same seed yields the same order.
 *
 * <p><b>Failure.</b> Needs no test framework; a violated expectation is an {@link
 * java.lang.AssertionError}.
 *
 * <p>Source: Ray Serve's local testing mode, which has no choose, no dispatch and no clock.
 */
@NullMarked
package dev.berth.testkit;

import org.jspecify.annotations.NullMarked;
