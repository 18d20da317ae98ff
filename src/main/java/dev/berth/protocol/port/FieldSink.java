package dev.berth.protocol.port;

import dev.berth.api.Headers;

/** A request that passes fields outside the head of its response. Confined to its loop. */
public interface FieldSink {
  /** Sends an informational response, which has no effect once the head was sent. */
  void informational(int status, Headers headers);

  /** Sets the trailers of a response that is streamed; call before its end. */
  void trailers(Headers trailers);
}
