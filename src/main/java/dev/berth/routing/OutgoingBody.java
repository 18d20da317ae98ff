package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.stream.UnsentPieces;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import org.jspecify.annotations.Nullable;

/**
 * The sending half of a request's body that does not travel inside the request alone.
 *
 * <pre>
 *   OFFERED --first credit--> FLOWING --source ended, last frame sent--> SENT
 *     any --the call is over--> stopped: nothing is read or sent any more
 * </pre>
 *
 * Until the replica's first credit nothing is read of the source, so that a refused request can be
 * sent again. Then no more is read than the credit left allows: what waits here is at most that and
 * one piece. Pieces that come in one tick leave as one frame. Confined to the call's loop.
 */
final class OutgoingBody implements Runnable {
  /** What a source that does not pause may pile up here; then its call fails. */
  static final int MAX_UNSENT_BYTES = 1 << 20;

  private static final Buffer NOTHING = Buffer.buffer(0);

  private final RoutedCall call;
  private final RouterLoop loop;
  private final Buffer first;
  private final @Nullable ReadStream<Buffer> source; // null when all of it is here
  private final int heldBytes;
  private final UnsentPieces pieces = new UnsentPieces();
  private long limit; // how many bytes may be sent in all
  private long sent; // bytes
  private int sequence;
  private boolean attached;
  private boolean accepted;
  private boolean flowing;
  private boolean ended; // the source has
  private boolean over; // the last frame was sent, or the call is over
  private boolean flushPosted;
  private boolean retrying;

  private OutgoingBody(
      RoutedCall call, Buffer first, @Nullable ReadStream<Buffer> source, Buffer rest) {
    this.call = call;
    this.loop = call.loop;
    this.first = first;
    this.source = source;
    this.heldBytes = first.length() + rest.length();
    if (rest.length() > 0) {
      pieces.add(rest);
    }
    this.ended = source == null;
  }

  /** What is to be sent beside the request; null when all of its body travels inside it. */
  static @Nullable OutgoingBody of(RoutedCall call, Request request) {
    Request.Body body = request.body();
    if (body instanceof Request.Body.Whole whole) {
      if (whole.length() <= LoopLimits.MAX_FRAME_BYTES) {
        return null;
      }
      Buffer first = whole.bytes().slice(0, LoopLimits.MAX_FRAME_BYTES);
      Buffer rest = whole.bytes().slice(LoopLimits.MAX_FRAME_BYTES, whole.length());
      return new OutgoingBody(call, first, null, rest);
    }
    if (body instanceof Request.Body.Streamed streamed) {
      ReadStream<Buffer> source = streamed.stream();
      Buffer first = source instanceof BegunBody begun ? begun.first() : NOTHING;
      return new OutgoingBody(call, first, source, NOTHING);
    }
    return new OutgoingBody(call, NOTHING, null, NOTHING); // refused when it is to be sent
  }

  /** The request as it travels: with what is known of its body. */
  Request opening(Request request) {
    if (request.body() instanceof Request.Body.Input) {
      throw new IllegalArgumentException("body: an input (expected: whole or streamed)");
    }
    if (source != null && !attached) {
      attached = true;
      attach(source);
    }
    return request.withBody(first);
  }

  /** Bytes held while the request waits. */
  int heldBytes() {
    return heldBytes;
  }

  /** Whether bytes may have gone beyond what travels with the request: it cannot be sent again. */
  private void attach(ReadStream<Buffer> from) {
    from.pause();
    // In a task of its own: a source that has failed says so at once, within the sending.
    from.exceptionHandler(failure -> loop.ports.loop().execute(() -> sourceFailed(failure)));
    from.endHandler(end -> loop.run(this::sourceEnded));
    from.handler(piece -> loop.run(() -> took(piece)));
  }

  // --- what comes ---

  private void took(Buffer piece) {
    assert loop.isHere();
    if (over || ended) {
      return;
    }
    if (piece.length() > 0) {
      pieces.add(piece);
    }
    if (pieces.bytes() >= Math.min(credit(), LoopLimits.MAX_FRAME_BYTES)) {
      emit();
    }
    if (pieces.bytes() > MAX_UNSENT_BYTES + piece.length()) {
      call.bodyFailed(
          new BerthException.HandlerFailed(
              "body: over " + MAX_UNSENT_BYTES + " bytes wait (expected: a source that pauses)",
              null));
      return;
    }
    postFlush();
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

  /** Reads on exactly while there is credit for more than what waits. */
  private void throttle() {
    ReadStream<Buffer> from = source;
    if (from == null || ended || over) {
      return;
    }
    boolean wanted = credit() > pieces.bytes();
    if (wanted != flowing) {
      flowing = wanted; // first: a source may deliver from within resume
      if (wanted) {
        from.resume();
      } else {
        from.pause();
      }
    }
  }

  // --- what leaves ---

  private long credit() {
    return limit - sent;
  }

  /** The replica takes bytes up to this one; the first time, it has accepted the request. */
  void credit(long newLimit) {
    if (over) {
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

  /** Tries again what the peer's transport did not take. */
  @Override
  public void run() {
    retrying = false;
    emit();
    throttle();
  }

  private void emit() {
    while (!over && !retrying && accepted && pieces.bytes() > 0 && credit() > 0) {
      int size = (int) Math.min(Math.min(pieces.bytes(), credit()), LoopLimits.MAX_FRAME_BYTES);
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

  /** The call is over: whoever made the source ends it. */
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
