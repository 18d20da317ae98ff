package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.stream.OutboundChunkQueue;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import org.jspecify.annotations.Nullable;

/**
 * Sends the part of a request body that does not travel inside the request message.
 *
 * <pre>
 *   OFFERED --first credit--> FLOWING --source ended, last frame sent--> SENT
 *     any --the call ends--> stopped: nothing more is read or sent
 * </pre>
 *
 * <p>The source is not read before the replica's first credit, so that a refused request can be
 * sent again. Later reads never exceed the remaining credit: the buffer here holds at most that and
 * one chunk. A chunk is a frame, without a copy, unless it is small: small chunks of one tick are
 * joined. A whole body to a replica of this instance travels inside its request. Confined to the
 * call's loop.
 */
final class OutgoingBody implements Runnable {
  /** Maximum unsent bytes from a source that ignores pause; beyond them its call fails. */
  static final int MAX_UNSENT_BYTES = 1 << 20;

  /** Size in bytes below which a chunk is joined with the next ones. */
  private static final int SMALL_BYTES = 8 << 10;

  private static final Buffer NOTHING = Buffer.buffer(0);

  private final RoutedCall call;
  private final RouterLoop loop;
  private Buffer first = NOTHING;
  private final @Nullable ReadStream<Buffer> source; // null if the whole body is buffered here
  final int heldBytes;
  boolean follows; // whether a part of the body follows the request message
  private final OutboundChunkQueue pieces = new OutboundChunkQueue();
  private long limit; // total bytes that may be sent
  private long sent; // total bytes sent
  private int sequence;
  private boolean attached;
  private boolean accepted;
  private boolean flowing;
  private boolean ended; // the source has ended
  private boolean over; // the last frame was sent, or the call has ended
  private boolean flushPosted;
  private boolean retrying;

  private OutgoingBody(RoutedCall call, Request.Body body) {
    this.call = call;
    this.loop = call.loop;
    this.source = body instanceof Request.Body.Streamed streamed ? streamed.stream() : null;
    if (source instanceof BufferedPrefixBody begun) {
      first = begun.first();
    }
    this.heldBytes = body instanceof Request.Body.Whole whole ? whole.length() : first.length();
    this.ended = source == null;
  }

  /**
   * Returns the sender of the rest of a body; null if the whole body travels inside the request.
   */
  static @Nullable OutgoingBody of(RoutedCall call, Request request) {
    return request.body() instanceof Request.Body.Whole whole
            && whole.length() <= LoopLimits.MAX_FRAME_BYTES
        ? null
        : new OutgoingBody(call, request.body());
  }

  /** Returns the request to send, with its whole body or the known first bytes. */
  Request opening(Request request, RoutedReplica to) {
    if (request.body() instanceof Request.Body.Input) {
      throw new IllegalArgumentException("body: an input (expected: whole or streamed)");
    }
    follows = source != null || !to.here();
    if (!follows) {
      return request;
    }
    if (!attached) {
      attached = true;
      if (source == null) {
        split(request.bytes());
      } else {
        attach(source);
      }
    }
    return request.withBody(first);
  }

  private void split(Buffer whole) {
    int inline = Math.min(whole.length(), LoopLimits.MAX_FRAME_BYTES);
    first = whole.slice(0, inline);
    pieces.add(whole.slice(inline, whole.length()));
  }

  /** Pauses the source and registers its handlers. */
  private void attach(ReadStream<Buffer> from) {
    from.pause();
    // In its own task: a source that has failed reports so at once, inside the send.
    from.exceptionHandler(failure -> loop.ports.loop().execute(() -> sourceFailed(failure)));
    from.endHandler(end -> loop.run(this::sourceEnded));
    from.handler(piece -> loop.run(() -> took(piece)));
  }

  // --- from the source ---

  private void took(Buffer piece) {
    assert loop.isHere();
    if (over || ended) {
      return;
    }
    if (piece.length() > 0) {
      pieces.add(piece);
    }
    if (pieces.bytes() >= Math.min(credit(), SMALL_BYTES)) {
      emit();
    }
    if (pieces.bytes() > MAX_UNSENT_BYTES + piece.length()) {
      call.bodyFailed(
          new BerthException.HandlerFailed(
              "body: over " + MAX_UNSENT_BYTES + " bytes unsent (expected: a source that pauses)",
              null));
      return;
    }
    if (pieces.bytes() > 0) {
      postFlush();
    }
    throttle();
  }

  private void sourceEnded() {
    if (!over && !ended) {
      ended = true;
      postFlush();
    }
  }

  private void sourceFailed(Throwable failure) {
    if (!over && !ended) {
      call.bodyFailed(
          failure instanceof BerthException known
              ? known
              : new BerthException.HandlerFailed("the body of the request failed", failure));
    }
  }

  /** Resumes the source exactly while the credit exceeds the buffered bytes. */
  private void throttle() {
    ReadStream<Buffer> from = source;
    if (from == null || ended || over) {
      return;
    }
    boolean wanted = credit() > pieces.bytes();
    if (wanted != flowing) {
      flowing = wanted; // set first: a source may deliver from within resume
      if (wanted) {
        from.resume();
      } else {
        from.pause();
      }
    }
  }

  // --- to the replica ---

  private long credit() {
    return limit - sent;
  }

  /**
   * Raises the limit of bytes that the replica accepts. The first credit also accepts the request.
   */
  void credit(long newLimit) {
    if (over || !follows) {
      return;
    }
    accepted = true;
    limit = Math.max(limit, newLimit);
    emit();
    throttle();
  }

  private void postFlush() {
    if (!flushPosted && !over) {
      flushPosted = true;
      loop.ports.loop().execute(this::flush);
    }
  }

  private void flush() {
    flushPosted = false;
    emit();
    throttle();
  }

  /** Retries the frame that the transport did not accept. */
  @Override
  public void run() {
    retrying = false;
    emit();
    throttle();
  }

  private void emit() {
    while (!over && !retrying && accepted && pieces.bytes() > 0 && credit() > 0) {
      long most = Math.min(Math.min(pieces.bytes(), credit()), LoopLimits.MAX_FRAME_BYTES);
      int size = (int) Math.min(most, pieces.joinedBytes(SMALL_BYTES));
      if (!send(pieces.peek(size), ended && size == pieces.bytes())) {
        return;
      }
      sent += size;
      pieces.drop(size);
    }
    if (!over && !retrying && accepted && ended && pieces.bytes() == 0) {
      send(NOTHING, true); // the end needs no credit
    }
  }

  private boolean send(Buffer data, boolean last) {
    if (!call.sendFrame(sequence, data, last)) {
      retrying = true;
      loop.retryWithNextTick(this);
      return false;
    }
    sequence++;
    over = last;
    return true;
  }

  /** Stops because the call has ended. The producer of the source ends the source itself. */
  void stop() {
    over = true;
    pieces.drop((int) pieces.bytes());
    ReadStream<Buffer> from = source;
    if (from != null && flowing) {
      flowing = false;
      from.pause();
    }
  }
}
