package dev.berth.upstream.client;

import dev.berth.api.Headers;
import io.vertx.core.buffer.Buffer;

/**
 * Receiver of an exchange's events, on the client's loop. Exactly one of {@link #onEnd}, {@link
 * #onFailed} and {@link #onCancelled} ends the exchange; no other call follows.
 */
public interface ExchangeListener {

  /** Handles the head of the response. */
  void onHead(int status, Headers headers);

  /** Handles a part of the response's body, which the listener owns. */
  void onPiece(Buffer piece);

  /**
   * Handles an informational response before the head, except 100, or trailers before {@link
   * #onEnd}.
   *
   * @param status 102 to 199; 0 for trailers
   */
  default void onFields(int status, Headers fields) {}

  /** Notifies the listener that the response was read to its end: the upstream is free. */
  void onEnd();

  /**
   * Notifies the listener that the response is malformed or late. The upstream may still run the
   * request.
   *
   * @return whether the listener cancels the exchange; otherwise it fails at once
   */
  default boolean onUnusable(String reason) {
    return false;
  }

  /** Notifies the listener that the exchange failed, and that its connection is closed. */
  void onFailed(UpstreamFailure failure);

  /**
   * Notifies the listener of the end of a cancelled exchange.
   *
   * @param confirmed true if the upstream never received the request, ended its response or closed;
   *     false after a reset by the client, since the request may still run
   */
  void onCancelled(boolean confirmed);
}
