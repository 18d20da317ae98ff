package dev.berth.upstream.client;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;

/** One request and its response. Confined to the loop of its client. */
public interface UpstreamExchange {

  /**
   * Sends a part of a streamed request's body.
   *
   * @param piece must not change until the future completes
   * @return completes when the socket has accepted the part; fails if it never will
   */
  Future<Void> write(Buffer piece);

  /** Ends the body of a streamed request. */
  void end();

  /** Stops reading from the socket. Parts that are already read may still arrive. */
  void pause();

  /** Reads again. */
  void resume();

  /**
   * Cancels the exchange: shuts the output down, and waits until the upstream closes. {@link
   * ExchangeListener#onCancelled} follows in a later event, unless the exchange is over.
   *
   * @param graceNanos time after which the connection is reset
   */
  void cancel(long graceNanos);
}
