package dev.berth.web;

import dev.berth.api.Request;
import java.util.Map;

/**
 * A request of a typed route, bound and validated.
 *
 * @param parameters path, query and header parameters as a record
 * @param body the body as a value; {@code NoValue} for routes without one
 * @param http the request as received
 * @param pathParameters parameters of the path by name, percent-decoded
 */
public record TypedRequest<P, B>(
    P parameters, B body, Request http, Map<String, String> pathParameters) {

  /** The absence of parameters, or of a body. */
  public record NoValue() {}
}
