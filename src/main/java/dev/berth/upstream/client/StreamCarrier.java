package dev.berth.upstream.client;

import dev.berth.api.Headers;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.impl.buffer.VertxByteBufAllocator;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.buffer.BufferInternal;
import org.jspecify.annotations.Nullable;

/** An exchange on a stream of HTTP/2. Confined to the event loop. */
final class StreamCarrier implements ExchangeCarrier {
  final @Nullable UpstreamRequest request; // null for a mere connect
  final @Nullable Http2Headers head;
  final @Nullable Buffer whole; // the complete body
  final UpstreamExchange exchange;
  private final UpstreamClient client;
  private final ContextInternal loop;
  private StreamLink link;
  private int id; // 0 until the head is written
  private int unwritten; // writes that the socket has not accepted
  private int unconsumed; // bytes of the peer's window, since the exchange is paused
  private boolean paused;
  private boolean headed; // the head of the response was received
  private long headBytes; // of heads
  private long left = -1; // bytes of the response's body; -1 if unknown
  private long sinceNanos; // last progress

  StreamCarrier(
      UpstreamClient client,
      ContextInternal loop,
      StreamLink link,
      @Nullable UpstreamRequest request,
      @Nullable Buffer whole,
      ExchangeListener listener) {
    this.client = client;
    this.loop = loop;
    this.link = link;
    this.request = request;
    this.whole = whole;
    this.head = request == null ? null : StreamFields.request(request, whole, link.target);
    boolean streamed = request != null && whole == null;
    long length = streamed ? request.bodyLength() : 0;
    this.exchange = new UpstreamExchange(loop, this, listener, length, !streamed);
    this.sinceNanos = client.now();
  }

  // --- request ---

  void moveTo(StreamLink other) {
    link = other;
  }

  /** Writes the head, and a whole body. */
  void begin(int stream) {
    id = stream;
    Http2Headers request = head;
    if (request != null) {
      Buffer body = whole;
      boolean bodiless = body != null && body.length() == 0;
      accept(loop, link.writeHead(id, request, bodiless))
          .onFailure(failed -> onHeadUnwritten(failed));
      if (body != null && !bodiless) {
        accept(loop, link.writeData(id, RequestEncoder.piece(client.memory, body, false), true));
      }
    }
    exchange.onOpen();
  }

  /** Handles a head that was not sent, such as one over the peer's limit. */
  private void onHeadUnwritten(Throwable failed) {
    loop.runOnContext(
        here -> {
          String reason = "request: not written: " + failed.getMessage();
          if (!exchange.isClosing() && failed instanceof Http2Exception) {
            exchange.onRefused(reason);
          } else if (!exchange.isClosing()) {
            exchange.onFailed(reason);
          }
        });
  }

  int id() {
    return id;
  }

  @Override
  public boolean isUsable() {
    return link.open;
  }

  @Override
  public Future<Void> write(@Nullable Buffer piece, boolean chunked) {
    ByteBuf bytes =
        RequestEncoder.piece(client.memory, piece == null ? Buffer.buffer() : piece, false);
    Future<Void> accepted = accept(loop, link.writeData(id, bytes, piece == null));
    return accepted.onFailure(failed -> failLater("request: not written: " + failed.getMessage()));
  }

  @Override
  public boolean isComplete() {
    return false;
  }

  @Override
  public boolean hasUnwritten() {
    return unwritten > 0;
  }

  @Override
  public void countUnwritten(int more) {
    unwritten += more;
  }

  // --- response ---

  void onHead(Http2Headers from, boolean last) throws Http2Exception {
    try {
      Headers fields = StreamFields.fields(from);
      if (headed) {
        if (!last || from.status() != null) {
          throw new MalformedResponse("trailers: malformed");
        }
        onEnd(fields);
        return;
      }
      int status = StreamFields.status(from);
      fields.forEach((name, value) -> headBytes += name.length() + value.length());
      if (headBytes > ResponseParser.MAX_HEAD_BYTES) {
        throw new MalformedResponse("head: over 64 KiB");
      }
      if (status < 200) {
        if (status > 101) {
          exchange.onFields(status, fields);
        }
        return;
      }
      headed = true;
      boolean head = request != null && request.method().equals("HEAD");
      left = head || status == 204 || status == 304 ? 0 : StreamFields.length(fields);
      exchange.onHead(status, fields);
      if (last) {
        onEnd(Headers.empty());
      } else {
        touch();
      }
    } catch (MalformedResponse malformed) {
      throw malformed(malformed.getMessage());
    }
  }

  private Http2Exception malformed(@Nullable String reason) {
    return Http2Exception.streamError(id, Http2Error.PROTOCOL_ERROR, "%s", reason);
  }

  /** Handles a part of the body. Returns the bytes of the window that the peer may use again. */
  int onData(ByteBuf data, int padding, boolean last) throws Http2Exception {
    int bytes = data.readableBytes();
    if (!headed || (left >= 0 && bytes > left)) {
      throw malformed(headed ? "body: longer than its length" : "body: without a head");
    }
    left -= left < 0 ? 0 : bytes;
    if (bytes > 0) {
      ByteBuf piece = VertxByteBufAllocator.DEFAULT.heapBuffer(bytes, Integer.MAX_VALUE);
      exchange.onPiece(BufferInternal.buffer(piece.writeBytes(data)));
    }
    if (last) {
      onEnd(Headers.empty());
    } else {
      touch();
    }
    unconsumed += paused ? bytes + padding : 0;
    return paused ? 0 : bytes + padding;
  }

  /** Handles the end of the response, with its trailers. A request that has not ended is reset. */
  private void onEnd(Headers trailers) throws Http2Exception {
    if (left > 0) {
      throw malformed("body: shorter than its length");
    }
    if (!exchange.isSent()) {
      link.reset(id);
    }
    if (trailers.size() > 0) {
      exchange.onFields(0, trailers);
    }
    exchange.onEnd();
  }

  @Override
  public void read(boolean on) {
    paused = !on;
    if (on && unconsumed > 0) {
      int bytes = unconsumed;
      unconsumed = 0;
      link.consume(id, bytes);
    }
    touch();
  }

  // --- end ---

  @Override
  public void stop() {
    link.cancel(this, id);
  }

  @Override
  public void abandon() {
    link.remove(this, id);
  }

  @Override
  public void failLater(String reason) {
    loop.runOnContext(
        here -> {
          if (!exchange.isClosing()) {
            link.reset(id);
            exchange.onFailed(reason);
          }
        });
  }

  /** Handles a malformed or late response, or the end of the grace time. */
  void onUnusable(String reason) {
    if (exchange.isCancelled() || !exchange.onUnusable(reason)) {
      link.reset(id);
      exchange.onFailed(reason);
    }
  }

  @Override
  public void onOver() {
    link.remove(this, id);
    client.onOver(link);
  }

  // --- deadlines ---

  @Override
  public void touch() {
    sinceNanos = client.now();
    client.arm(deadline());
  }

  long deadline() {
    return exchange.deadline(link.target.timeouts(), sinceNanos);
  }

  @Override
  public long now() {
    return client.now();
  }
}
