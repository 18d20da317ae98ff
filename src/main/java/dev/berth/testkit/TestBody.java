package dev.berth.testkit;

import dev.berth.api.Headers;
import dev.berth.api.Request;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * A request body that a test sends chunk by chunk. Confined to the thread of the test. Written
 * chunks are sent when the test runs the application.
 *
 * <pre>{@code
 * TestBody upload = new TestBody();
 * Future<Response> response = berth.handle("store").call(upload.post("/fish.png"));
 * upload.write("some");
 * berth.run();
 * upload.write(" more").end();
 * berth.await(response);
 * }</pre>
 */
public final class TestBody implements ReadStream<Buffer> {
  private final ArrayDeque<Buffer> pieces = new ArrayDeque<>();
  private long demand; // chunks that may be delivered; Long.MAX_VALUE: all
  private boolean delivering;
  private boolean ended; // by the test
  private boolean over; // the end or the failure was delivered
  private @Nullable Throwable failure;
  private @Nullable Handler<Buffer> handler;
  private @Nullable Handler<Void> endHandler;
  private @Nullable Handler<Throwable> exceptionHandler;

  /** Returns a POST request with this body. */
  public Request post(String path) {
    return Request.of("POST", path, null, Headers.empty(), new Request.Body.Streamed(this));
  }

  /** Enqueues a chunk, which is sent once the receiver requests it. */
  public TestBody write(Buffer piece) {
    if (ended || failure != null) {
      throw new IllegalStateException("body: ended (expected: open)");
    }
    pieces.add(piece);
    return deliver();
  }

  /** Enqueues a UTF-8 text, as {@link #write(Buffer)} does. */
  public TestBody write(String piece) {
    return write(Buffer.buffer(piece));
  }

  /** Ends the body. */
  public TestBody end() {
    ended = true;
    return deliver();
  }

  /** Fails the body, as a client that disconnects does; waiting chunks are lost. */
  public TestBody fail(Throwable cause) {
    failure = cause;
    pieces.clear();
    return deliver();
  }

  /** Returns the written bytes that the receiver has not requested: it applies back-pressure. */
  public int waiting() {
    return pieces.stream().mapToInt(Buffer::length).sum();
  }

  private TestBody deliver() {
    if (delivering || over) {
      return this; // resumed within the handler
    }
    delivering = true;
    try {
      while (demand > 0 && handler != null && !pieces.isEmpty()) {
        demand -= demand == Long.MAX_VALUE ? 0 : 1;
        handler.handle(pieces.remove());
      }
    } finally {
      delivering = false;
    }
    if (failure != null && exceptionHandler != null) {
      over = true;
      exceptionHandler.handle(failure);
    } else if (ended && pieces.isEmpty() && demand > 0 && endHandler != null) {
      over = true;
      endHandler.handle(null);
    }
    return this;
  }

  @Override
  public TestBody handler(@Nullable Handler<Buffer> newHandler) {
    handler = newHandler;
    return deliver();
  }

  @Override
  public TestBody pause() {
    demand = 0;
    return this;
  }

  @Override
  public TestBody resume() {
    return fetch(Long.MAX_VALUE);
  }

  @Override
  public TestBody fetch(long amount) {
    demand = demand + amount < 0 ? Long.MAX_VALUE : demand + amount;
    return deliver();
  }

  @Override
  public TestBody endHandler(@Nullable Handler<Void> newHandler) {
    endHandler = newHandler;
    return deliver();
  }

  @Override
  public TestBody exceptionHandler(@Nullable Handler<Throwable> newHandler) {
    exceptionHandler = newHandler;
    return deliver();
  }
}
