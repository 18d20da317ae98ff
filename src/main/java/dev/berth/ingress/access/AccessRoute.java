package dev.berth.ingress.access;

import dev.berth.config.LogEncoding;
import org.jspecify.annotations.Nullable;

/**
 * Access-log settings of a route.
 *
 * @param route prefix; empty for requests without a route
 * @param deployment that serves the route
 */
public record AccessRoute(
    AccessLog log, LogEncoding encoding, String route, String application, String deployment) {

  /** Returns the settings, or null if either the log or the route's encoding is null. */
  public static @Nullable AccessRoute of(
      @Nullable AccessLog log,
      @Nullable LogEncoding encoding,
      String route,
      String application,
      String deployment) {
    return log == null || encoding == null
        ? null
        : new AccessRoute(log, encoding, route, application, deployment);
  }
}
