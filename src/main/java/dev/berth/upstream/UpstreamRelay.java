package dev.berth.upstream;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.RelayedRequest;
import dev.berth.protocol.port.UpstreamNotRun;
import dev.berth.upstream.client.ExchangeListener;
import dev.berth.upstream.client.UpstreamClient;
import dev.berth.upstream.client.UpstreamExchange;
import dev.berth.upstream.client.UpstreamFailure;
import dev.berth.upstream.client.UpstreamRequest;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.util.ArrayDeque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A request at its upstream. Its end frees the slot: the response was read to the end, the upstream
 * closed after a cancel, or {@code orphan_s} passed after a reset. Confined to the replica's loop.
 *
 * <p>A response that arrives within one turn of the loop is returned whole. The head of any other
 * is returned at the end of that turn, and its parts pass as they arrive. At most {@code
 * read_ahead_bytes} are read before the client accepts them.
 */
final class UpstreamRelay implements ExchangeListener, Response.Producer {
  /** Charge of a part beyond its bytes, so that the limit holds for many small parts. */
  private static final int PIECE_OVERHEAD_BYTES = 64;

  /** Maximum of a body that is sent or returned whole, in one message. */
  private static final int MAX_WHOLE_BYTES = 64 << 10;

  private static final int EARLY_HINTS = 103;
  private static final int MAX_INFORMATIONAL = 8;

  private enum RelayState {
    /** No part of a response was returned. */
    WAITING,
    /** The response refuses to run the request; the rest of it is dropped. */
    REFUSED,
    /** The head was returned. */
    RELAYING,
    /** The client has left; a response is dropped. */
    CANCELLED
  }

  private final RelayedRequest context;
  private final LoopDependencies ports;
  private final UpstreamSettings settings;
  private final UpstreamWatch watch;
  private final RelayEnvironment instance;
  private final Promise<Response> answer = Promise.promise();
  private final Promise<Void> produced = Promise.promise();
  private final ArrayDeque<Buffer> received = new ArrayDeque<>(1); // parts not yet written
  private RelayState state = RelayState.WAITING;
  private @Nullable UpstreamExchange exchange; // set before any event of it
  private @Nullable ModelRewrite rewrite; // null: the body passes unchanged
  private boolean bodiless; // a response to HEAD
  private boolean requestEnded;
  private boolean responseEnded;
  private int status;
  private Headers headers = Headers.empty();
  private @Nullable RuntimeException failure; // result of a refused or failed exchange
  private @Nullable ResponseWriter writer;
  private long unsent; // charge of the parts of the response that the client has not accepted
  private boolean paused;
  private int informed; // number of informational responses
  private boolean trailing; // the response has trailers
  private boolean unusable; // the rest of the response
  private boolean mayRunOn; // a cancelled request, behind a closed connection
  private boolean abandoned; // after orphan_s
  private boolean runsOn;
  private boolean lasts; // its response may last without a byte, and holds no slot
  private boolean unconnected; // no connection to the upstream succeeded
  private Runnable stopTimer = () -> {};

  UpstreamRelay(
      RelayedRequest context,
      LoopDependencies ports,
      UpstreamSettings settings,
      UpstreamWatch watch,
      RelayEnvironment instance) {
    this.context = context;
    this.ports = ports;
    this.settings = settings;
    this.watch = watch;
    this.instance = instance;
  }

  /** Declares a request that runs on at the upstream when its connection closes. */
  void runsOn() {
    runsOn = true;
  }

  /** Declares a response that may last without a byte, and that ends with its connection. */
  void lasts() {
    lasts = true;
  }

  /** Returns whether the request failed since no connection to the upstream succeeded. */
  boolean isUnconnected() {
    return unconnected;
  }

  /** Runs an action at the end of the request, after its handler returned or failed. */
  void onEnd(@Nullable Response response, Runnable action) {
    if (response != null && response.body() instanceof Response.Body.Produced) {
      produced.future().onComplete((done, failed) -> action.run());
    } else {
      action.run();
    }
  }

  // --- the request ---

  /** Receives the part of the body that has arrived. */
  void receive(Request request) {
    if (request.body() instanceof Request.Body.Whole whole) {
      requestEnded = received.add(whole.bytes());
      return;
    }
    ReadStream<Buffer> body = request.stream();
    body.exceptionHandler(left -> {}); // a cancel follows
    body.endHandler(end -> onRequestEnd());
    body.handler(piece -> onRequestPiece(body, piece));
    body.resume(); // the bytes of the message arrive within this call
  }

  /** Sends the request. A body within the request message is sent with its head. */
  Future<Response> start(Request request, UpstreamClient client) {
    bodiless = request.method().equals("HEAD");
    Buffer whole = requestEnded ? joined() : null;
    long length = whole == null ? declaredLength(request) : whole.length();
    ModelRewrite change =
        ModelRewrite.of(request.headers(), context.deployment(), settings, length);
    if (change != null && (whole == null || change.fits(whole))) {
      rewrite = change;
      length = length < 0 ? length : length + change.growth();
      whole = whole == null ? null : change.pass(whole);
    }
    Buffer inParts = whole == null || whole.length() <= MAX_WHOLE_BYTES ? null : whole;
    UpstreamExchange begun =
        client.send(
            new UpstreamRequest(
                request.method(),
                RelayHeaders.target(request, settings, instance.rootPath()),
                RelayHeaders.toUpstream(request, context.requestId(), settings, instance.via()),
                length),
            inParts == null ? whole : null,
            this);
    exchange = begun;
    if (lasts) {
      begun.lasts();
    }
    if (inParts != null) {
      sendInParts(inParts, 0);
    } else if (!received.isEmpty()) {
      onRequestPiece(request.stream(), joined());
    }
    context.onCancel(this::cancel);
    return answer.future();
  }

  private static long declaredLength(Request request) {
    String declared = request.headers().get("content-length");
    try {
      return declared == null ? UpstreamRequest.CHUNKED : Long.parseLong(declared.strip());
    } catch (NumberFormatException meaningless) {
      return UpstreamRequest.CHUNKED;
    }
  }

  /** Sends the rest of a large whole body, each part when the socket has accepted the last one. */
  private void sendInParts(Buffer whole, int from) {
    Future<Void> accepted = Future.succeededFuture();
    int at = from;
    while (at < whole.length() && accepted.succeeded()) {
      int to = Math.min(whole.length(), at + MAX_WHOLE_BYTES);
      accepted = exchange().write(whole.slice(at, to));
      at = to;
    }
    int next = at;
    if (next < whole.length()) {
      accepted.onSuccess(sent -> sendInParts(whole, next));
    } else {
      exchange().end();
    }
  }

  private void onRequestPiece(ReadStream<Buffer> body, Buffer piece) {
    if (exchange == null) {
      received.add(piece);
    } else if (rewrite != null && !rewrite.fits(piece)) {
      String reason = "request: no model at its place"; // cancels
      context.breakOff(BerthException.Kind.OUTCOME_UNKNOWN, reason);
    } else {
      body.pause();
      Buffer next = rewrite == null ? piece : rewrite.pass(piece);
      exchange.write(next).onSuccess(accepted -> body.resume());
    }
  }

  private void onRequestEnd() {
    requestEnded = true;
    if (exchange != null) {
      exchange.end();
    }
  }

  /** Removes the received parts, as one buffer. */
  private Buffer joined() {
    Buffer first = received.size() == 1 ? received.remove() : Buffer.buffer();
    for (Buffer next = received.poll(); next != null; next = received.poll()) {
      first.appendBuffer(next);
    }
    return first;
  }

  // --- the response ---

  @Override
  public void onHead(int status, Headers headers) {
    long retryAfter = RelayHeaders.retryAfterMillis(headers, context::now);
    watch.onResponse(status, retryAfter, context);
    if (state != RelayState.WAITING) {
      return;
    }
    if (status < 200 || status > 599) {
      onUnusable("status " + status);
      return;
    }
    this.status = status;
    this.headers = RelayHeaders.toClient(headers);
    if (settings.notRun().contains(status) && !settings.isOnly()) {
      state = RelayState.REFUSED;
      failure = new UpstreamNotRun("status " + status, retryAfter);
    }
    if (!exchange().isComplete()) {
      ports.loop().execute(this::onTurnEnd);
    }
  }

  @Override
  public void onFields(int status, Headers fields) {
    boolean hints = status == EARLY_HINTS && state == RelayState.WAITING;
    if (status == 0 || (hints && informed++ < MAX_INFORMATIONAL)) {
      trailing |= status == 0;
      context.passFields(
          status,
          status == 0 ? RelayHeaders.trailersToClient(fields) : RelayHeaders.toClient(fields));
    }
  }

  private static RuntimeException unknown(String reason) {
    return new BerthException.OutcomeUnknown("upstream: " + reason);
  }

  @Override
  public void onPiece(Buffer piece) {
    if (state == RelayState.REFUSED || state == RelayState.CANCELLED) {
      return;
    }
    received.add(piece);
    unsent += charge(piece);
    writeReceived();
    if (!paused && unsent >= settings.readAheadBytes()) {
      paused = true;
      exchange().pause();
    }
  }

  @Override
  public void onEnd() {
    responseEnded = true;
    switch (state) {
      case WAITING -> {
        if (!unusable) { // else a cancel follows
          answerWhole();
        }
      }
      case RELAYING -> writeReceived();
      case REFUSED, CANCELLED -> settle();
    }
  }

  /** Returns a response that has ended. One without a body may state the length of another. */
  private void answerWhole() {
    if (bodiless || trailing || unsent > MAX_WHOLE_BYTES) {
      answerProduced();
    } else {
      state = RelayState.RELAYING;
      answer.tryComplete(Response.of(status, headers, new Response.Body.Whole(joined())));
    }
  }

  private void answerProduced() {
    state = RelayState.RELAYING;
    answer.tryComplete(Response.of(status, headers, new Response.Body.Produced(this)));
  }

  /** Returns the head of a response whose end has not arrived with it. */
  private void onTurnEnd() {
    if (state == RelayState.REFUSED && !responseEnded) {
      context.refuse((UpstreamNotRun) Objects.requireNonNull(failure));
      exchange().cancel(settings.graceNanos()); // the rest is not needed
    } else if (state == RelayState.WAITING && !context.cancelled()) {
      answerProduced();
    }
  }

  @Override
  public Future<Void> writeTo(ResponseWriter writer) {
    this.writer = writer;
    if (bodiless) { // the head is sent first, since the end alone would give it a length of 0
      ports.loop().execute(this::writeReceived);
    } else {
      writeReceived();
    }
    return produced.future();
  }

  private void writeReceived() {
    ResponseWriter out = writer;
    if (out == null) {
      return; // called again with the writer
    }
    for (Buffer next = received.poll(); next != null; next = received.poll()) {
      long charge = charge(next);
      out.write(next).onComplete((sent, failed) -> onWritten(charge));
    }
    if (responseEnded && state == RelayState.RELAYING) {
      produced.tryComplete();
    }
  }

  private void onWritten(long charge) {
    unsent -= charge;
    if (paused && unsent < settings.readAheadBytes()) {
      paused = false;
      exchange().resume();
    }
  }

  private static long charge(Buffer piece) {
    return piece.length() + (long) PIECE_OVERHEAD_BYTES;
  }

  // --- the early end ---

  private void cancel() {
    if (state == RelayState.REFUSED || state == RelayState.CANCELLED) {
      return; // it ends soon
    }
    state = RelayState.CANCELLED;
    joined();
    mayRunOn =
        (runsOn || !settings.stopsOnClose()) && !lasts && requestEnded && !exchange().isUnsent();
    if (responseEnded) {
      settle();
    } else if (!mayRunOn || unusable) {
      exchange().cancel(settings.graceNanos());
    } else {
      paused = false;
      exchange().resume(); // reads to the end, which frees the upstream
      stopTimer = ports.timer().start(settings.orphanNanos(), this::abandon);
    }
  }

  /** Ends a cancelled exchange whose response does not end. */
  private void abandon() {
    abandoned = true;
    exchange().cancel(settings.graceNanos());
  }

  @Override
  public boolean onUnusable(String reason) {
    if (!unusable) {
      unusable = true;
      watch.onFailed(new UpstreamFailure(UpstreamFailure.FailureEffect.UNKNOWN, reason));
      if (state == RelayState.WAITING || state == RelayState.RELAYING) {
        context.breakOff(BerthException.Kind.OUTCOME_UNKNOWN, "upstream: " + reason); // cancels
      } else {
        exchange().cancel(settings.graceNanos());
      }
    }
    return true;
  }

  @Override
  public void onCancelled(boolean confirmed) {
    if (state == RelayState.REFUSED || abandoned || lasts || (confirmed && !mayRunOn)) {
      settle();
    } else {
      onOrphaned("connection reset by this node");
    }
  }

  @Override
  public void onFailed(UpstreamFailure failed) {
    responseEnded = true;
    watch.onFailed(failed);
    if (failure == null) {
      boolean notRun = failed.notRun() && state == RelayState.WAITING;
      failure = notRun ? new UpstreamNotRun(failed.reason(), -1) : unknown(failed.reason());
    }
    unconnected = failed.notRun() && state == RelayState.WAITING;
    if (failed.notRun() || settings.stopsOnClose() || lasts || state == RelayState.REFUSED) {
      settle();
      return;
    }
    onOrphaned(failed.reason());
  }

  /** Fails a request that may run on. Its slot is free after {@code orphan_s}. */
  private void onOrphaned(String reason) {
    if (state != RelayState.CANCELLED) {
      state = RelayState.CANCELLED;
      context.breakOff(BerthException.Kind.OUTCOME_UNKNOWN, "upstream: " + reason);
    }
    ports.timer().start(settings.orphanNanos(), this::settle);
  }

  private void settle() {
    stopTimer.run();
    RuntimeException result = failure == null ? unknown("the client has left") : failure;
    answer.tryFail(result);
    produced.tryFail(result);
  }

  private UpstreamExchange exchange() {
    return Objects.requireNonNull(exchange, "exchange: null (expected: sent)");
  }
}
