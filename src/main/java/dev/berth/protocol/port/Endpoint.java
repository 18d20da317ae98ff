package dev.berth.protocol.port;

import dev.berth.api.Headers;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Handles API requests of any port of the instance. The listener of the port reads the whole
 * request, within its limits, and writes the response. Thread-safe; never blocks.
 */
@FunctionalInterface
public interface Endpoint {

  /** Returns whether this endpoint, and no other, handles requests to a path. */
  default boolean answers(String path) {
    return true;
  }

  EndpointCall handle(EndpointRequest request);

  /** Returns the paths of this endpoint for documentation: {@code POST /path/{parameter}}. */
  default List<String> paths() {
    return List.of();
  }

  /**
   * A request.
   *
   * @param path without the query, percent-encoded as received
   * @param peer remote address
   * @param client authenticated identity, {@code certificate CN=ci}; null when not authenticated
   */
  record EndpointRequest(
      String method,
      String path,
      Headers headers,
      Buffer body,
      String peer,
      @Nullable String client) {
    /** Returns the same request with an authenticated client. */
    public EndpointRequest by(String known) {
      return new EndpointRequest(method, path, headers, body, peer, known);
    }

    @Override
    public String toString() {
      return "Asked[" + method + "]"; // a path may contain a token
    }
  }

  /** A request being handled. */
  @FunctionalInterface
  interface EndpointCall {

    /** Returns the response. Completes on any thread; never fails. */
    Future<EndpointResponse> answer();

    /**
     * Notifies the exchange that the client disconnected before it received the complete response.
     */
    default void clientGone() {}
  }

  /**
   * A response.
   *
   * @param body JSON; empty for none
   */
  record EndpointResponse(int status, Map<String, String> headers, Buffer body) {
    @Override
    public String toString() {
      return "Answer[" + status + "]";
    }
  }
}
