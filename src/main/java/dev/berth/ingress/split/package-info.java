/**
 * What an exchange needs of a route that has several deployments: how a policy reads its request,
 * and the copies that others get. Confined to the exchange's loop.
 */
@NullMarked
package dev.berth.ingress.split;

import org.jspecify.annotations.NullMarked;
