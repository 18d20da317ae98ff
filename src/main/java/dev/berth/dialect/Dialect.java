package dev.berth.dialect;

import dev.berth.protocol.port.HttpErrorResponse;
import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;

/** The form of errors that a client expects. */
public enum Dialect {
  OPENAI,
  ANTHROPIC;

  /**
   * Returns the dialect of a request.
   *
   * @param path path without query, behind the route prefix
   * @param versioned whether the request has the header {@code anthropic-version}
   */
  public static Dialect of(String path, boolean versioned) {
    throw new UnsupportedOperationException();
  }

  /**
   * Returns the JSON body of a failed request.
   *
   * @param param the parameter of the request that caused the failure; null if there is none
   */
  public Buffer errorBody(HttpErrorResponse failure, @Nullable String param, String requestId) {
    throw new UnsupportedOperationException();
  }

  /**
   * Returns the event that ends a stream after a failure.
   *
   * @param sequence number of events before this one ({@link EventStream#events})
   */
  public static Buffer errorEvent(
      DialectCall call, HttpErrorResponse failure, String requestId, long sequence) {
    throw new UnsupportedOperationException();
  }
}
