/**
 * Which deployment of a route answers a request: matches first, then a split by weight or by the
 * request's key, and who gets a copy. It stands before the pick and knows no slot; nothing here
 * waits or sends, and chance comes from outside.
 *
 * <p>Source: the endpoint policies of Ray Serve's first router (seed 002); Envoy's weighted
 * clusters and request mirroring.
 */
@NullMarked
package dev.berth.routing.traffic;

import org.jspecify.annotations.NullMarked;
