package dev.berth.config;

import java.time.Duration;

/**
 * {@code berth.limits}: the bounds that keep an instance's memory finite, whatever clients do.
 *
 * @param maxQueuedTotal requests waiting for a slot, over all deployments; then 503
 * @param maxQueuedBytes bytes of the waiting requests' bodies; then 503
 * @param maxBodyBytes largest request body; then 413
 * @param bufferedBodyBytesTotal bytes of the request bodies gathered whole; then 503
 * @param maxHeaderBytes sum of a request's header names and values; then 431
 * @param maxUriBytes longest request line; then 414
 * @param idleTimeout how long a request body may stand still; then 408
 * @param minBodyBytesPerSecond least rate of a request body that is awaited; 0 for none
 * @param bodyRateGrace how long a request body may lag behind that rate; then 408
 * @param headerReadTimeout how long a client may take to send a request's head; then 408
 * @param maxConnections open HTTP connections of the instance; a further one is closed
 * @param requestBytesTotal bytes that the requests under way may take; then 503
 * @param pendingRequestsPerLoop requests sent and not yet answered, per event loop; then 503
 * @param maxReservationTtl bound of every deployment's reservation_ttl_s and of every renewal
 * @param maxReservationLegs slots that one request may reserve together, over HTTP
 * @param streamWindowBytes bytes one stream may have under way before its writer waits
 * @param streamBytesTotal bytes that all answers of the instance may hold
 * @param streamIdleTimeout how long a stream's reader may stand still before it is ended
 * @param http2 bounds of one HTTP/2 connection
 */
public record LimitOptions(
    int maxQueuedTotal,
    long maxQueuedBytes,
    long maxBodyBytes,
    long bufferedBodyBytesTotal,
    int maxHeaderBytes,
    int maxUriBytes,
    Duration idleTimeout,
    int minBodyBytesPerSecond,
    Duration bodyRateGrace,
    Duration headerReadTimeout,
    int maxConnections,
    long requestBytesTotal,
    int pendingRequestsPerLoop,
    Duration maxReservationTtl,
    int maxReservationLegs,
    int streamWindowBytes,
    long streamBytesTotal,
    Duration streamIdleTimeout,
    Http2Limits http2) {

  static final Key<Integer> MAX_QUEUED_TOTAL =
      Key.of(
          "max_queued_total",
          Types.integer(1, 10_000_000, "requests"),
          Defaults.MAX_QUEUED_TOTAL,
          "Requests waiting for a slot, over all deployments of the instance. The next one gets"
              + " 503. It bounds the deployments whose max_queued_requests is -1.");
  static final Key<Long> MAX_QUEUED_BYTES =
      Key.of(
              "max_queued_bytes",
              Types.bytes(0, Long.MAX_VALUE),
              Defaults.maxQueuedBytes(),
              "Bytes of the bodies of the waiting requests, over all deployments of the instance. A"
                  + " request that would go past it gets 503.")
          .fallbackText("an eighth of the heap, at most 67108864");
  static final Key<Long> MAX_BODY_BYTES =
      Key.of(
          "max_body_bytes",
          Types.bytes(0, 1L << 53), // what every JSON reader holds exactly
          Defaults.MAX_BODY_BYTES,
          "Largest request body, whoever reads it; a larger one gets 413. A handler that takes its"
              + " body whole has its deployment's max_buffered_body_bytes besides.");
  static final Key<Long> BUFFERED_BODY_BYTES_TOTAL =
      Key.of(
              "buffered_body_bytes_total",
              Types.bytes(0, Long.MAX_VALUE),
              Defaults.bufferedBodyBytesTotal(),
              "Bytes of the request bodies that are gathered whole, over all requests of the instance."
                  + " A request that would go past it gets 503.")
          .fallbackText("a quarter of the heap, at most 268435456");
  static final Key<Integer> MAX_HEADER_BYTES =
      Key.of(
          "max_header_bytes",
          Types.integer(256, 1 << 20, "bytes"),
          Defaults.MAX_HEADER_BYTES,
          "Sum of a request's header names and values; more gets 431.");
  static final Key<Integer> MAX_URI_BYTES =
      Key.of(
          "max_uri_bytes",
          Types.integer(64, 1 << 20, "bytes"),
          Defaults.MAX_URI_BYTES,
          "Longest request line; a longer one gets 414.");
  static final Key<Duration> IDLE_TIMEOUT_S =
      Key.of(
          "idle_timeout_s",
          Types.seconds(),
          Defaults.IDLE_TIMEOUT,
          "How long a request body may stand still; then 408. It lags behind min_body_bytes_per_s"
              + " meanwhile, so that body_rate_grace_s holds if it is shorter.");
  static final Key<Integer> MIN_BODY_BYTES_PER_S =
      Key.of(
          "min_body_bytes_per_s",
          Types.integer(0, 1 << 30, "bytes"),
          Defaults.MIN_BODY_BYTES_PER_S,
          "Least rate of a request body until its answer begins, in the time in which the instance"
              + " reads it; 0 for none. Slower for longer than body_rate_grace_s gets 408.");
  static final Key<Duration> BODY_RATE_GRACE_S =
      Key.of(
          "body_rate_grace_s",
          Types.seconds(),
          Defaults.BODY_RATE_GRACE,
          "How long a request body may lag behind min_body_bytes_per_s. What it is ahead of it is"
              + " not saved up.");
  static final Key<Duration> HEADER_READ_TIMEOUT_S =
      Key.of(
          "header_read_timeout_s",
          Types.seconds(),
          Defaults.HEADER_READ_TIMEOUT,
          "How long a client may take to send the whole head of a request; then 408.");
  static final Key<Integer> MAX_CONNECTIONS =
      Key.of(
              "max_connections",
              Types.integer(1, 10_000_000, "connections"),
              Defaults.maxConnections(),
              "Open HTTP connections of the instance; a further one is closed at once.")
          .fallbackText("one for each 65536 bytes of the heap, at most 16384");
  static final Key<Long> REQUEST_BYTES_TOTAL =
      Key.of(
              "request_bytes_total",
              Types.bytes(64 << 10, Long.MAX_VALUE),
              Defaults.requestBytesTotal(),
              "Bytes that all requests under way may take, until their clients have their answers:"
                  + " 8192 each, 256 for each header, what is read of the body before a handler"
                  + " has it, and 65536 for one that goes on. A request that would go past it gets"
                  + " 503; so does one whose HTTP/2 connection holds more than 1/32 of what"
                  + " is left. Whole answers of more than 65536 bytes may take as much again, as"
                  + " far as a path's last ones tell before its handler runs; a request for one"
                  + " beyond it waits for up to 2 s, then gets 503.")
          .fallbackText("an eighth of the heap");
  static final Key<Integer> PENDING_REQUESTS_PER_LOOP =
      Key.of(
          "pending_requests_per_loop",
          Types.integer(1, 1 << 20, "requests"),
          Defaults.PENDING_REQUESTS_PER_LOOP,
          "Requests sent to replicas and not yet answered, per event loop. The next one gets 503.");
  static final Key<Duration> MAX_RESERVATION_TTL_S =
      Key.of(
          "max_reservation_ttl_s",
          Types.seconds(),
          Defaults.MAX_RESERVATION_TTL,
          "Bound of every deployment's reservation_ttl_s and of every renewal.");
  static final Key<Integer> MAX_RESERVATION_LEGS =
      Key.of(
          "max_reservation_legs",
          Types.integer(1, 64, "slots"),
          Defaults.MAX_RESERVATION_LEGS,
          "Slots that one POST of /api/v1/reservations may ask for together. One more is a 400.");
  static final Key<Integer> STREAM_WINDOW_BYTES =
      Key.of(
          "stream_window_bytes",
          Types.integer(64 << 10, 1 << 30, "bytes"),
          Defaults.STREAM_WINDOW_BYTES,
          "Bytes one stream may have under way before its writer must wait; it begins with 16384 and"
              + " grows as its client takes them. Not above stream_bytes_total.");
  static final Key<Long> STREAM_BYTES_TOTAL =
      Key.of(
              "stream_bytes_total",
              Types.bytes(64 << 10, Long.MAX_VALUE),
              Defaults.streamBytesTotal(),
              "Bytes that all answers of the instance may hold: granted to streams and not taken by"
                  + " their clients, whole answers not taken, and what writers hold for want of a"
                  + " grant. Beyond it no answer is refused: the next grants of streams wait, and"
                  + " answers whose clients stand still are cut.")
          .fallbackText("an eighth of the heap, at most 67108864");
  static final Key<Duration> STREAM_IDLE_TIMEOUT_S =
      Key.of(
          "stream_idle_timeout_s",
          Types.seconds(),
          Defaults.STREAM_IDLE_TIMEOUT,
          "How long the reader of a stream may leave what it was sent unread; then the stream is"
              + " ended. A connection whose socket takes nothing for as long is closed. A writer"
              + " may be silent for as long as request_timeout_s lets it.");

  static final Section SECTION =
      Section.of(
              MAX_QUEUED_TOTAL,
              MAX_QUEUED_BYTES,
              MAX_BODY_BYTES,
              BUFFERED_BODY_BYTES_TOTAL,
              MAX_HEADER_BYTES,
              MAX_URI_BYTES,
              IDLE_TIMEOUT_S,
              MIN_BODY_BYTES_PER_S,
              BODY_RATE_GRACE_S,
              HEADER_READ_TIMEOUT_S,
              MAX_CONNECTIONS,
              REQUEST_BYTES_TOTAL,
              PENDING_REQUESTS_PER_LOOP,
              MAX_RESERVATION_TTL_S,
              MAX_RESERVATION_LEGS,
              STREAM_WINDOW_BYTES,
              STREAM_BYTES_TOTAL,
              STREAM_IDLE_TIMEOUT_S,
              Http2Limits.MAX_STREAMS,
              Http2Limits.MAX_RESETS,
              Http2Limits.RESET_WINDOW_S,
              Http2Limits.CONNECTION_WINDOW_BYTES)
          .check(LimitOptions::check);

  /** Checks each value against its key. */
  public LimitOptions {
    MAX_QUEUED_TOTAL.require(maxQueuedTotal);
    MAX_QUEUED_BYTES.require(maxQueuedBytes);
    MAX_BODY_BYTES.require(maxBodyBytes);
    BUFFERED_BODY_BYTES_TOTAL.require(bufferedBodyBytesTotal);
    MAX_HEADER_BYTES.require(maxHeaderBytes);
    MAX_URI_BYTES.require(maxUriBytes);
    IDLE_TIMEOUT_S.require(idleTimeout);
    MIN_BODY_BYTES_PER_S.require(minBodyBytesPerSecond);
    BODY_RATE_GRACE_S.require(bodyRateGrace);
    HEADER_READ_TIMEOUT_S.require(headerReadTimeout);
    MAX_CONNECTIONS.require(maxConnections);
    REQUEST_BYTES_TOTAL.require(requestBytesTotal);
    PENDING_REQUESTS_PER_LOOP.require(pendingRequestsPerLoop);
    MAX_RESERVATION_TTL_S.require(maxReservationTtl);
    MAX_RESERVATION_LEGS.require(maxReservationLegs);
    STREAM_WINDOW_BYTES.require(streamWindowBytes);
    STREAM_BYTES_TOTAL.require(streamBytesTotal);
    STREAM_IDLE_TIMEOUT_S.require(streamIdleTimeout);
    if (streamWindowBytes > streamBytesTotal) {
      throw new IllegalArgumentException(
          "%s: %s (expected: %s)"
              .formatted(
                  STREAM_WINDOW_BYTES.name(), streamWindowBytes, windowBound(streamBytesTotal)));
    }
  }

  private static void check(Values values) {
    Integer window = values.find(STREAM_WINDOW_BYTES);
    Long total = values.find(STREAM_BYTES_TOTAL);
    if (window != null && total != null && window > total) {
      values.problem(STREAM_WINDOW_BYTES, window.toString(), windowBound(total));
    }
  }

  private static String windowBound(long streamBytesTotal) {
    return "at most stream_bytes_total, " + streamBytesTotal;
  }

  /** What a file that says nothing gives. */
  public static LimitOptions defaults() {
    return from(Values.empty(SECTION));
  }

  static LimitOptions from(Values values) {
    return new LimitOptions(
        values.get(MAX_QUEUED_TOTAL),
        values.get(MAX_QUEUED_BYTES),
        values.get(MAX_BODY_BYTES),
        values.get(BUFFERED_BODY_BYTES_TOTAL),
        values.get(MAX_HEADER_BYTES),
        values.get(MAX_URI_BYTES),
        values.get(IDLE_TIMEOUT_S),
        values.get(MIN_BODY_BYTES_PER_S),
        values.get(BODY_RATE_GRACE_S),
        values.get(HEADER_READ_TIMEOUT_S),
        values.get(MAX_CONNECTIONS),
        values.get(REQUEST_BYTES_TOTAL),
        values.get(PENDING_REQUESTS_PER_LOOP),
        values.get(MAX_RESERVATION_TTL_S),
        values.get(MAX_RESERVATION_LEGS),
        values.get(STREAM_WINDOW_BYTES),
        values.get(STREAM_BYTES_TOTAL),
        values.get(STREAM_IDLE_TIMEOUT_S),
        Http2Limits.from(values));
  }
}
