package dev.berth.ingress.access;

import dev.berth.config.LogEncoding;

/**
 * How the requests of a route are logged.
 *
 * @param route its prefix; empty for requests that no route takes
 * @param deployment that answers it
 */
public record AccessRoute(
    AccessLog log, LogEncoding encoding, String route, String application, String deployment) {}
