package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.api.Response;
import dev.berth.stream.InboundStream;
import dev.berth.stream.StreamWindow;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.HttpVersion;
import org.jspecify.annotations.Nullable;

/**
 * Forwards a received stream to the client. A chunk grants new credit only when the client's socket
 * has taken it, so the stream's window bounds the bytes that wait here. A failed stream aborts the
 * response, which therefore never looks complete.
 *
 * <p>The head waits for the first chunk until the end of the loop run, and the end of the stream
 * leaves with the last chunk. Parts that arrive together are thus one write to the socket.
 */
final class StreamRelay implements Handler<Buffer> {
  private final HttpExchange exchange;
  private final HttpServerResponse response;
  private final InboundStream stream;
  private @Nullable Future<Void> end; // set with the last chunk
  private int unsentBytes;
  private long takenBytes; // by the client's socket
  private boolean over;
  private boolean discarding;
  private long progressNanos;

  StreamRelay(HttpExchange exchange, InboundStream stream) {
    this.exchange = exchange;
    this.response = exchange.http.response();
    this.stream = stream;
    this.progressNanos = exchange.loop.coarseNow();
  }

  /** Cancels a response that no client will read, and so notifies its handler. */
  static void cancel(Response response) {
    if (response.body() instanceof Response.Body.Received received) {
      received.cancel().run();
    }
  }

  void start() {
    long length = stream.declaredLength();
    if (length >= 0 && !exchange.changesLength() && exchange.answer.coder == null) {
      response.headers().set(HttpHeaders.CONTENT_LENGTH, Long.toString(length));
    } else {
      response.setChunked(true);
    }
    listen();
    if (!over && !response.headWritten() && exchange.http.version() != HttpVersion.HTTP_1_0) {
      exchange.loop.later(this::showHead); // a client may need it before the first chunk
    }
  }

  private void showHead() {
    if (!over && !discarding && !response.headWritten()) {
      response.writeHead();
    }
  }

  private void listen() {
    stream.creditByReader();
    stream.exceptionHandler(this::onFailure).endHandler(this::onEnd).handler(this);
    stream.resume();
  }

  /** Reads the rest of the stream for a client that has left. */
  void discard() {
    discarding = true;
    listen();
  }

  @Override
  public void handle(Buffer piece) {
    int bytes = piece.length();
    if (over || discarding) {
      stream.onConsumed(bytes);
      return;
    }
    if (unsentBytes == 0) {
      progressNanos = exchange.loop.coarseNow(); // else the client's time is running
    }
    unsentBytes += bytes;
    boolean last = stream.isAtLastPiece();
    Buffer passed = exchange.answer.coded(exchange.filter(piece, last), last);
    Future<Void> written = last ? trailed().end(passed) : write(passed);
    if (last) {
      end = written;
    }
    written.onComplete((sent, failure) -> sent(bytes));
  }

  private Future<Void> write(Buffer piece) {
    return piece.length() == 0 ? Future.succeededFuture() : response.write(piece);
  }

  /** Returns the response with its trailers. */
  private HttpServerResponse trailed() {
    stream.trailers().forEach(response::putTrailer);
    return response;
  }

  private void sent(int bytes) {
    unsentBytes -= bytes;
    takenBytes += bytes;
    progressNanos = exchange.loop.coarseNow();
    stream.onConsumed(bytes);
  }

  /** Stops forwarding, since the response has ended. */
  void stop() {
    over = true;
  }

  /** Returns whether the client has unread bytes. A silent handler does not count. */
  boolean awaitsClient() {
    return unsentBytes > 0;
  }

  /** Returns the bytes that the client's socket has not taken. */
  int unsentBytes() {
    return unsentBytes;
  }

  /** Returns the time of the last progress, at the resolution of the sweep. */
  long progressNanos() {
    return progressNanos;
  }

  /** Returns the bytes that the client's socket has taken. */
  long takenBytes() {
    return takenBytes;
  }

  /** Returns the window of the stream's bytes in flight. */
  @Nullable StreamWindow window() {
    return stream.window();
  }

  private void onEnd(Void none) {
    if (!over) {
      over = true;
      Future<Void> written = end;
      if (discarding) {
        written = Future.succeededFuture();
      } else if (written == null) {
        written =
            trailed().end(exchange.answer.coded(exchange.filter(BodyReader.EMPTY, true), true));
      }
      exchange.answer.streamEnded(written, exchange.http.version() == HttpVersion.HTTP_1_0);
    }
  }

  private void onFailure(Throwable failure) {
    if (!over) {
      over = true;
      exchange.onFailure(
          failure instanceof BerthException known
              ? known
              : new BerthException.HandlerFailed("the stream failed", failure));
    }
  }
}
