package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.BerthException.Kind;
import dev.berth.api.Request;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.RequestCredit;
import dev.berth.protocol.BusMessage.RequestFrame;
import dev.berth.stream.InboundChunkQueue;
import dev.berth.stream.InboundStream;
import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * The receiving half of the body of one invocation that has its slot.
 *
 * <pre>
 *   handler streams:  CALLED at once --last frame--> whole
 *   else:             GATHERING --last frame--> CALLED with the whole body
 *                        +--over a limit--> refused; the handler is not called
 * </pre>
 *
 * Grants credit as the handler reads bytes, or as they are buffered. Ends the request when frames
 * are lost, or when an awaited frame is late by {@code stream_idle_timeout_s}. Confined to the
 * replica's loop.
 */
final class IncomingBody implements InboundStream.InboundStreamOwner {
  private final Invocation invocation;
  private final ReplicaLoop loop;
  private final Request request; // with the first chunk
  private final int window; // acquired bytes; 0 when no body follows
  private final InboundStream stream;
  private final boolean handlerStreams;
  private @Nullable RequestInput input;
  private final InboundChunkQueue gathered = new InboundChunkQueue();
  private int gatheredBytes; // acquired from the instance's limit
  private boolean called; // whether the handler was called
  private boolean closed;
  private long quietSince;
  private long granted; // total of bytes that may be sent
  private boolean unsaid; // the link did not accept the last credit

  private IncomingBody(
      Invocation invocation, CallRequest message, int window, boolean handlerStreams) {
    this.invocation = invocation;
    this.loop = invocation.loop;
    this.request = message.request();
    this.window = window;
    this.handlerStreams = handlerStreams;
    this.stream = new InboundStream(Math.max(window, BodyMemoryLimits.MAX_FRAME_BYTES), this);
    stream.first(message.request().bytes(), !message.bodyFollows());
    this.quietSince = loop.now();
  }

  /**
   * Creates the body of a request that streams, or whose handler does. Returns null when its memory
   * limit is reached.
   */
  static @Nullable IncomingBody of(
      Invocation invocation, CallRequest message, boolean handlerStreams) {
    int window = message.bodyFollows() ? invocation.loop.bodyBounds.tryWindow() : 0;
    return window == 0 && message.bodyFollows()
        ? null
        : new IncomingBody(invocation, message, window, handlerStreams);
  }

  /** Calls the handler, or starts to buffer the body. */
  void start() {
    if (handlerStreams) {
      accept();
      call(receiving());
      return;
    }
    int max = invocation.host.replica.limits().maxBufferedBodyBytes();
    if (declaredBytes() > max) {
      invocation.refuseLarge(max); // before more of it is read
      return;
    }
    accept();
    stream.endHandler(end -> whole()).handler(this::gather);
    stream.resume();
  }

  private Request receiving() {
    if (!invocation.host.runsOnThread(invocation.methodName())) {
      return request.withBody(new Request.Body.Streamed(stream));
    }
    RequestInput made = new RequestInput(stream, this);
    input = made;
    return request.withBody(new Request.Body.Input(made));
  }

  private void call(Request received) {
    called = true;
    invocation.invoke(received, null);
  }

  private long declaredBytes() {
    String declared = request.headers().get("content-length");
    if (declared == null) {
      return 0;
    }
    try {
      return Long.parseLong(declared.trim());
    } catch (NumberFormatException meaningless) {
      return 0; // set by a handler: the bytes are counted as they arrive
    }
  }

  /**
   * Sends the first credit, which confirms that the request was accepted. The window includes the
   * first chunk.
   */
  private void accept() {
    if (!stream.hasEnded()) {
      grant(Math.max(0, window - request.bytes().length()));
      invocation.wakeAt(InvocationContext.plus(quietSince, idleNanos()));
    }
  }

  // --- frames ---

  void frame(RequestFrame frame) {
    quietSince = loop.now();
    switch (stream.frame(frame.sequence(), frame.data(), frame.last())) {
      case TAKEN, LAST -> stream.deliver();
      case GAP ->
          invocation.breakOff(Kind.OUTCOME_UNKNOWN, "a chunk of the request's body was lost");
      case EXCESS -> invocation.breakOff(Kind.OUTCOME_UNKNOWN, "the body exceeded its credit");
      case DUPLICATE -> loop.duplicateDropped();
    }
  }

  private void gather(Buffer piece) {
    int max = invocation.host.replica.limits().maxBufferedBodyBytes();
    if (closed) {
      return;
    }
    if (gatheredBytes + (long) piece.length() > max) {
      invocation.refuseLarge(max);
    } else if (!loop.bodyBounds.gathered().tryTake(piece.length())) {
      invocation.breakOff(
          Kind.BACK_PRESSURE,
          "buffered_body_bytes_total: no room for %s bytes more (expected: at most %s)"
              .formatted(piece.length(), loop.bodyBounds.gathered().most));
    } else {
      gatheredBytes += piece.length();
      gathered.add(piece);
    }
  }

  private void whole() {
    if (!closed) { // else refused
      call(request.withBody(gathered.moveTo(Buffer.buffer(gatheredBytes))));
    }
  }

  // --- calls of the stream ---

  @Override
  public void run(Runnable action) {
    loop.run(action);
  }

  @Override
  public void credit(int bytes) {
    if (!closed) {
      grant(bytes);
    }
  }

  private void grant(int bytes) {
    granted += bytes;
    unsaid = !invocation.send(new RequestCredit(invocation.callId, granted));
    if (unsaid) {
      invocation.wakeAt(loop.now());
    }
  }

  @Override
  public void threw(RuntimeException thrown) {
    invocation.readerThrew(thrown);
  }

  // --- deadlines and end ---

  private long idleNanos() {
    return loop.limits.streamIdleTimeoutNanos();
  }

  /**
   * Checks the idle timeout, to within a quarter of it.
   *
   * @return time of the next check
   */
  long due(long now) {
    if (closed || stream.hasEnded()) {
      return InvocationContext.NEVER;
    }
    if (unsaid) {
      grant(0);
    }
    RequestInput reader = input;
    if (!stream.isStarving() || (reader != null && !reader.isStarving())) {
      quietSince = now; // the handler, not the sender, delays the body
    }
    long idleAt = InvocationContext.plus(quietSince, idleNanos());
    if (idleAt > now) {
      return Math.min(idleAt, InvocationContext.plus(now, idleNanos() / 4));
    }
    invocation.breakOff(
        Kind.TIMEOUT,
        "stream_idle_timeout_s: no chunk of the request's body in "
            + idleNanos() / 1_000_000
            + " ms (expected: a sender that sends)");
    return InvocationContext.NEVER;
  }

  /**
   * Ends the body with its request, or on a cancel: ignores further frames, and fails a reader that
   * still reads.
   */
  void close(String why) {
    if (closed) {
      return;
    }
    closed = true;
    gathered.clear();
    loop.bodyBounds.windows().give(window);
    loop.bodyBounds.gathered().give(gatheredBytes);
    if (called && handlerStreams && !stream.isOver()) {
      loop.execute(() -> stream.fail(new BerthException.Cancelled(why)));
    }
  }
}
