package dev.berth.web;

import dev.berth.api.RequestContext;
import org.jspecify.annotations.Nullable;

/**
 * User code of one typed route.
 *
 * @param <P> the record of parameters, or {@link TypedRequest.NoValue}
 * @param <B> the class of the body, or {@link TypedRequest.NoValue}
 */
@FunctionalInterface
public interface RouteFunction<P, B> {

  /**
   * Serves one request, whose parameters and body are valid.
   *
   * @return a value of the route's result class, a {@link TypedResponse}, a {@link
   *     dev.berth.api.Response}, or, unless the routes block, a future of one of these. Null only
   *     for the result class {@code Void}, which responds with status 204.
   * @throws Exception becomes status 500, as in any handler
   */
  @Nullable Object handle(TypedRequest<P, B> request, RequestContext context) throws Exception;
}
