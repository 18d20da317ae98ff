package dev.berth.routing.traffic;

import dev.berth.api.DeploymentId;

/**
 * A deployment that receives copies of a route's requests; its responses reach no client.
 *
 * @param fraction share of the requests that are copied, 0 to 1
 * @param compares whether its responses are compared with those of the clients
 * @param maxBodyBytes maximum body of a copied request; larger requests are not copied
 */
public record ShadowRule(DeploymentId to, double fraction, boolean compares, int maxBodyBytes) {}
