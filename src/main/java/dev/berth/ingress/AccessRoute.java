package dev.berth.ingress;

import dev.berth.config.LogEncoding;

/**
 * How the requests of a route are logged.
 *
 * @param route its prefix; empty for requests that no route takes
 * @param deployment that answers it
 */
record AccessRoute(
    AccessLog log, LogEncoding encoding, String route, String application, String deployment) {}
