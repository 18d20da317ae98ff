package dev.berth.ingress.access;

import dev.berth.config.LogEncoding;
import org.jspecify.annotations.Nullable;

/**
 * How the requests of a route are logged.
 *
 * @param route its prefix; empty for requests that no route takes
 * @param deployment that answers it
 */
public record AccessRoute(
    AccessLog log, LogEncoding encoding, String route, String application, String deployment) {

  /** Null where nothing is logged, for which a route asks with null. */
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
