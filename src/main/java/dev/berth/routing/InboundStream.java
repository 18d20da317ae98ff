package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.protocol.BusMessage;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.util.ArrayDeque;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The receiving half of a streamed response. Holds at most its window: the sender may send what was
 * credited, and credit is given when the handler took the bytes. Starts paused. State is confined
 * to the call's loop; calls from other threads hop there.
 */
final class InboundStream implements ReadStream<Buffer> {
  private final RouterLoop loop;
  private final int windowBytes;
  private final IntConsumer credit; // sends credit for bytes
  private final ArrayDeque<Buffer> waiting = new ArrayDeque<>();
  private int expected; // the sequence of the next frame
  private int uncredited; // bytes taken by the handler and not yet credited
  private long demand; // pieces the handler wants; Long.MAX_VALUE flows
  private boolean ended; // the last frame came
  private boolean over; // the end or the failure was delivered
  private boolean delivering;
  private @Nullable BerthException failure;
  private @Nullable Handler<Buffer> handler;
  private @Nullable Handler<Void> endHandler;
  private @Nullable Handler<Throwable> exceptionHandler;

  InboundStream(RouterLoop loop, int windowBytes, IntConsumer credit) {
    this.loop = loop;
    this.windowBytes = windowBytes;
    this.credit = credit;
  }

  /** A body that came whole, as a stream of one piece, or of none when it is empty. */
  static InboundStream whole(RouterLoop loop, Buffer body) {
    InboundStream stream = new InboundStream(loop, Integer.MAX_VALUE, bytes -> {});
    if (body.length() > 0) {
      stream.waiting.add(body);
    }
    stream.ended = true;
    return stream;
  }

  /** What a frame meant. */
  enum Arrival {
    TAKEN,
    DUPLICATE,
    LAST,
    /** A frame before this one is lost: the stream cannot go on. */
    GAP
  }

  Arrival frame(BusMessage.StreamFrame frame) {
    if (frame.sequence() != expected) {
      return frame.sequence() - expected < 0 ? Arrival.DUPLICATE : Arrival.GAP;
    }
    expected++;
    if (frame.data().length() > 0) {
      waiting.add(frame.data());
    }
    ended = frame.last();
    return ended ? Arrival.LAST : Arrival.TAKEN;
  }

  /** Ends the stream with a failure, after the pieces that came; nothing when it has ended. */
  void fail(BerthException reason) {
    if (failure == null && !ended) {
      failure = reason;
      waiting.clear(); // a cut response is not worth finishing
      deliver();
    }
  }

  /** Gives the handler what it wants of what is here. User code runs from here. */
  void deliver() {
    if (delivering) {
      return; // the handler resumed us from within
    }
    delivering = true;
    try {
      while (demand > 0 && !waiting.isEmpty() && handler != null) {
        Buffer piece = waiting.poll();
        demand -= demand == Long.MAX_VALUE ? 0 : 1;
        take(piece.length());
        handler.handle(piece);
      }
    } finally {
      delivering = false;
    }
    if (over || !waiting.isEmpty()) {
      return;
    }
    if (failure != null) {
      over = true;
      if (exceptionHandler != null) {
        exceptionHandler.handle(failure);
      }
    } else if (ended && demand > 0) {
      over = true;
      if (endHandler != null) {
        endHandler.handle(null);
      }
    }
  }

  private void take(int bytes) {
    uncredited += bytes;
    if (uncredited >= windowBytes / 2 && !ended && failure == null) {
      int taken = uncredited;
      uncredited = 0;
      credit.accept(taken);
    }
  }

  @Override
  public ReadStream<Buffer> handler(@Nullable Handler<Buffer> newHandler) {
    loop.run(
        () -> {
          handler = newHandler;
          deliver();
        });
    return this;
  }

  @Override
  public ReadStream<Buffer> pause() {
    loop.run(() -> demand = 0);
    return this;
  }

  @Override
  public ReadStream<Buffer> fetch(long amount) {
    loop.run(
        () -> {
          demand = demand + amount < 0 ? Long.MAX_VALUE : demand + amount;
          deliver();
        });
    return this;
  }

  @Override
  public ReadStream<Buffer> resume() {
    return fetch(Long.MAX_VALUE);
  }

  @Override
  public ReadStream<Buffer> endHandler(@Nullable Handler<Void> newHandler) {
    loop.run(() -> endHandler = newHandler);
    return this;
  }

  @Override
  public ReadStream<Buffer> exceptionHandler(@Nullable Handler<Throwable> newHandler) {
    loop.run(
        () -> {
          exceptionHandler = newHandler;
          deliver();
        });
    return this;
  }
}
