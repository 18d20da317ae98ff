/**
 * Chooses which deployment of a route serves a request: matches first, then a split by weight or by
 * the request's key; also chooses the receivers of copies. The package runs before the pick and
 * sees no slots; nothing here waits or sends, and the caller supplies the randomness.
 *
 * <p>Source: the endpoint policies of Ray Serve's first router (seed 002); Envoy's weighted
 * clusters and request mirroring.
 */
@NullMarked
package dev.berth.routing.traffic;

import org.jspecify.annotations.NullMarked;
