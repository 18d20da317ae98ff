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
 * Passes a received stream on to the client. A piece counts as taken when the client's socket has
 * taken it, and only then more is asked for in its place, so that what waits here is bounded by the
 * stream's window. A stream that fails cuts the response short, so that it never looks whole.
 *
 * <p>The head waits for the first piece until the loop's run is over, and the end leaves with the
 * last piece: what comes together is one write to the socket.
 */
final class StreamRelay implements Handler<Buffer> {
  private final Exchange exchange;
  private final HttpServerResponse response;
  private final InboundStream stream;
  private @Nullable Future<Void> end; // once the last piece was written
  private int unsentBytes;
  private long takenBytes; // by the client's socket
  private boolean over;
  private boolean discarding;
  private long progressNanos;

  StreamRelay(Exchange exchange, InboundStream stream) {
    this.exchange = exchange;
    this.response = exchange.http.response();
    this.stream = stream;
    this.progressNanos = exchange.loop.coarseNow();
  }

  /** Lets a response be that nobody will read: its handler learns it. */
  static void cancel(Response response) {
    if (response.body() instanceof Response.Body.Received received) {
      received.cancel().run();
    }
  }

  void start() {
    if (stream.length() >= 0) {
      response.headers().set(HttpHeaders.CONTENT_LENGTH, Long.toString(stream.length()));
    } else {
      response.setChunked(true);
    }
    listen();
    if (!over && !response.headWritten() && exchange.http.version() != HttpVersion.HTTP_1_0) {
      exchange.loop.later(this::showHead); // a client may wait for it before the first piece comes
    }
  }

  private void showHead() {
    if (!over && !discarding && !response.headWritten()) {
      response.writeHead();
    }
  }

  private void listen() {
    stream.creditByReader();
    stream.exceptionHandler(this::failed).endHandler(this::ended).handler(this);
    stream.resume();
  }

  /** Reads the stream to its end, or what is left of it, for a client that has gone. */
  void discard() {
    discarding = true;
    listen();
  }

  @Override
  public void handle(Buffer piece) {
    int bytes = piece.length();
    if (over || discarding) {
      stream.taken(bytes);
      return;
    }
    if (unsentBytes == 0) {
      progressNanos = exchange.loop.coarseNow(); // else the client's time runs, whatever is added
    }
    unsentBytes += bytes;
    Future<Void> written;
    if (stream.isAtLastPiece()) {
      written = response.end(piece);
      end = written;
    } else {
      written = response.write(piece);
    }
    written.onComplete((sent, failure) -> sent(bytes));
  }

  private void sent(int bytes) {
    unsentBytes -= bytes;
    takenBytes += bytes;
    progressNanos = exchange.loop.coarseNow();
    stream.taken(bytes);
  }

  /** The answer is over: nothing more is passed on. */
  void stop() {
    over = true;
  }

  /** Whether the client has not read what it was sent; a silent handler is not waited for. */
  boolean awaitsClient() {
    return unsentBytes > 0;
  }

  /** When something last moved, as coarsely as the sweep looks. */
  long progressNanos() {
    return progressNanos;
  }

  /** Bytes that the client's socket has taken. */
  long takenBytes() {
    return takenBytes;
  }

  /** What it may have under way. */
  @Nullable StreamWindow window() {
    return stream.window();
  }

  private void ended(Void none) {
    if (!over) {
      over = true;
      Future<Void> written = end;
      if (discarding) {
        written = Future.succeededFuture();
      } else if (written == null) {
        written = response.end();
      }
      exchange.answer.streamEnded(written, exchange.http.version() == HttpVersion.HTTP_1_0);
    }
  }

  private void failed(Throwable failure) {
    if (!over) {
      over = true;
      exchange.onFailure(
          failure instanceof BerthException known
              ? known
              : new BerthException.HandlerFailed("the stream failed", failure));
    }
  }
}
