package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.ResponseFields;
import dev.berth.protocol.BusMessage.StreamFrame;
import dev.berth.protocol.port.SizedProducer;
import dev.berth.stream.OutboundChunkQueue;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The sending half of one streamed response. Bytes are sent only against the receiver's credit, in
 * frames of at most 64 KiB; chunks written in one tick share a frame. A body that ends in its first
 * tick, and fits, is sent with its head as one message, which needs no credit.
 *
 * <p>At the end of a tick the writes that credit covers complete before their bytes are sent, so
 * that an end which a writer's callback gives is sent with the bytes. While the link accepts no
 * message, writes complete only when their bytes were sent.
 *
 * <pre>
 *   OPEN --finish--> FINISHING --last frame sent--> ENDED
 *     +---- broken, abandoned, failed (either) ---->  ENDED
 * </pre>
 *
 * <p><b>Concurrency.</b> Confined to the replica's loop, except {@link #write}, which may be called
 * on any thread and continues on the loop. Waiting bytes are counted before the switch of threads,
 * so that a writer cannot exceed the limit. Chunks that are joined to a waiting one are not
 * counted, as they add at most a frame.
 */
final class ResponseStream implements ResponseWriter {
  /** Overhead per chunk in bytes, so that the limit holds for many tiny chunks. */
  static final int PIECE_OVERHEAD_BYTES = 64;

  /** Unsent bytes from which a relayed source is paused. */
  private static final int RELAY_PAUSE_BYTES = BodyMemoryLimits.MAX_FRAME_BYTES;

  private enum ResponseStreamState {
    OPEN,
    FINISHING,
    ENDED
  }

  private final Invocation invocation;
  private final ReplicaLoop loop;
  private final Response head;
  private final int bufferBytes;
  private final long idleTimeoutNanos;

  private final AtomicLong charged = new AtomicLong(); // waiting bytes with overhead; thread-safe
  private final AtomicLong overflows = new AtomicLong();

  private final OutboundChunkQueue pieces = new OutboundChunkQueue();
  private final ArrayDeque<PendingWrite> writes = new ArrayDeque<>(1); // not yet completed
  private ResponseStreamState state = ResponseStreamState.OPEN;
  private boolean headSent;
  private boolean flushPosted;
  private int length = CallResponse.UNKNOWN; // bytes of a whole body
  private long limit; // total of bytes that may be sent
  private long sent; // total of bytes sent
  private long completed; // total of bytes whose writes have completed
  private long accounted; // bytes held for want of credit, as counted for the instance
  private int sequence;
  private long idleAt = InvocationContext.NEVER; // set while bytes wait for credit
  private long retryAt = InvocationContext.NEVER;
  private Response.Body.@Nullable Received relayed;
  private boolean relayPaused;

  /** A write, joined with later ones that credit covers. Its promise completes them together. */
  private static final class PendingWrite {
    final Promise<Void> done = Promise.promise();
    long charge;
    long end; // total of bytes with its own

    PendingWrite(long charge) {
      this.charge = charge;
    }
  }

  ResponseStream(Invocation invocation, Response head, int window) {
    this.invocation = invocation;
    this.loop = invocation.loop;
    this.head = head;
    this.limit = Math.max(0, window);
    if (invocation.host.replica.isUpstream) { // its relay has a limit, and keeps to the length
      this.bufferBytes = Integer.MAX_VALUE;
      this.length = CallResponse.declared(head.headers().get("content-length"));
    } else {
      this.bufferBytes = loop.limits.streamBufferBytes();
      if (head.body() instanceof Response.Body.Produced produced
          && produced.producer() instanceof SizedProducer sized) {
        this.length = CallResponse.declared(Long.toString(sized.length()));
      }
    }
    this.idleTimeoutNanos = loop.limits.streamIdleTimeoutNanos();
  }

  // --- writing ---

  @Override
  public Future<Void> write(Buffer piece) {
    boolean here = loop.isHere();
    PendingWrite before = here && retryAt == InvocationContext.NEVER ? writes.peekLast() : null;
    if (before != null
        && state == ResponseStreamState.OPEN
        && piece.length() <= OutboundChunkQueue.MAX_JOINED_BYTES
        && total(piece) <= limit) { // at most a frame waits, so that no charge is needed
      before.end = total(piece);
      pieces.join(piece, invocation.host.frameBytes);
      onAdded();
      return before.done.future();
    }
    long charge = charge(piece);
    long waiting = charged.addAndGet(charge);
    if (waiting > bufferBytes && waiting != charge) { // a single chunk may have any size
      charged.addAndGet(-charge);
      return overflowed();
    }
    PendingWrite write = new PendingWrite(charge);
    if (here) {
      accept(piece, write);
    } else {
      loop.execute(() -> accept(piece, write));
    }
    return write.done.future();
  }

  /** Returns the total of bytes with those of a chunk that is not yet added. */
  private long total(Buffer piece) {
    return sent + pieces.bytes() + piece.length();
  }

  private static long charge(Buffer piece) {
    return piece.length() + (long) PIECE_OVERHEAD_BYTES;
  }

  private Future<Void> overflowed() {
    String message =
        "stream_buffer_bytes: over " + bufferBytes + " unsent (expected: await writes)";
    if (overflows.incrementAndGet() == 1) {
      loop.execute(() -> breakOff(BerthException.Kind.HANDLER_FAILED, message));
    }
    return Future.failedFuture(new BerthException.HandlerFailed(message, null));
  }

  private void accept(Buffer data, PendingWrite write) {
    if (state != ResponseStreamState.OPEN) {
      uncharge(write);
      write.done.fail(endedException());
      return;
    }
    write.end = total(data);
    writes.add(write);
    pieces.add(data);
    onAdded();
  }

  private void onAdded() {
    if (pieces.bytes() >= BodyMemoryLimits.MAX_FRAME_BYTES) {
      emit(); // full frames need not wait for the end of the tick; their writers are notified there
      for (PendingWrite each : writes) {
        if (each.end > sent) {
          break;
        }
        uncharge(each);
      }
    }
    postFlush();
  }

  private void uncharge(PendingWrite write) {
    charged.addAndGet(-write.charge);
    write.charge = 0;
  }

  private static BerthException endedException() {
    return new BerthException.Cancelled("stream: ended (expected: an open stream)");
  }

  private void postFlush() {
    if (!flushPosted) {
      flushPosted = true;
      loop.execute(this::flush);
    }
  }

  /** Sends the chunks of this tick, with the head unless it was sent. */
  void flush() {
    flushPosted = false;
    advance();
  }

  /** Completes the writes that credit covers, unless the link is busy, and sends their bytes. */
  private void advance() {
    tellWriters(retryAt == InvocationContext.NEVER ? limit : sent);
    emit();
    tellWriters(sent);
  }

  /** Calls a producer. Its first writes are sent by {@link #finish} or {@link #flush}. */
  Future<Void> produce(Response.Producer producer) {
    flushPosted = true;
    try {
      return producer.writeTo(this);
    } finally {
      flushPosted = false;
    }
  }

  /** Sends a whole body that is too large for one message. No writer waits for it. */
  void sendWhole(Buffer body) {
    length = body.length();
    pieces.add(body);
    finish();
  }

  /** Relays a body that arrives from another deployment, with its back-pressure. */
  void relay(Response.Body.Received received) {
    relayed = received;
    received.stream().exceptionHandler(failure -> loop.run(() -> relayDone(failure)));
    received.stream().endHandler(end -> loop.run(() -> relayDone(null)));
    received.stream().handler(piece -> loop.run(() -> relayPiece(received, piece)));
    received.stream().resume();
    emit(); // the head need not wait for the first chunk
  }

  private void relayPiece(Response.Body.Received received, Buffer piece) {
    if (state != ResponseStreamState.OPEN) {
      return;
    }
    pieces.add(piece);
    onAdded();
    long waiting = pieces.bytes() + (long) pieces.size() * PIECE_OVERHEAD_BYTES;
    if (waiting > bufferBytes + (long) BodyMemoryLimits.MAX_FRAME_BYTES) {
      breakOff(
          BerthException.Kind.HANDLER_FAILED,
          "stream_buffer_bytes: over " + bufferBytes + " unsent (expected: a source that pauses)");
    } else if (pieces.bytes() >= RELAY_PAUSE_BYTES && !relayPaused) {
      relayPaused = true;
      received.stream().pause();
    }
  }

  private void relayDone(@Nullable Throwable failure) {
    relayed = null; // ended: no cancel is needed
    invocation.bodyDone(failure);
  }

  /** Marks the body as complete: the rest is sent, and the last frame carries the end. */
  void finish() {
    if (state == ResponseStreamState.OPEN) {
      state = ResponseStreamState.FINISHING;
      if (!flushPosted) {
        emit();
      }
    }
  }

  /**
   * Sends the bytes whose writes have completed, before the failure of their producer.
   *
   * @return whether the head was sent
   */
  boolean sendCompleted() {
    if (completed > sent) {
      emit();
    }
    return headSent;
  }

  /**
   * Returns whether the body is relayed. Then cancelling its source is all that remains on a
   * cancel.
   */
  boolean isRelay() {
    return relayed != null;
  }

  boolean headSent() {
    return headSent;
  }

  // --- sending ---

  /** Raises the total of bytes that the receiver accepts. */
  void credit(long newLimit) {
    if (state == ResponseStreamState.ENDED || newLimit <= limit) {
      return;
    }
    limit = newLimit;
    idleAt = InvocationContext.NEVER; // the receiver is alive: its idle time restarts
    advance();
  }

  /** Sends the bytes that credit allows. The state is consistent before each send. */
  private void emit() {
    retryAt = InvocationContext.NEVER;
    if (state == ResponseStreamState.ENDED) {
      return; // ended before this flush ran
    }
    if (pieces.bytes() > 0) {
      invocation.host.frameBytes =
          (int) Math.min(pieces.bytes(), OutboundChunkQueue.MAX_JOINED_BYTES);
    }
    if (!headSent
        && state == ResponseStreamState.FINISHING
        && invocation.trailers == null
        && (length >= CallResponse.UNKNOWN
            || invocation.host.replica.isUpstream
            || CallResponse.declared(Long.toString(pieces.bytes())) == length)
        && pieces.bytes() <= BodyMemoryLimits.MAX_FRAME_BYTES) {
      sendTogether();
      return;
    }
    if (!headSent && !(headSent = invocation.sendHead(head, length))) {
      block(true);
      return;
    }
    pieces.drop(0); // empty leading chunks need no frame
    while (pieces.bytes() > 0 && sent < limit) {
      int size =
          (int) Math.min(pieces.bytes(), Math.min(limit - sent, BodyMemoryLimits.MAX_FRAME_BYTES));
      boolean last = state == ResponseStreamState.FINISHING && size == pieces.bytes();
      if (last) {
        invocation.settleSlot(); // first, so that the frame reports the slot as free
      }
      if (!send(pieces.peek(size), last)) {
        block(true);
        return;
      }
      idleAt = InvocationContext.NEVER;
      sent += size;
      pieces.drop(size);
      if (last) {
        end();
        return;
      }
    }
    if (pieces.bytes() > 0) {
      block(false);
    } else if (state == ResponseStreamState.FINISHING) {
      invocation.settleSlot();
      if (send(Buffer.buffer(0), true)) {
        end();
      } else {
        block(true);
      }
    } else {
      idleAt = InvocationContext.NEVER;
      account(0);
    }
  }

  /** Sends head and body in one message, as the body was complete before the head was sent. */
  private void sendTogether() {
    pieces.drop(0);
    int size = (int) pieces.bytes();
    Buffer body = size == 0 ? Buffer.buffer(0) : pieces.peek(size);
    invocation.settleSlot();
    Response whole = head.withBody(new Response.Body.Whole(body));
    if (invocation.sendWhole(whole)) {
      headSent = true;
      sent += size;
      pieces.drop(size);
      end();
    } else {
      block(true);
    }
  }

  private boolean send(Buffer data, boolean last) {
    Headers trailers = last ? invocation.trailers : null;
    boolean left =
        (trailers == null || invocation.send(new ResponseFields(invocation.callId, 0, trailers)))
            && invocation.send(
                new StreamFrame(invocation.callId, sequence, data, last, invocation.load()));
    if (left) {
      sequence++;
    }
    return left;
  }

  /** Waits for credit, or for a retry after a tick when the link accepts no message. */
  private void block(boolean retry) {
    if (idleAt == InvocationContext.NEVER) {
      idleAt = InvocationContext.plus(loop.now(), idleTimeoutNanos);
    }
    if (retry) {
      retryAt = loop.now();
    }
    account(pieces.bytes());
    invocation.wakeAt(Math.min(idleAt, retryAt));
  }

  private void account(long bytes) {
    if (bytes != accounted) {
      loop.streams.atWriters(bytes - accounted);
      accounted = bytes;
    }
  }

  private void end() {
    state = ResponseStreamState.ENDED;
    account(0);
    postTelling();
    invocation.end();
  }

  /**
   * Completes the waiting writes up to a total of bytes, and runs their callbacks. Those may write
   * again; these writes complete later.
   */
  private void tellWriters(long end) {
    for (int left = writes.size(); left > 0; left--) {
      PendingWrite next = writes.peek();
      if (next == null || next.end > end) {
        break;
      }
      writes.remove();
      uncharge(next);
      completed = next.end;
      next.done.tryComplete();
    }
    Response.Body.Received source = relayed;
    if (source != null
        && relayPaused
        && state == ResponseStreamState.OPEN
        && pieces.bytes() < RELAY_PAUSE_BYTES) {
      relayPaused = false;
      source.stream().resume();
    }
  }

  private void postTelling() {
    if (!writes.isEmpty() && !flushPosted) {
      loop.execute(() -> tellWriters(sent));
    }
  }

  // --- early end ---

  /**
   * Handles the retry time and the idle timeout.
   *
   * @return next of these times on the loop's clock
   */
  long due(long now) {
    if (state != ResponseStreamState.ENDED && retryAt <= now) {
      advance();
    }
    if (state != ResponseStreamState.ENDED && idleAt <= now) {
      breakOff(
          BerthException.Kind.TIMEOUT,
          "stream_idle_timeout_s: no credit in "
              + idleTimeoutNanos / 1_000_000
              + " ms (expected: a receiver that reads)");
    }
    return state == ResponseStreamState.ENDED ? InvocationContext.NEVER : Math.min(idleAt, retryAt);
  }

  /** Breaks off the response: notifies the receiver and cancels the producer. */
  private void breakOff(BerthException.Kind kind, String message) {
    abandon();
    invocation.breakOff(kind, message);
  }

  /** Ends the stream without a message to the receiver. */
  void abandon() {
    if (state == ResponseStreamState.ENDED) {
      return;
    }
    state = ResponseStreamState.ENDED;
    pieces.drop((int) pieces.bytes());
    for (int left = writes.size(); left > 0; left--) {
      PendingWrite each = writes.remove();
      uncharge(each);
      if (each.end <= sent) {
        writes.add(each); // sent ones, in order; the others fail
      } else {
        loop.execute(() -> each.done.tryFail(endedException()));
      }
    }
    account(0);
    postTelling();
    Response.Body.Received source = relayed;
    if (source != null) {
      loop.execute(source.cancel());
    }
  }
}
