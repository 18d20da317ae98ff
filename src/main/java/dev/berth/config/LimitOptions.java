package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Types;
import java.time.Duration;
import java.util.List;

/**
 * {@code berth.limits}: the limits that bound an instance's memory, independent of client
 * behaviour.
 */
public final class LimitOptions {

  private static final Keys KEYS = new Keys();

  // Waiters: counted by routers; a refused request gets 503.
  public static final ConfigKey<Integer> MAX_QUEUED_TOTAL =
      KEYS.key("max_queued_total", Types.integer(1, 10_000_000, "requests"), 10_000)
          .means(
              "Requests that wait for a slot, over all deployments of the instance; a further one"
                  + " gets 503. Limits deployments whose max_queued_requests is -1.");
  public static final ConfigKey<Long> MAX_QUEUED_BYTES =
      KEYS.key("max_queued_bytes", Types.bytes(0, Long.MAX_VALUE))
          .fallback(settings -> heapShare(8, 64L << 20), "an eighth of the heap, at most 67108864")
          .means(
              "Bytes of the bodies of waiting requests, over all deployments of the instance. A"
                  + " request beyond it gets 503.");

  // Request bodies: the ingress counts each, replicas count those they gather.
  public static final ConfigKey<Long> MAX_BODY_BYTES =
      KEYS.key(
              "max_body_bytes",
              Types.bytes(0, 1L << 53), // integers up to here are exact in every JSON reader
              1L << 30)
          .means(
              "Largest request body of any handler; a larger one gets 413. For handlers with"
                  + " buffered bodies, the deployment's max_buffered_body_bytes applies too.");
  public static final ConfigKey<Long> BUFFERED_BODY_BYTES_TOTAL =
      KEYS.key("buffered_body_bytes_total", Types.bytes(0, Long.MAX_VALUE))
          .fallback(
              settings -> heapShare(4, 256L << 20), "a quarter of the heap, at most 268435456")
          .means(
              "Bytes of buffered request bodies, over all requests of the instance. A request"
                  + " beyond it gets 503.");

  // Heads of requests, in bytes on the wire.
  public static final ConfigKey<Integer> MAX_HEADER_BYTES =
      KEYS.key("max_header_bytes", Types.integer(256, 1 << 20, "bytes"), 8 << 10)
          .means("Size of a request's header names and values; a larger one gets 431.");
  public static final ConfigKey<Integer> MAX_URI_BYTES =
      KEYS.key("max_uri_bytes", Types.integer(64, 1 << 20, "bytes"), 4 << 10)
          .means("Length of the request line; a longer one gets 414.");

  public static final ConfigKey<Integer> MAX_ROUTE_TEMPLATES =
      KEYS.key("max_route_templates", Types.integer(0, 10_000, "templates"), 200)
          .means(
              "Route templates per application in metrics and the access log. Responses with further"
                  + " ones count for the route prefix.");

  // Timeouts of clients; the timeout of a whole request is in http_options.
  public static final ConfigKey<Duration> IDLE_TIMEOUT_S =
      KEYS.key("idle_timeout_s", Types.SECONDS, Duration.ofSeconds(60))
          .means(
              "Time without progress of a request body; then 408. Meanwhile it is below"
                  + " min_body_bytes_per_s, so a shorter body_rate_grace_s applies first.");
  public static final ConfigKey<Integer> MIN_BODY_BYTES_PER_S =
      KEYS.key("min_body_bytes_per_s", Types.integer(0, 1 << 30, "bytes"), 240)
          .means(
              "Minimum rate of a request body until its response begins, while the instance reads"
                  + " it; 0: none. A slower one gets 408 after body_rate_grace_s.");
  public static final ConfigKey<Duration> BODY_RATE_GRACE_S =
      KEYS.key("body_rate_grace_s", Types.SECONDS, Duration.ofSeconds(30))
          .means(
              "Time that a request body may be below min_body_bytes_per_s. A faster start earns no"
                  + " credit.");
  public static final ConfigKey<Duration> HEADER_READ_TIMEOUT_S =
      KEYS.key("header_read_timeout_s", Types.SECONDS, Duration.ofSeconds(10))
          .means("Time for a client to send the complete head of a request; then 408.");

  // Memory used by all clients together; a refusal costs almost none.
  public static final ConfigKey<Integer> MAX_CONNECTIONS =
      KEYS.key("max_connections", Types.integer(1, 10_000_000, "connections"))
          .fallback(
              settings -> (int) (heapShare(8, 128L << 20) >> 13),
              "one for each 65536 bytes of the heap, at most 16384")
          .means("Open HTTP connections of the instance; a further one is closed at once.");
  public static final ConfigKey<Integer> ADDRESS_CONNECTION_RATE =
      KEYS.key("address_connection_rate", Types.integer(0, 1_000_000, "connections/s"), 500)
          .means(
              "HTTP connections per second from one address, or IPv6 network of 64 bits, plus those"
                  + " not used in the last 10 s. A further one waits for up to a second, and is"
                  + " closed beyond that. A connection closed with ENHANCE_YOUR_CALM counts as 50."
                  + " 0: no limit.");
  public static final ConfigKey<List<String>> TRUSTED_PROXIES =
      KEYS.key("trusted_proxies", Types.list(Types.network()), List.of())
          .means(
              "Proxies and balancers, whose connections carry many clients: exempt from"
                  + " address_connection_rate. Their Forwarded or X-Forwarded-* headers, and PROXY"
                  + " headers, name the client; those of other peers have no effect.");
  public static final ConfigKey<Long> REQUEST_BYTES_TOTAL =
      KEYS.key("request_bytes_total", Types.bytes(64 << 10, Long.MAX_VALUE))
          .fallback(settings -> heapShare(8, Long.MAX_VALUE), "an eighth of the heap")
          .means(
              "Bytes of all requests in flight, until their clients have the responses: 8192 each,"
                  + " 256 per header, the body as read before a handler gets it, and 65536 for a"
                  + " streamed one. A request beyond it gets 503, as does one whose HTTP/2"
                  + " connection holds more than 1/32 of the rest. Whole responses above 65536"
                  + " bytes may take as much again, estimated from earlier ones of the path before"
                  + " the handler runs; a request beyond that waits up to 2 s, then gets 503.");

  // Requests in flight between routers and replicas.
  public static final ConfigKey<Integer> PENDING_REQUESTS_PER_LOOP =
      KEYS.key("pending_requests_per_loop", Types.integer(1, 1 << 20, "requests"), 8192)
          .means("Requests sent to replicas without a response yet, per event loop; more get 503.");

  public static final ConfigKey<Integer> MAX_HANDLER_THREADS =
      KEYS.key("max_handler_threads", Types.integer(1, 1_000_000, "threads"), 4_096)
          .means(
              "Platform threads of blocking handlers, over all replicas of the instance. At the"
                  + " limit an idle thread of another replica ends for a needed one; without any,"
                  + " the request is sent to another replica, or gets 503. Half of them are shared"
                  + " equally by the applications, beyond the limit if others held all before one"
                  + " started.");

  // Slots reserved without a request.
  public static final ConfigKey<Duration> MAX_RESERVATION_TTL_S =
      KEYS.key("max_reservation_ttl_s", Types.SECONDS, Duration.ofSeconds(300))
          .means("Limit of every deployment's reservation_ttl_s and of every renewal.");
  public static final ConfigKey<Integer> MAX_RESERVATION_LEGS =
      KEYS.key("max_reservation_legs", Types.integer(1, 64, "slots"), 16)
          .means("Slots that one POST to /api/v1/reservations may acquire together. More get 400.");

  // Response bodies, from the handler until the client's socket has accepted them.
  public static final ConfigKey<Integer> STREAM_WINDOW_BYTES =
      KEYS.key("stream_window_bytes", Types.integer(64 << 10, 1 << 30, "bytes"), 256 << 10)
          .atMost(() -> LimitOptions.STREAM_BYTES_TOTAL)
          .means(
              "Bytes of one stream in flight before its writer must wait; it starts with 16384 and"
                  + " grows as the client reads. Not above stream_bytes_total.");
  public static final ConfigKey<Long> STREAM_BYTES_TOTAL =
      KEYS.key("stream_bytes_total", Types.bytes(64 << 10, Long.MAX_VALUE))
          .fallback(settings -> heapShare(8, 64L << 20), "an eighth of the heap, at most 67108864")
          .means(
              "Bytes of all responses of the instance: granted to streams and not read by clients,"
                  + " whole responses not read, and chunks of writers without a grant. Beyond it no"
                  + " response is refused: further grants of streams wait, and responses of stalled"
                  + " clients are ended.");
  public static final ConfigKey<Duration> STREAM_IDLE_TIMEOUT_S =
      KEYS.key("stream_idle_timeout_s", Types.SECONDS, Duration.ofSeconds(60))
          .means(
              "Time that a stream's reader may leave data unread; then the stream ends. A"
                  + " connection whose socket accepts nothing for as long is closed. A writer may"
                  + " be silent as long as request_timeout_s allows.");

  public static final ConfigKey<Integer> COMPRESSED_STREAMS =
      KEYS.key("compressed_streams", Types.integer(0, 1_000_000, "responses"), 256)
          .means(
              "Streamed responses that are compressed at once, with about 300 KiB outside the heap"
                  + " each; a further one is sent uncompressed.");

  // A single HTTP/2 connection.

  public static final ConfigKey<Integer> HTTP2_MAX_STREAMS =
      KEYS.key("http2_max_streams", Types.integer(1, 1 << 16, "requests"), 100)
          .means(
              "Requests in flight on one HTTP/2 connection; a further one is refused with"
                  + " REFUSED_STREAM.");
  public static final ConfigKey<Integer> HTTP2_MAX_RESETS =
      KEYS.key("http2_max_resets", Types.integer(1, 1 << 20, "resets"), 200)
          .means(
              "Resets of requests of one HTTP/2 connection within http2_reset_window_s; one more"
                  + " closes it with ENHANCE_YOUR_CALM.");
  public static final ConfigKey<Duration> HTTP2_RESET_WINDOW_S =
      KEYS.key("http2_reset_window_s", Types.wholeSeconds(1, 3600), Duration.ofSeconds(30))
          .means("Period for http2_max_resets and http2_max_control_frames.");
  public static final ConfigKey<Integer> HTTP2_MAX_CONTROL_FRAMES =
      KEYS.key("http2_max_control_frames", Types.integer(1, 1 << 20, "frames"), 1_000)
          .means(
              "SETTINGS, PING and PRIORITY frames of one HTTP/2 connection within"
                  + " http2_reset_window_s; one more closes it with ENHANCE_YOUR_CALM.");
  public static final ConfigKey<Integer> HTTP2_CONNECTION_WINDOW_BYTES =
      KEYS.key("http2_connection_window_bytes", Types.integer(64 << 10, 1 << 30, "bytes"), 1 << 20)
          .means(
              "Unread bytes of request bodies in flight on one HTTP/2 connection; one request may"
                  + " have 64 KiB of them, so that a slow one does not stop the others.");

  static final Section SECTION = KEYS.section();

  private static long heapShare(int part, long atMost) {
    return heapShare(Runtime.getRuntime().maxMemory(), part, atMost);
  }

  /**
   * Returns a share of the heap, so that defaults fit a small heap too; at least 1 MiB.
   *
   * @param heapBytes maximum size of the heap in bytes
   * @param part divisor, 4 for a quarter
   * @param atMost maximum of the share in bytes, for large heaps
   */
  static long heapShare(long heapBytes, int part, long atMost) {
    return Math.max(1 << 20, Math.min(atMost, heapBytes / part));
  }

  private LimitOptions() {}
}
