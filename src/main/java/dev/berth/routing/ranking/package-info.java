/**
 * Ranks the replicas of a snapshot in the order that a router tries: tiers of nearness, and the
 * power of two choices inside a tier. A ranker is a pure function of its input: counts and
 * randomness. It holds no slot, so a wrong ranker costs only speed.
 *
 * <p>Source: Mitzenmacher, the power of two choices in randomized load balancing; Ray Serve's
 * power-of-two router.
 */
@NullMarked
package dev.berth.routing.ranking;

import org.jspecify.annotations.NullMarked;
