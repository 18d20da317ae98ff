/**
 * Records the steps of an explained request, the replicas that it found, and its time in each
 * phase. Requests call their recorder; a recorder calls no request.
 */
@NullMarked
package dev.berth.routing.explain;

import org.jspecify.annotations.NullMarked;
