package dev.berth.web;

import dev.berth.api.Headers;
import org.jspecify.annotations.Nullable;

/**
 * A response of a typed route with a status and headers of its own. Immutable.
 *
 * @param status an HTTP status, 200 to 599
 * @param value written as JSON; null for a response without a body
 * @param headers additional headers
 */
public record TypedResponse(int status, @Nullable Object value, Headers headers) {

  /** Creates a response with a value, and without headers. */
  public static TypedResponse of(int status, @Nullable Object value) {
    return new TypedResponse(status, value, Headers.empty());
  }

  /** Returns a copy with one more header. */
  public TypedResponse withHeader(String name, String headerValue) {
    return new TypedResponse(status, value, headers.with(name, headerValue));
  }
}
