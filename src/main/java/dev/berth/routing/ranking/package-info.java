/**
 * Puts the replicas of a snapshot in the order in which a router tries them: tiers of nearness, and
 * the power of two choices inside a tier. A ranker is a pure function of the counts it is shown and
 * of the randomness it is given; it holds no slot, so a wrong one costs speed and nothing else.
 *
 * <p>Source: Mitzenmacher, the power of two choices in randomized load balancing; Ray Serve's
 * power-of-two router.
 */
@NullMarked
package dev.berth.routing.ranking;

import org.jspecify.annotations.NullMarked;
