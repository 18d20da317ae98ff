/**
 * Support for routes with several deployments: reads requests for the traffic policy, and sends
 * shadow copies. Confined to the event loop of the exchange.
 */
@NullMarked
package dev.berth.ingress.split;

import org.jspecify.annotations.NullMarked;
