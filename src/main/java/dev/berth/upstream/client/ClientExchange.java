package dev.berth.upstream.client;

import dev.berth.api.Headers;
import dev.berth.upstream.client.UpstreamTarget.ExchangeTimeouts;
import io.netty.buffer.ByteBuf;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An exchange with its connection.
 *
 * <pre>
 *   OPENING --connected--> WAITING --head of the response--> RECEIVING --end--> OVER
 *   OPENING, WAITING, RECEIVING --cancel--> CANCELLED --confirmed, or reset--> OVER
 *   any --failure--> OVER
 * </pre>
 */
final class ClientExchange implements UpstreamExchange {
  /** Deadline that never passes. Times are nanoseconds since the client's start. */
  static final long NONE = Long.MAX_VALUE;

  private enum ExchangePhase {
    OPENING,
    WAITING,
    RECEIVING,
    CANCELLED,
    OVER
  }

  private record WaitingWrite(ByteBuf bytes, Promise<Void> accepted) {}

  private final ContextInternal loop;
  private final UpstreamConnection connection;
  private final ExchangeListener listener;
  private final boolean chunked;
  private ExchangePhase phase = ExchangePhase.OPENING;
  private @Nullable List<WaitingWrite> waiting; // until the connection is open
  private long left; // bytes of the request's body; CHUNKED if unknown
  private boolean ended; // the request
  private boolean paused;
  private long limitNanos = NONE; // of a probe or a cancellation

  /**
   * @param bodyLength of a streamed body; 0 if the request is whole
   */
  ClientExchange(
      ContextInternal loop,
      UpstreamConnection connection,
      ExchangeListener listener,
      long bodyLength,
      boolean whole) {
    this.loop = loop;
    this.connection = connection;
    this.listener = listener;
    this.chunked = bodyLength == UpstreamRequest.CHUNKED;
    this.left = bodyLength;
    this.ended = whole;
  }

  // --- request ---

  /** Gives bytes to the channel as soon as it is open. */
  Future<Void> give(ByteBuf bytes) {
    if (phase != ExchangePhase.OPENING) {
      return connection.write(bytes);
    }
    WaitingWrite later = new WaitingWrite(bytes, loop.promise());
    if (waiting == null) {
      waiting = new ArrayList<>(2);
    }
    waiting.add(later);
    return later.accepted.future();
  }

  /** Gives the waiting bytes to the open connection. Returns false if there are none. */
  boolean onOpen() {
    phase = ExchangePhase.WAITING;
    List<WaitingWrite> all = waiting;
    waiting = null;
    if (all != null) {
      all.forEach(each -> connection.write(each.bytes).onComplete(each.accepted));
    }
    return all != null;
  }

  @Override
  public Future<Void> write(Buffer piece) {
    int bytes = piece.length();
    if (isClosing()) {
      return loop.failedFuture("exchange: over (expected: no more body)");
    }
    if (ended || (!chunked && bytes > left)) {
      throw new IllegalStateException("request body: longer than its length");
    }
    if (bytes == 0) {
      return loop.succeededFuture();
    }
    left = chunked ? left : left - bytes;
    return give(RequestEncoder.piece(connection.memory(), piece, chunked));
  }

  @Override
  public void end() {
    if (isClosing() || ended) {
      return;
    }
    if (left > 0) {
      throw new IllegalStateException("request body: shorter than its length");
    }
    ended = true;
    if (chunked) {
      give(RequestEncoder.lastChunk(connection.memory()));
    }
    connection.touch();
  }

  /** Returns whether the socket has accepted the whole request. */
  boolean isSent() {
    return ended && !connection.hasUnwritten();
  }

  /** Returns whether no byte of the request was given to the channel. */
  boolean isUnsent() {
    return phase == ExchangePhase.OPENING;
  }

  // --- response ---

  void onHead(int status, Headers headers) {
    if (!isClosing()) {
      phase = ExchangePhase.RECEIVING;
      listener.onHead(status, headers);
    }
  }

  void onPiece(Buffer piece) {
    if (!isClosing()) {
      listener.onPiece(piece);
    }
  }

  @Override
  public void pause() {
    if (!isClosing()) {
      paused = true;
      connection.read(false);
    }
  }

  @Override
  public void resume() {
    if (paused && !isClosing()) {
      paused = false;
      connection.read(true);
      connection.touch();
    }
  }

  // --- end ---

  @Override
  public void cancel(long graceNanos) {
    if (isClosing()) {
      return;
    }
    if (phase == ExchangePhase.OPENING) {
      connection.abandon();
      releaseWaiting();
      phase = ExchangePhase.CANCELLED;
      later(() -> onCancelled(true));
      return;
    }
    phase = ExchangePhase.CANCELLED;
    limitNanos = connection.now() + graceNanos;
    connection.shutOutput();
  }

  boolean isReceiving() {
    return phase == ExchangePhase.RECEIVING;
  }

  boolean isCancelled() {
    return phase == ExchangePhase.CANCELLED;
  }

  private boolean isClosing() {
    return phase == ExchangePhase.CANCELLED || phase == ExchangePhase.OVER;
  }

  /** Handles the end of the response. */
  void onEnd() {
    if (isCancelled()) {
      onCancelled(true);
    } else if (isBegun()) {
      listener.onEnd();
    }
  }

  void onCancelled(boolean confirmed) {
    phase = ExchangePhase.OVER;
    listener.onCancelled(confirmed);
  }

  /** Returns whether the listener cancels the exchange because of its response. */
  boolean onUnusable(String reason) {
    return (phase == ExchangePhase.WAITING || phase == ExchangePhase.RECEIVING)
        && listener.onUnusable(reason);
  }

  /** Ends the exchange by a failure, unless it is over. */
  void onFailed(String reason) {
    if (isCancelled()) {
      onCancelled(false);
      return;
    }
    boolean notRun = isUnsent();
    if (isBegun()) {
      releaseWaiting();
      listener.onFailed(new UpstreamFailure(notRun, reason));
    }
  }

  /** Ends the exchange. Returns false if it is over already. */
  private boolean isBegun() {
    boolean begun = phase != ExchangePhase.OVER;
    phase = ExchangePhase.OVER;
    return begun;
  }

  /** Runs a step in a later event. */
  void later(Runnable step) {
    loop.runOnContext(here -> step.run());
  }

  private void releaseWaiting() {
    List<WaitingWrite> all = waiting;
    waiting = null;
    if (all != null) {
      for (WaitingWrite each : all) {
        each.bytes.release();
        each.accepted.fail("exchange: over (expected: no more body)");
      }
    }
  }

  // --- deadlines ---

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
          case RECEIVING -> paused ? 0 : timeouts.idleNanos();
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
