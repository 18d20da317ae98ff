/**
 * Runs an application in a test: no HTTP, no jar, no event loops, a clock that stands until it is
 * told to move. The router, the queue, the ledgers and the replicas are the server's own; only what
 * they are given from outside (executor, clock, chance, bus) is made here.
 *
 * <p>{@link dev.berth.testkit.TestBerth} belongs to the thread of the test, which is every event
 * loop while it runs their tasks. Blocking handlers and hooks run on threads of their own. Same
 * seed and no such threads: same order. Needs no test framework; what does not hold is an {@link
 * java.lang.AssertionError}.
 *
 * <p>Source: Ray Serve's local testing mode, which has no choose, no dispatch and no clock.
 */
@NullMarked
package dev.berth.testkit;

import org.jspecify.annotations.NullMarked;
