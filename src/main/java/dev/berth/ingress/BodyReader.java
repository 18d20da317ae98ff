package dev.berth.ingress;

import dev.berth.api.Request;
import dev.berth.routing.BufferedPrefixBody;
import dev.berth.routing.DeploymentRouter;
import dev.berth.stream.CountingLimit;
import dev.berth.stream.InboundChunkQueue;
import io.netty.buffer.Unpooled;
import io.vertx.core.Handler;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.internal.buffer.BufferInternal;
import io.vertx.core.streams.ReadStream;
import org.jspecify.annotations.Nullable;

/**
 * Reader of one request body.
 *
 * <pre>
 *   BEGINNING --end, at most 64 KiB--> the exchange gets the whole body
 *             --more, or unknown length and no end at once--> FLOWING
 *             --more, and handlers take whole bodies--> GATHERING
 *   GATHERING --end--> the exchange gets the whole body
 *             --more than handlers take, or than the budget allows--> FLOWING
 *   FLOWING --end--> the router has the body
 *   any --over max_body_bytes, or response sent--> DROPPING --end--> the body is dropped
 * </pre>
 *
 * A FLOWING body waits until a replica has accepted the request, and then advances at the router's
 * pace. Meanwhile its client may fill one window, within the memory budget, and is then paused. A
 * GATHERING body is read before its request acquires a slot, so that a slow upload does not hold
 * one. A body of one chunk, the common case, is passed on without a copy. Confined to the event
 * loop.
 */
final class BodyReader implements Handler<Buffer>, BufferedPrefixBody {
  /** Empty, immutable buffer, shared by all requests without a body. */
  static final Buffer EMPTY = BufferInternal.buffer(Unpooled.EMPTY_BUFFER);

  private static final Request.Body NO_BODY = new Request.Body.Whole(EMPTY);

  /** Maximum bytes read from an unwanted body to keep the connection open. */
  static final long MAX_DISCARDED_BYTES = 1 << 20;

  /**
   * Maximum bytes of a body inside a request message. Unless gathered, no more than this is read
   * before the request has a slot.
   */
  static final int MAX_INLINE_BYTES = 64 << 10;

  /** Milliseconds that a body of unknown length has to end, before it is streamed. */
  private static final long BODY_END_TIMEOUT_MS = 5;

  private enum BodyState {
    BEGINNING,
    GATHERING,
    FLOWING,
    DROPPING,
    ENDED
  }

  private final HttpExchange exchange;
  private final long declaredBytes; // or -1
  private final int gatherBytes; // 0: none
  private long gathered; // bytes counted in the instance's budget
  private final MinBodyRateMonitor rate;
  private BodyState state = BodyState.BEGINNING;
  private Buffer first = EMPTY;
  private boolean copied;
  private @Nullable InboundChunkQueue held; // chunks after the first
  private long received; // bytes
  private boolean paused; // by the router
  private boolean clientPaused;
  private boolean timed;
  private long progressNanos;
  private @Nullable Handler<Buffer> handler;
  private @Nullable Handler<Void> endHandler;

  /** Returns whether the headers of an HTTP/1 request announce a body. */
  static boolean isAnnounced(MultiMap headers) {
    return headers.contains(HttpHeaders.CONTENT_LENGTH)
        || headers.contains(HttpHeaders.TRANSFER_ENCODING);
  }

  /**
   * Parses a content length. Netty has already refused values that are not numbers; a number beyond
   * a {@code long} is too large for any limit.
   */
  static long lengthOf(String declared) {
    try {
      return Long.parseLong(declared.trim());
    } catch (NumberFormatException tooLong) {
      return Long.MAX_VALUE;
    }
  }

  /**
   * Returns the bytes of a request body that have not arrived. The result is {@link Long#MAX_VALUE}
   * if the client declared no length. It is 1 for such a body without a reader, whose bytes the
   * connection counts.
   */
  static long bytesLeft(HttpExchange exchange) {
    HttpServerRequest http = exchange.http;
    if (exchange.reader != null) {
      return exchange.reader.bytesLeft();
    }
    if (!exchange.is(ExchangeState.READING) // else the body was read or absent
        || exchange.connection.multiplexed
        || http.isEnded()
        || exchange.connection.isUnread(http)) {
      return 0;
    }
    String declared = http.headers().get(HttpHeaders.CONTENT_LENGTH);
    return declared == null
        ? (http.headers().contains(HttpHeaders.TRANSFER_ENCODING) ? 1 : 0)
        : lengthOf(declared);
  }

  /** Reads the body of a request, if there is one, and then calls the exchange. */
  static void begin(HttpExchange exchange) {
    MultiMap headers = exchange.http.headers();
    // HTTP/2 signals the end of a body, but not its presence.
    if (!exchange.connection.multiplexed && !isAnnounced(headers)) {
      exchange.call(NO_BODY, exchange.startedNanos); // no time has passed since
      return;
    }
    boolean expects = headers.contains(HttpExchange.EXPECT);
    boolean awaited = expects && exchange.answer.expectsContinue();
    if (expects && !awaited) {
      exchange.answer.sendAndClose(ErrorResponses.expectationFailed());
      return;
    }
    String declared = headers.get(HttpHeaders.CONTENT_LENGTH);
    long length = declared == null ? -1 : lengthOf(declared);
    if (length == 0) {
      exchange.call(NO_BODY, exchange.loop.now());
    } else if (length > maxBytes(exchange)) {
      declaredTooLarge(exchange, length, awaited);
    } else {
      BodyReader body = new BodyReader(exchange, length);
      exchange.reader = body;
      if (exchange.recorder != null) {
        exchange.recorder.recordReceiving();
      }
      boolean wanted = body.isGathered() || (length >= 0 && length <= MAX_INLINE_BYTES);
      if (awaited && wanted) {
        exchange.answer.bodyWanted();
      }
      exchange.http.handler(body).endHandler(body::onEnd);
      if (awaited && !wanted) { // 100-continue follows when a replica has accepted
        body.flow();
      }
    }
  }

  private static long maxBytes(HttpExchange exchange) {
    return exchange.gatheredBytes() > 0 ? exchange.gatheredBytes() : exchange.loop.maxBodyBytes;
  }

  private static void declaredTooLarge(HttpExchange exchange, long length, boolean awaited) {
    long max = maxBytes(exchange);
    if (exchange.connection.multiplexed || (!awaited && length - max <= MAX_DISCARDED_BYTES)) {
      exchange.connection.unread(exchange.http);
      exchange.answer.send(ErrorResponses.bodyTooLarge(max));
    } else {
      exchange.http.endHandler(end -> exchange.connection.closeWhenTaken());
      exchange.refuseBody(ErrorResponses.bodyTooLarge(max));
    }
  }

  /**
   * @param declaredBytes length announced by the client, or -1
   */
  private BodyReader(HttpExchange exchange, long declaredBytes) {
    this.exchange = exchange;
    this.declaredBytes = declaredBytes;
    this.gatherBytes = gathered(exchange, declaredBytes);
    this.progressNanos = exchange.loop.coarseNow();
    this.rate = new MinBodyRateMonitor(progressNanos);
  }

  /**
   * Returns the maximum bytes read before the request acquires a slot. 0 means that the body is not
   * gathered.
   */
  private static int gathered(HttpExchange exchange, long length) {
    if (exchange.gatheredBytes() > 0) {
      return exchange.gatheredBytes();
    }
    DeploymentRouter to = exchange.route.router();
    if (to == null || ReservationHeader.of(exchange.http.headers()) != null) {
      return 0; // the lease of a token holds the slot only for a limited time
    }
    int whole = to.wholeBodyBytes();
    // A body of unknown length may wait for its response.
    int most = whole == 0 && length >= 0 ? to.proxying().replayBytes() : whole;
    return length > most ? 0 : most;
  }

  // --- receiving ---

  @Override
  public void handle(Buffer piece) {
    if (state == BodyState.DROPPING) {
      return;
    }
    progressNanos = exchange.loop.coarseNow();
    received += piece.length();
    if (received > maxBytes(exchange)) {
      state = BodyState.DROPPING;
      forget();
      exchange.refuseBody(ErrorResponses.bodyTooLarge(maxBytes(exchange)));
    } else if (state == BodyState.GATHERING) {
      goOn(piece);
    } else if (state == BodyState.BEGINNING) {
      if (exchange.tryTakeRoom(piece.length())) { // else the exchange has stopped this
        begin(piece);
      }
    } else if (paused || handler == null) {
      hold(piece);
    } else {
      handler.handle(piece);
    }
  }

  private void begin(Buffer piece) {
    if (received > MAX_INLINE_BYTES) {
      goOn(piece);
    } else if (first == EMPTY) {
      first = piece;
    } else if (declaredBytes > MAX_INLINE_BYTES) { // more than the request message holds
      enqueue(piece);
    } else if (copied) {
      first.appendBuffer(piece);
    } else {
      copied = true;
      first =
          Buffer.buffer(Math.min(MAX_INLINE_BYTES, 2 * (first.length() + piece.length())))
              .appendBuffer(first)
              .appendBuffer(piece);
    }
    if (state == BodyState.BEGINNING && declaredBytes < 0 && !timed && !isGathered()) {
      timed = true;
      exchange.loop.later(this::waitALittle); // most short bodies are complete by then
    }
  }

  private void waitALittle() {
    if (state == BodyState.BEGINNING) {
      exchange.loop.after(
          BODY_END_TIMEOUT_MS,
          () -> {
            if (state == BodyState.BEGINNING) {
              flow();
            }
          });
    }
  }

  /** Buffers or streams a body that is too large for the request message. */
  private void goOn(Buffer piece) {
    boolean counted = hold(piece);
    if (counted && received <= gatherBytes) {
      state = BodyState.GATHERING;
    } else {
      flow();
    }
  }

  /**
   * Buffers a chunk. Pauses the client when the body exceeds its window or the budget, so that the
   * usual body is never paused. Returns whether the budget counts the chunk.
   */
  private boolean hold(Buffer piece) {
    enqueue(piece);
    int bytes = piece.length();
    CountingLimit room = exchange.loop.ingress.bodies;
    if (gathered + bytes <= Math.max(gatherBytes, windowBytes())
        && room.tryTake(bytes, room.most / 2)) {
      gathered += bytes;
      return true;
    }
    pauseClient();
    return false;
  }

  /** Returns the bytes read beyond the credit of a replica. HTTP/2 has a window of its own. */
  private int windowBytes() {
    return exchange.connection.multiplexed ? 0 : exchange.loop.streamWindowBytes;
  }

  private void pauseClient() {
    clientPaused = true;
    exchange.http.pause();
  }

  private void enqueue(Buffer piece) {
    if (held == null) {
      held = new InboundChunkQueue();
    }
    held.add(piece);
  }

  private Buffer whole() {
    InboundChunkQueue more = held;
    Buffer start = first;
    first = EMPTY;
    held = null;
    if (more == null) {
      return start;
    }
    return exchange.gatheredBytes() > 0
        ? more.join(start)
        : more.moveTo(Buffer.buffer((int) received).appendBuffer(start));
  }

  /** Releases gathered bytes that are no longer buffered. */
  private void gaveUp(long bytes) {
    long back = Math.min(gathered, bytes);
    if (back > 0) {
      gathered -= back;
      exchange.loop.ingress.bodies.give(back);
    }
  }

  private void forget() {
    first = EMPTY;
    held = null;
    gaveUp(gathered);
  }

  private void flow() {
    if (!exchange.tryTakeRoom(MAX_INLINE_BYTES)) { // for bytes that arrive before the pause
      return; // the exchange has stopped this reader
    }
    state = BodyState.FLOWING;
    paused = true;
    rate.heldBack();
    if (windowBytes() == 0) {
      pauseClient();
    }
    exchange.call(new Request.Body.Streamed(this), exchange.loop.now());
  }

  /** Handles the end of the body. */
  private void onEnd(Void end) {
    BodyState before = state;
    state = BodyState.ENDED;
    switch (before) {
      case BEGINNING -> {
        exchange.reader = null;
        exchange.call(new Request.Body.Whole(whole()), exchange.loop.now());
      }
      case GATHERING -> // the budget counts the body until the exchange ends
          exchange.call(new Request.Body.Whole(whole()), exchange.loop.now());
      case FLOWING -> tellEnd();
      default -> exchange.answer.droppedAll();
    }
  }

  private void tellEnd() {
    if (held != null && !held.isEmpty()) {
      return;
    }
    exchange.reader = null;
    if (!paused && endHandler != null) {
      Handler<Void> told = endHandler;
      endHandler = null;
      told.handle(null);
    }
  }

  // --- for the exchange ---

  /** Returns whether the body is read before its request acquires a slot. */
  private boolean isGathered() {
    return gatherBytes > 0;
  }

  /** Returns whether the whole body has arrived. */
  boolean hasEnded() {
    return state == BodyState.ENDED;
  }

  /** Returns the time of the last chunk or resume, at the resolution of the sweep. */
  long progressNanos() {
    return progressNanos;
  }

  /**
   * Returns whether the client is expected to send. Otherwise the consumer of the body holds it
   * back.
   */
  boolean awaitsClient() {
    return isBefore(BodyState.FLOWING) || (state == BodyState.FLOWING && !paused);
  }

  /** Returns whether the body lags too far behind the minimum rate. Called once per sweep. */
  boolean isTooSlow(long now) {
    int least = exchange.loop.minBodyBytesPerSecond;
    boolean mayCome = exchange.connection.letsSend() && awaitsClient();
    return least > 0
        && rate.lagNanos(now, received, mayCome, least) > exchange.loop.bodyRateGraceNanos;
  }

  private long bytesLeft() {
    return declaredBytes < 0 && !hasEnded()
        ? Long.MAX_VALUE
        : Math.max(0, declaredBytes - received);
  }

  /** Drops the rest of the body, because the response is sent. */
  void drop() {
    if (isBefore(BodyState.DROPPING)) {
      state = BodyState.DROPPING;
      forget();
      exchange.http.resume();
    }
  }

  /**
   * Ends reading when the exchange finishes. Unlike {@link #drop}, does not touch the HTTP request,
   * since there may be no response and no client.
   */
  void stop() {
    forget();
    if (isBefore(BodyState.DROPPING)) {
      state = BodyState.DROPPING;
    }
  }

  private boolean isBefore(BodyState other) {
    return state.compareTo(other) < 0;
  }

  // --- for the router ---

  @Override
  public Buffer first() {
    return first;
  }

  @Override
  public ReadStream<Buffer> handler(@Nullable Handler<Buffer> newHandler) {
    handler = newHandler;
    return this;
  }

  @Override
  public ReadStream<Buffer> endHandler(@Nullable Handler<Void> newHandler) {
    endHandler = newHandler;
    return this;
  }

  /** Ignores the handler. A client that leaves ends its exchange, which cancels the call. */
  @Override
  public ReadStream<Buffer> exceptionHandler(@Nullable Handler<Throwable> newHandler) {
    return this;
  }

  @Override
  public ReadStream<Buffer> pause() {
    paused = true;
    rate.heldBack();
    return this;
  }

  @Override
  public ReadStream<Buffer> resume() {
    if (state == BodyState.DROPPING) {
      return this;
    }
    paused = false;
    progressNanos = exchange.loop.coarseNow();
    exchange.answer.bodyWanted();
    while (!paused && handler != null && held != null && !held.isEmpty()) {
      Buffer piece = held.remove();
      gaveUp(piece.length());
      handler.handle(piece);
    }
    if (paused) {
      return this; // by the handler of the chunk
    }
    if (state != BodyState.FLOWING) {
      tellEnd();
    } else if (clientPaused) {
      clientPaused = false;
      exchange.http.resume();
    }
    return this;
  }

  /** Resumes without a limit: the router takes chunks as they arrive. */
  @Override
  public ReadStream<Buffer> fetch(long amount) {
    return resume();
  }
}
