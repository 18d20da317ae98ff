package dev.berth.routing.traffic;

import dev.berth.api.DeploymentId;

/**
 * A deployment that gets copies of a route's requests; what it answers is for nobody.
 *
 * @param fraction of the requests, 0 to 1
 * @param compares whether its answers are held against those the clients got
 * @param maxBodyBytes a request with a larger body is not copied
 */
public record Shadow(DeploymentId to, double fraction, boolean compares, int maxBodyBytes) {}
