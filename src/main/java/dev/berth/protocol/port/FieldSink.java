package dev.berth.protocol.port;

import dev.berth.api.Headers;

/** A request that passes fields outside the head of its response. Confined to its loop. */
public interface FieldSink {
  /**
   * Sends an informational response, without effect once the head was sent; or sets the trailers of
   * a streamed response, before its end.
   *
   * @param status 0 for trailers
   */
  void passFields(int status, Headers fields);
}
