package dev.berth.ingress;

import dev.berth.api.Request;
import dev.berth.routing.BegunBody;
import dev.berth.routing.DeploymentRouter;
import dev.berth.stream.Bound;
import dev.berth.stream.WaitingPieces;
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
 * A request's body as it comes in.
 *
 * <pre>
 *   BEGINNING --end, of at most 64 KiB--> the exchange has it whole
 *             --more than that, or of unknown length and not there at once--> FLOWING
 *             --more than that, of one that handlers take whole--> GATHERING
 *   GATHERING --end--> the router has it, and reads what is held
 *             --more than they take, or than there is room for--> FLOWING
 *   FLOWING --end--> the router has it
 *   any --over max_body_bytes, or the answer is out--> DROPPING --end--> nothing is kept
 * </pre>
 *
 * A body that flows is not read on before a replica has accepted its request, and then no faster
 * than the router takes it. One that is gathered is read before its request asks for a slot, which
 * it would only hold. One piece, which most bodies are, is passed on as it came. Confined to its
 * loop.
 */
final class BodyReader implements Handler<Buffer>, BegunBody {
  /** Empty, and cannot be appended to: one serves every request without a body. */
  static final Buffer EMPTY = BufferInternal.buffer(Unpooled.EMPTY_BUFFER);

  private static final Request.Body NO_BODY = new Request.Body.Whole(EMPTY);

  /** No more than this is read of a body that nobody wants, to keep the connection. */
  static final long MAX_DISCARDED_BYTES = 1 << 20;

  /** What travels inside a request; also the most that is read of one without a slot. */
  static final int MAX_INLINE_BYTES = 64 << 10;

  /** How long the rest of a body of unknown length is awaited before the request goes without. */
  private static final long PATIENCE_MS = 5;

  private enum State {
    BEGINNING,
    GATHERING,
    FLOWING,
    DROPPING,
    ENDED
  }

  private final Exchange exchange;
  private final long declaredBytes; // or -1
  private final int gatherBytes; // 0: none
  private long gathered; // bytes held, of the instance's bound
  private final BodyRate rate;
  private State state = State.BEGINNING;
  private Buffer first = EMPTY;
  private boolean copied;
  private @Nullable WaitingPieces held; // came after what travels inside the request
  private long received; // bytes
  private boolean paused;
  private boolean timed;
  private long progressNanos;
  private @Nullable Handler<Buffer> handler;
  private @Nullable Handler<Void> endHandler;

  /** Whether a body comes, over HTTP/1. */
  static boolean isAnnounced(MultiMap headers) {
    return headers.contains(HttpHeaders.CONTENT_LENGTH)
        || headers.contains(HttpHeaders.TRANSFER_ENCODING);
  }

  /** Netty has refused lengths that are no numbers; one that is too long for us is too large. */
  static long lengthOf(String declared) {
    try {
      return Long.parseLong(declared.trim());
    } catch (NumberFormatException tooLong) {
      return Long.MAX_VALUE;
    }
  }

  /**
   * Returns the bytes of a request's body that have not come: {@link Long#MAX_VALUE} when the
   * client did not say how many, and 1 of such a body that has no reader, which the connection
   * counts.
   */
  static long bytesLeft(Exchange exchange) {
    HttpServerRequest http = exchange.http;
    if (exchange.reader != null) {
      return exchange.reader.bytesLeft();
    }
    if (!exchange.is(ExchangeState.READING) // else it was read, or there was none
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

  /** Reads the body of a request, if there is one, and calls. */
  static void begin(Exchange exchange) {
    MultiMap headers = exchange.http.headers();
    // HTTP/2 tells the end of a body and not its presence.
    if (!exchange.connection.multiplexed && !isAnnounced(headers)) {
      exchange.call(NO_BODY, exchange.startedNanos); // no time has passed since
      return;
    }
    boolean expects = headers.contains(Exchange.EXPECT);
    boolean awaited = expects && exchange.expectsContinue();
    if (expects && !awaited) {
      exchange.answer.sendAndClose(ErrorResponses.expectationFailed());
      return;
    }
    String declared = headers.get(HttpHeaders.CONTENT_LENGTH);
    long length = declared == null ? -1 : lengthOf(declared);
    if (length == 0) {
      exchange.call(NO_BODY, exchange.loop.now());
    } else if (length > exchange.loop.maxBodyBytes) {
      declaredTooLarge(exchange, length, awaited);
    } else {
      BodyReader body = new BodyReader(exchange, length);
      exchange.reader = body;
      if (exchange.recorder != null) {
        exchange.recorder.receiving();
      }
      boolean wanted = body.isGathered() || (length >= 0 && length <= MAX_INLINE_BYTES);
      if (awaited && wanted) {
        exchange.answer.bodyWanted();
      }
      exchange.http.handler(body).endHandler(body::ended);
      if (awaited && !wanted) { // the client is told to go on when a replica has accepted
        body.flow();
      }
    }
  }

  private static void declaredTooLarge(Exchange exchange, long length, boolean awaited) {
    long max = exchange.loop.maxBodyBytes;
    if (exchange.connection.multiplexed || (!awaited && length - max <= MAX_DISCARDED_BYTES)) {
      exchange.connection.unread(exchange.http);
      exchange.answer.send(ErrorResponses.bodyTooLarge(max));
    } else {
      exchange.http.endHandler(end -> exchange.connection.closeWhenTaken());
      exchange.refuseBody(ErrorResponses.bodyTooLarge(max));
    }
  }

  /**
   * @param declaredBytes as the client announced, or -1
   */
  private BodyReader(Exchange exchange, long declaredBytes) {
    this.exchange = exchange;
    this.declaredBytes = declaredBytes;
    this.gatherBytes = gathered(exchange, declaredBytes);
    this.progressNanos = exchange.loop.coarseNow();
    this.rate = new BodyRate(progressNanos);
  }

  /**
   * The most that is read of a body before its request asks for a slot: 0, or all that may come.
   */
  private static int gathered(Exchange exchange, long length) {
    DeploymentRouter to = exchange.route.router();
    if (to == null || ReservationHeader.of(exchange.http.headers()) != null) {
      return 0; // who has a slot by a token has it for no longer than its lease
    }
    int most = to.wholeBodyBytes();
    return length > most ? 0 : most;
  }

  // --- what comes ---

  @Override
  public void handle(Buffer piece) {
    if (state == State.DROPPING) {
      return;
    }
    progressNanos = exchange.loop.coarseNow();
    received += piece.length();
    if (received > exchange.loop.maxBodyBytes) {
      state = State.DROPPING;
      forget();
      exchange.refuseBody(ErrorResponses.bodyTooLarge(exchange.loop.maxBodyBytes));
    } else if (state == State.GATHERING) {
      goOn(piece);
    } else if (state == State.BEGINNING) {
      if (exchange.tryTakeRoom(piece.length())) { // else it was told to stop
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
    } else if (copied) {
      first.appendBuffer(piece);
    } else {
      copied = true;
      first =
          Buffer.buffer(Math.min(MAX_INLINE_BYTES, 2 * (first.length() + piece.length())))
              .appendBuffer(first)
              .appendBuffer(piece);
    }
    if (state == State.BEGINNING && declaredBytes < 0 && !timed && !isGathered()) {
      timed = true;
      exchange.loop.later(this::waitALittle); // most short ones have come whole by then
    }
  }

  private void waitALittle() {
    if (state == State.BEGINNING) {
      exchange.loop.after(
          PATIENCE_MS,
          () -> {
            if (state == State.BEGINNING) {
              flow();
            }
          });
    }
  }

  /** More has come than travels inside a request. */
  private void goOn(Buffer piece) {
    hold(piece);
    Bound room = exchange.loop.ingress.bodies;
    if (received <= gatherBytes && room.tryTake(piece.length(), room.most() / 2)) {
      gathered += piece.length();
      state = State.GATHERING;
    } else {
      flow();
    }
  }

  private void hold(Buffer piece) {
    if (held == null) {
      held = new WaitingPieces();
    }
    held.add(piece);
  }

  /** Bytes are held no longer. */
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
    if (!exchange.tryTakeRoom(MAX_INLINE_BYTES)) { // for what comes before it is paused
      return; // and it was told to stop
    }
    state = State.FLOWING;
    paused = true;
    rate.heldBack();
    exchange.http.pause();
    begun();
  }

  /** The body goes on when a replica has accepted the request. */
  private void begun() {
    exchange.call(new Request.Body.Streamed(this), exchange.loop.now());
  }

  /** No more will come. */
  private void ended(Void end) {
    State before = state;
    state = State.ENDED;
    switch (before) {
      case BEGINNING -> {
        Buffer whole = first;
        first = EMPTY;
        exchange.reader = null;
        exchange.call(new Request.Body.Whole(whole), exchange.loop.now());
      }
      case GATHERING -> {
        paused = true;
        begun();
      }
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

  // --- what the exchange asks ---

  /** Whether it is read before its request asks for a slot. */
  private boolean isGathered() {
    return gatherBytes > 0;
  }

  /** Whether all of it has come. */
  boolean hasEnded() {
    return state == State.ENDED;
  }

  /** When a piece last came, or was asked for, as coarsely as the sweep looks. */
  long progressNanos() {
    return progressNanos;
  }

  /** Whether it is for the client to send; else it is held back by whoever handles the request. */
  boolean awaitsClient() {
    return isBefore(State.FLOWING) || (state == State.FLOWING && !paused);
  }

  /**
   * How long it lags behind a least rate; for each sweep.
   *
   * @param mayCome whether its connection lets the client send
   */
  double lagNanos(long now, int bytesPerSecond, boolean mayCome) {
    return rate.lagNanos(now, received, mayCome && awaitsClient(), bytesPerSecond);
  }

  private long bytesLeft() {
    return declaredBytes < 0 && !hasEnded()
        ? Long.MAX_VALUE
        : Math.max(0, declaredBytes - received);
  }

  /** The answer is out: what still comes means nothing. */
  void drop() {
    if (isBefore(State.DROPPING)) {
      state = State.DROPPING;
      forget();
      exchange.http.resume();
    }
  }

  /** The exchange is over without an answer: its request is not asked for anything any more. */
  void stop() {
    forget();
    if (isBefore(State.DROPPING)) {
      state = State.DROPPING;
    }
  }

  private boolean isBefore(State other) {
    return state.compareTo(other) < 0;
  }

  // --- what the router asks ---

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

  /** Never told: a client that leaves ends its exchange, and with it the call. */
  @Override
  public ReadStream<Buffer> exceptionHandler(@Nullable Handler<Throwable> newHandler) {
    return this;
  }

  @Override
  public ReadStream<Buffer> pause() {
    paused = true;
    rate.heldBack();
    if (state == State.FLOWING) {
      exchange.http.pause();
    }
    return this;
  }

  @Override
  public ReadStream<Buffer> resume() {
    if (state == State.DROPPING) {
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
      return this; // by whoever took the piece
    }
    if (state == State.FLOWING) {
      exchange.http.resume();
    } else {
      tellEnd();
    }
    return this;
  }

  /** The router takes what it asked for as it comes. */
  @Override
  public ReadStream<Buffer> fetch(long amount) {
    return resume();
  }
}
