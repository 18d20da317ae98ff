/**
 * Turns HTTP into calls and their ends into HTTP: routes, bodies, streamed answers, and the one
 * place where a failure becomes a status. One verticle per event loop; what a request holds belongs
 * to the loop it came in on. It promises exactly one answer per request, and that a client that
 * leaves cancels its call.
 *
 * <p>Source: the proxy of Ray Serve.
 */
@NullMarked
package dev.berth.ingress;

import org.jspecify.annotations.NullMarked;
