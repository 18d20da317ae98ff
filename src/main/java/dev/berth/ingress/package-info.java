/**
 * HTTP ingress: routes, request bodies, streamed responses, and the only mapping from failures to
 * HTTP statuses. Has one verticle per event loop; the state of a request is confined to the loop of
 * its connection. Guarantees exactly one response per request, and cancels the call of a client
 * that leaves.
 *
 * <p>Source: the proxy of Ray Serve.
 */
@NullMarked
package dev.berth.ingress;

import org.jspecify.annotations.NullMarked;
