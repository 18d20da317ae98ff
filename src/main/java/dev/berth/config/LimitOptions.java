package dev.berth.config;

import dev.berth.config.keys.Key;
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
  public static final Key<Integer> MAX_QUEUED_TOTAL =
      KEYS.key("max_queued_total", Types.integer(1, 10_000_000, "requests"), 10_000)
          .means(
              "Requests waiting for a slot, over all deployments of the instance. The next one gets"
                  + " 503. It bounds the deployments whose max_queued_requests is -1.");
  public static final Key<Long> MAX_QUEUED_BYTES =
      KEYS.key("max_queued_bytes", Types.bytes(0, Long.MAX_VALUE))
          .fallback(settings -> heapShare(8, 64L << 20), "an eighth of the heap, at most 67108864")
          .means(
              "Bytes of the bodies of the waiting requests, over all deployments of the instance. A"
                  + " request that would go past it gets 503.");

  // Request bodies: the ingress counts each, replicas count those they gather.
  public static final Key<Long> MAX_BODY_BYTES =
      KEYS.key(
              "max_body_bytes",
              Types.bytes(0, 1L << 53), // integers up to here are exact in every JSON reader
              1L << 30)
          .means(
              "Largest request body, whoever reads it; a larger one gets 413. A handler that takes its"
                  + " body whole has its deployment's max_buffered_body_bytes besides.");
  public static final Key<Long> BUFFERED_BODY_BYTES_TOTAL =
      KEYS.key("buffered_body_bytes_total", Types.bytes(0, Long.MAX_VALUE))
          .fallback(
              settings -> heapShare(4, 256L << 20), "a quarter of the heap, at most 268435456")
          .means(
              "Bytes of the request bodies that are gathered whole, over all requests of the instance."
                  + " A request that would go past it gets 503.");

  // Heads of requests, in bytes on the wire.
  public static final Key<Integer> MAX_HEADER_BYTES =
      KEYS.key("max_header_bytes", Types.integer(256, 1 << 20, "bytes"), 8 << 10)
          .means("Sum of a request's header names and values; more gets 431.");
  public static final Key<Integer> MAX_URI_BYTES =
      KEYS.key("max_uri_bytes", Types.integer(64, 1 << 20, "bytes"), 4 << 10)
          .means("Longest request line; a longer one gets 414.");

  // Timeouts of clients; the timeout of a whole request is in http_options.
  public static final Key<Duration> IDLE_TIMEOUT_S =
      KEYS.key("idle_timeout_s", Types.SECONDS, Duration.ofSeconds(60))
          .means(
              "How long a request body may stand still; then 408. It lags behind min_body_bytes_per_s"
                  + " meanwhile, so that body_rate_grace_s holds if it is shorter.");
  public static final Key<Integer> MIN_BODY_BYTES_PER_S =
      KEYS.key("min_body_bytes_per_s", Types.integer(0, 1 << 30, "bytes"), 240)
          .means(
              "Least rate of a request body until its answer begins, in the time in which the instance"
                  + " reads it; 0 for none. Slower for longer than body_rate_grace_s gets 408.");
  public static final Key<Duration> BODY_RATE_GRACE_S =
      KEYS.key("body_rate_grace_s", Types.SECONDS, Duration.ofSeconds(30))
          .means(
              "How long a request body may lag behind min_body_bytes_per_s. What it is ahead of it is"
                  + " not saved up.");
  public static final Key<Duration> HEADER_READ_TIMEOUT_S =
      KEYS.key("header_read_timeout_s", Types.SECONDS, Duration.ofSeconds(10))
          .means("How long a client may take to send the whole head of a request; then 408.");

  // Memory used by all clients together; a refusal costs almost none.
  public static final Key<Integer> MAX_CONNECTIONS =
      KEYS.key("max_connections", Types.integer(1, 10_000_000, "connections"))
          .fallback(
              settings -> (int) (heapShare(8, 128L << 20) >> 13),
              "one for each 65536 bytes of the heap, at most 16384")
          .means("Open HTTP connections of the instance; a further one is closed at once.");
  public static final Key<Integer> ADDRESS_CONNECTION_RATE =
      KEYS.key("address_connection_rate", Types.integer(0, 1_000_000, "connections/s"), 500)
          .means(
              "HTTP connections that one address, or IPv6 network of 64 bits, may open a second, and"
                  + " besides what it did not open in the last 10 s. One more waits for its turn for"
                  + " up to a second, and is closed beyond that. One that was closed with"
                  + " ENHANCE_YOUR_CALM counts as 50. 0 for no bound.");
  public static final Key<List<String>> TRUSTED_PROXIES =
      KEYS.key("trusted_proxies", Types.list(Types.network()), List.of())
          .means(
              "Proxies and balancers, whose connections are those of many clients:"
                  + " address_connection_rate is not for them.");
  public static final Key<Long> REQUEST_BYTES_TOTAL =
      KEYS.key("request_bytes_total", Types.bytes(64 << 10, Long.MAX_VALUE))
          .fallback(settings -> heapShare(8, Long.MAX_VALUE), "an eighth of the heap")
          .means(
              "Bytes that all requests under way may take, until their clients have their answers:"
                  + " 8192 each, 256 for each header, what is read of the body before a handler"
                  + " has it, and 65536 for one that goes on. A request that would go past it gets"
                  + " 503; so does one whose HTTP/2 connection holds more than 1/32 of what"
                  + " is left. Whole answers of more than 65536 bytes may take as much again, as"
                  + " far as a path's last ones tell before its handler runs; a request for one"
                  + " beyond it waits for up to 2 s, then gets 503.");

  // Requests in flight between routers and replicas.
  public static final Key<Integer> PENDING_REQUESTS_PER_LOOP =
      KEYS.key("pending_requests_per_loop", Types.integer(1, 1 << 20, "requests"), 8192)
          .means(
              "Requests sent to replicas and not yet answered, per event loop. The next one gets 503.");

  public static final Key<Integer> MAX_HANDLER_THREADS =
      KEYS.key("max_handler_threads", Types.integer(1, 1_000_000, "threads"), 4_096)
          .means(
              "Platform threads of blocking handlers, over all replicas of the instance. At the limit"
                  + " an idle thread of another replica ends for one that is needed; when there is"
                  + " none, a request that needs one is sent to another replica, or gets 503. Half"
                  + " of them belong to the applications in equal parts, beyond the limit when"
                  + " others held all before one came.");

  // Slots reserved without a request.
  public static final Key<Duration> MAX_RESERVATION_TTL_S =
      KEYS.key("max_reservation_ttl_s", Types.SECONDS, Duration.ofSeconds(300))
          .means("Bound of every deployment's reservation_ttl_s and of every renewal.");
  public static final Key<Integer> MAX_RESERVATION_LEGS =
      KEYS.key("max_reservation_legs", Types.integer(1, 64, "slots"), 16)
          .means(
              "Slots that one POST of /api/v1/reservations may ask for together. One more is a 400.");

  // Response bodies, from the handler until the client's socket has accepted them.
  public static final Key<Integer> STREAM_WINDOW_BYTES =
      KEYS.key("stream_window_bytes", Types.integer(64 << 10, 1 << 30, "bytes"), 256 << 10)
          .atMost(() -> LimitOptions.STREAM_BYTES_TOTAL)
          .means(
              "Bytes one stream may have under way before its writer must wait; it begins with 16384 and"
                  + " grows as its client takes them. Not above stream_bytes_total.");
  public static final Key<Long> STREAM_BYTES_TOTAL =
      KEYS.key("stream_bytes_total", Types.bytes(64 << 10, Long.MAX_VALUE))
          .fallback(settings -> heapShare(8, 64L << 20), "an eighth of the heap, at most 67108864")
          .means(
              "Bytes that all answers of the instance may hold: granted to streams and not taken by"
                  + " their clients, whole answers not taken, and what writers hold for want of a"
                  + " grant. Beyond it no answer is refused: the next grants of streams wait, and"
                  + " answers whose clients stand still are cut.");
  public static final Key<Duration> STREAM_IDLE_TIMEOUT_S =
      KEYS.key("stream_idle_timeout_s", Types.SECONDS, Duration.ofSeconds(60))
          .means(
              "How long the reader of a stream may leave what it was sent unread; then the stream is"
                  + " ended. A connection whose socket takes nothing for as long is closed. A writer may be silent for as long as request_timeout_s lets it.");

  // A single HTTP/2 connection.

  public static final Key<Integer> HTTP2_MAX_STREAMS =
      KEYS.key("http2_max_streams", Types.integer(1, 1 << 16, "requests"), 100)
          .means(
              "Requests under way on one HTTP/2 connection; a further one is refused with"
                  + " REFUSED_STREAM.");
  public static final Key<Integer> HTTP2_MAX_RESETS =
      KEYS.key("http2_max_resets", Types.integer(1, 1 << 20, "resets"), 200)
          .means(
              "Requests of one HTTP/2 connection that may be reset within http2_reset_window_s; at one"
                  + " more it is closed with ENHANCE_YOUR_CALM.");
  public static final Key<Duration> HTTP2_RESET_WINDOW_S =
      KEYS.key("http2_reset_window_s", Types.wholeSeconds(1, 3600), Duration.ofSeconds(30))
          .means("The time in which http2_max_resets and http2_max_control_frames are counted.");
  public static final Key<Integer> HTTP2_MAX_CONTROL_FRAMES =
      KEYS.key("http2_max_control_frames", Types.integer(1, 1 << 20, "frames"), 1_000)
          .means(
              "SETTINGS, PING and PRIORITY frames of one HTTP/2 connection within"
                  + " http2_reset_window_s; at one more it is closed with ENHANCE_YOUR_CALM.");
  public static final Key<Integer> HTTP2_CONNECTION_WINDOW_BYTES =
      KEYS.key("http2_connection_window_bytes", Types.integer(64 << 10, 1 << 30, "bytes"), 1 << 20)
          .means(
              "Bytes of request bodies that one HTTP/2 connection may have under way before they are"
                  + " read; one request may have 64 KiB of them, so that a slow one does not stop the"
                  + " others.");

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
