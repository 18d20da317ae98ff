package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.streams.ReadStream;
import org.jspecify.annotations.Nullable;

/**
 * Passes a received stream on to the client, no faster than the client takes it: what waits here is
 * bounded by the response's write queue, and what waits behind by the stream's window. A stream
 * that fails cuts the response short, so that it never looks whole.
 */
final class StreamRelay implements Handler<Buffer> {
  /** Bytes of one HTTP/2 stream that may wait for its client; as Netty has for a connection. */
  private static final int MAX_UNSENT_BYTES = 64 << 10;

  private final Exchange exchange;
  private final HttpServerResponse response;
  private final ReadStream<Buffer> stream;
  private final HttpVersion version;
  private int unsentBytes;
  private boolean over;
  private boolean discarding;
  private boolean waitingForClient;
  private long progressNanos;

  StreamRelay(
      Exchange exchange,
      HttpServerResponse response,
      ReadStream<Buffer> stream,
      HttpVersion version) {
    this.exchange = exchange;
    this.response = response;
    this.stream = stream;
    this.version = version;
    this.progressNanos = exchange.coarseNow();
  }

  /** Lets a response be that nobody will read: its handler learns it. */
  static void cancel(Response response) {
    if (response.body() instanceof Response.Body.Received received) {
      received.cancel().run();
    }
  }

  void start() {
    response.setChunked(true);
    if (version != HttpVersion.HTTP_2) {
      response.drainHandler(this::drained);
    }
    stream.exceptionHandler(this::failed).endHandler(this::ended).handler(this);
    stream.resume();
    if (!over && !response.headWritten() && version != HttpVersion.HTTP_1_0) {
      response.writeHead(); // a client may wait for it before the first piece comes
    }
  }

  /** Reads the stream to its end, or what is left of it, for a client that has gone. */
  void discard() {
    discarding = true;
    stream.exceptionHandler(this::failed).endHandler(this::ended).handler(this);
    stream.resume();
  }

  @Override
  public void handle(Buffer piece) {
    if (over || discarding) {
      return;
    }
    if (version == HttpVersion.HTTP_2) {
      writeCounted(piece);
      return;
    }
    progressNanos = exchange.coarseNow();
    response.write(piece);
    if (response.writeQueueFull()) {
      waitingForClient = true;
      stream.pause();
    }
  }

  /** On HTTP/2 Vert.x's queue is full by the number of pieces and not by their bytes. */
  private void writeCounted(Buffer piece) {
    int bytes = piece.length();
    if (unsentBytes == 0) {
      progressNanos = exchange.coarseNow(); // else the client's time runs, whatever is added
    }
    unsentBytes += bytes;
    response.write(piece).onComplete(sent -> sent(bytes));
    if (unsentBytes >= MAX_UNSENT_BYTES) {
      waitingForClient = true;
      stream.pause();
    }
  }

  private void sent(int bytes) {
    unsentBytes -= bytes;
    progressNanos = exchange.coarseNow();
    if (unsentBytes < MAX_UNSENT_BYTES) {
      drained(null);
    }
  }

  /** The exchange is over: nothing more is passed on. */
  void stop() {
    over = true;
  }

  /** Whether the client has not read what it was sent; a silent handler is not waited for. */
  boolean awaitsClient() {
    return waitingForClient || unsentBytes > 0;
  }

  /** When something last moved, as coarsely as the sweep looks. */
  long progressNanos() {
    return progressNanos;
  }

  /** Over HTTP/2: bytes given to the connection that it has yet to send. */
  long unsentBytes() {
    return unsentBytes;
  }

  private void drained(@Nullable Void queueDrained) {
    if (!over && waitingForClient) {
      waitingForClient = false;
      progressNanos = exchange.coarseNow();
      stream.resume();
    }
  }

  private void ended(Void end) {
    if (!over) {
      over = true;
      exchange.streamEnded(
          discarding ? Future.succeededFuture() : response.end(), version == HttpVersion.HTTP_1_0);
    }
  }

  private void failed(Throwable failure) {
    if (!over) {
      over = true;
      exchange.streamFailed(
          failure instanceof BerthException known
              ? known
              : new BerthException.HandlerFailed("the stream failed", failure));
    }
  }
}
