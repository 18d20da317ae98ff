package dev.berth.upstream.client;

import dev.berth.api.Headers;
import dev.berth.upstream.client.UpstreamFailure.FailureEffect;
import dev.berth.upstream.client.UpstreamTarget.ExchangeTimeouts;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import org.jspecify.annotations.Nullable;

/**
 * A request and its response. Confined to the loop of its client.
 *
 * <pre>
 *   OPENING --connected--> WAITING --head of the response--> RECEIVING --end--> OVER
 *   OPENING, WAITING, RECEIVING --cancel--> CANCELLED --confirmed, or reset--> OVER
 *   any --failure--> OVER
 * </pre>
 */
public final class UpstreamExchange {
  /** Deadline that never passes. Times are nanoseconds since the client's start. */
  static final long NONE = Long.MAX_VALUE;

  private enum ExchangePhase {
    OPENING,
    WAITING,
    RECEIVING,
    CANCELLED,
    OVER
  }

  private final ContextInternal loop;
  private ExchangeCarrier connection;
  private final ExchangeListener listener;
  private final boolean chunked;
  private final @Nullable Promise<Void> opened; // null if the connection was idle
  private ExchangePhase phase;
  private long left; // bytes of the request's body, if it is not chunked
  private boolean ended; // the request
  private boolean unwritable; // the rest of the request
  private boolean paused;
  private boolean lasts; // the response, without a limit between two parts
  private long limitNanos = NONE; // of a probe or a cancellation

  /**
   * @param bodyLength of a body that follows; 0 if the request is whole
   */
  UpstreamExchange(
      ContextInternal loop,
      ExchangeCarrier connection,
      ExchangeListener listener,
      long bodyLength,
      boolean whole) {
    this.loop = loop;
    this.connection = connection;
    this.listener = listener;
    this.chunked = bodyLength < 0;
    this.left = bodyLength;
    this.ended = whole;
    this.phase = connection.isUsable() ? ExchangePhase.WAITING : ExchangePhase.OPENING;
    this.opened = phase == ExchangePhase.OPENING ? loop.promise() : null;
  }

  // --- request ---

  /** Gives a part of the body, or its end, to the connection as soon as that is open. */
  private Future<Void> give(@Nullable Buffer piece) {
    Promise<Void> open = opened;
    return open == null || phase != ExchangePhase.OPENING
        ? connection.write(piece, chunked)
        : open.future().compose(here -> connection.write(piece, chunked));
  }

  /** Continues on another connection; nothing was sent on the former one. */
  void moveTo(ExchangeCarrier other) {
    connection = other;
  }

  void onOpen() {
    phase = ExchangePhase.WAITING;
    if (opened != null) {
      opened.complete();
    }
    if (paused) {
      connection.read(false);
    }
  }

  /**
   * Sends a part of a streamed request's body.
   *
   * @return completes when the socket has accepted the part; fails if it never will
   * @throws IllegalStateException if the body exceeds its length
   */
  public Future<Void> write(Buffer piece) {
    if (isClosing() || unwritable) {
      return loop.failedFuture("exchange: over (expected: no more body)");
    }
    if (ended || (!chunked && piece.length() > left)) {
      throw new IllegalStateException("request body: longer than its length");
    }
    left -= piece.length();
    return piece.length() == 0 ? loop.succeededFuture() : give(piece);
  }

  /** Ends the body of a streamed request. A body that is too short fails the exchange. */
  public void end() {
    if (isClosing() || ended) {
      return;
    }
    ended = true;
    if (!chunked && left > 0) {
      connection.failLater("request body: shorter than its length");
    } else {
      give(null);
    }
    connection.touch();
  }

  /** Handles a request whose rest cannot be written; its response may have arrived. */
  void onUnwritable() {
    unwritable = true;
    ended = true; // limits the time for the response
  }

  /** Returns whether the socket has accepted the whole request. */
  boolean isSent() {
    return ended && !unwritable && !connection.hasUnwritten();
  }

  // --- response ---

  void onHead(int status, Headers headers) {
    if (!isClosing()) {
      phase = ExchangePhase.RECEIVING;
      listener.onHead(status, headers);
    }
  }

  void onFields(int status, Headers fields) {
    if (!isClosing()) {
      listener.onFields(status, fields);
    }
  }

  void onPiece(Buffer piece) {
    if (!isClosing()) {
      listener.onPiece(piece);
    }
  }

  /** Stops reading from the socket. Parts that are already received may still arrive. */
  public void pause() {
    read(false);
  }

  /** Reads again. */
  public void resume() {
    read(true);
  }

  private void read(boolean on) {
    if (paused == on && !isClosing()) {
      paused = !on;
      connection.read(on);
    }
  }

  boolean isReceiving() {
    return phase == ExchangePhase.RECEIVING;
  }

  /** Returns whether all bytes of the response have arrived, and its end follows at once. */
  public boolean isComplete() {
    return connection.isComplete();
  }

  // --- end ---

  /**
   * Cancels the exchange: shuts the output down and waits until the upstream closes, or resets the
   * stream and waits for the ack. {@link ExchangeListener#onCancelled} follows in a later event,
   * unless the exchange has ended.
   *
   * @param graceNanos time after which the cancellation is not confirmed
   */
  public void cancel(long graceNanos) {
    if (isClosing()) {
      return;
    }
    boolean unsent = isUnsent();
    phase = ExchangePhase.CANCELLED;
    limitNanos = connection.now() + graceNanos;
    if (unsent) {
      connection.abandon();
      loop.runOnContext(here -> onEnd());
    } else {
      connection.stop();
    }
  }

  /** Returns whether no byte of the request was given to a socket. */
  public boolean isUnsent() {
    return phase == ExchangePhase.OPENING;
  }

  boolean isCancelled() {
    return phase == ExchangePhase.CANCELLED;
  }

  boolean isClosing() {
    return phase == ExchangePhase.CANCELLED || phase == ExchangePhase.OVER;
  }

  /** Handles a complete response, or the close by the peer that confirms a cancellation. */
  void onEnd() {
    if (phase == ExchangePhase.OVER) {
      return;
    }
    boolean cancelled = isCancelled();
    finish("over");
    if (cancelled) {
      listener.onCancelled(true);
    } else {
      listener.onEnd();
    }
  }

  /** Returns whether the listener cancels the exchange because of its response. */
  boolean onUnusable(String reason) {
    return (phase == ExchangePhase.WAITING || phase == ExchangePhase.RECEIVING)
        && listener.onUnusable(reason);
  }

  void onFailed(String reason) {
    onFailed(
        phase == ExchangePhase.OPENING ? FailureEffect.NOT_CONNECTED : FailureEffect.UNKNOWN,
        reason);
  }

  /** Handles a refusal by the peer before it began the request; one after the head is a failure. */
  void onRefused(String reason) {
    onFailed(
        phase == ExchangePhase.RECEIVING ? FailureEffect.UNKNOWN : FailureEffect.REFUSED, reason);
  }

  private void onFailed(FailureEffect effect, String reason) {
    if (phase == ExchangePhase.OVER) {
      return;
    }
    boolean cancelled = isCancelled();
    finish(reason);
    if (cancelled) {
      listener.onCancelled(effect == FailureEffect.REFUSED);
    } else {
      listener.onFailed(new UpstreamFailure(effect, reason));
    }
  }

  /** Begins the reset of the connection by the client's owner, which confirms nothing. */
  void onReset() {
    phase = isUnsent() ? phase : ExchangePhase.CANCELLED;
  }

  private void finish(String reason) {
    phase = ExchangePhase.OVER;
    connection.onOver();
    if (opened != null) {
      opened.tryFail("exchange: " + reason);
    }
  }

  // --- deadlines ---

  /** Removes the limit of the time between two parts of the response. */
  public void lasts() {
    lasts = true;
  }

  /** Sets a limit of the whole exchange. */
  void limit(long deadlineNanos) {
    limitNanos = deadlineNanos;
  }

  /**
   * Returns the next deadline.
   *
   * @param sinceNanos last progress
   */
  long deadline(ExchangeTimeouts timeouts, long sinceNanos) {
    long timeout =
        switch (phase) {
          case OPENING -> timeouts.connectNanos();
          case WAITING ->
              connection.hasUnwritten()
                  ? timeouts.idleNanos()
                  : ended ? timeouts.firstByteNanos() : 0;
          case RECEIVING -> paused || lasts ? 0 : timeouts.idleNanos();
          default -> 0;
        };
    return Math.min(limitNanos, timeout == 0 ? NONE : sinceNanos + timeout);
  }

  /** Returns the reason of a passed deadline. */
  String timeoutReason() {
    return switch (phase) {
      case OPENING -> "connect: timeout";
      case WAITING -> connection.hasUnwritten() ? "request: not read in time" : "response: timeout";
      default -> "response: no byte in time";
    };
  }
}
