package dev.berth.config;

import java.time.Duration;

/**
 * The keys of {@code berth.limits} that bound one HTTP/2 connection.
 *
 * @param maxStreams requests under way on a connection; a further one is refused
 * @param maxResets requests that may be reset within {@code resetWindow}, by either side; at one
 *     more the connection is closed
 * @param resetWindow the time in which resets are counted
 * @param connectionWindowBytes bytes of request bodies a client may send, over all requests of a
 *     connection, before a handler has taken them
 */
public record Http2Limits(
    int maxStreams, int maxResets, Duration resetWindow, int connectionWindowBytes) {

  static final Key<Integer> MAX_STREAMS =
      Key.of(
          "http2_max_streams",
          Types.integer(1, 1 << 16, "requests"),
          Defaults.HTTP2_MAX_STREAMS,
          "Requests under way on one HTTP/2 connection; a further one is refused with"
              + " REFUSED_STREAM.");
  static final Key<Integer> MAX_RESETS =
      Key.of(
          "http2_max_resets",
          Types.integer(1, 1 << 20, "resets"),
          Defaults.HTTP2_MAX_RESETS,
          "Requests of one HTTP/2 connection that may be reset within http2_reset_window_s; at one"
              + " more it is closed with ENHANCE_YOUR_CALM.");
  static final Key<Duration> RESET_WINDOW_S =
      Key.of(
          "http2_reset_window_s",
          Types.wholeSeconds(1, 3600),
          Defaults.HTTP2_RESET_WINDOW,
          "The time in which http2_max_resets are counted.");
  static final Key<Integer> CONNECTION_WINDOW_BYTES =
      Key.of(
          "http2_connection_window_bytes",
          Types.integer(64 << 10, 1 << 30, "bytes"),
          Defaults.HTTP2_CONNECTION_WINDOW_BYTES,
          "Bytes of request bodies that one HTTP/2 connection may have under way before they are"
              + " read; one request may have 64 KiB of them, so that a slow one does not stop the"
              + " others.");

  /** Checks each value against its key. */
  public Http2Limits {
    MAX_STREAMS.require(maxStreams);
    MAX_RESETS.require(maxResets);
    RESET_WINDOW_S.require(resetWindow);
    CONNECTION_WINDOW_BYTES.require(connectionWindowBytes);
  }

  static Http2Limits from(Values values) {
    return new Http2Limits(
        values.get(MAX_STREAMS),
        values.get(MAX_RESETS),
        values.get(RESET_WINDOW_S),
        values.get(CONNECTION_WINDOW_BYTES));
  }
}
