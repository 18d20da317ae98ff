package dev.berth.upstream.client;

import dev.berth.api.Headers;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.socket.ChannelOutputShutdownException;
import io.netty.util.ReferenceCountUtil;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * A connection of HTTP/1.1, which has at most one exchange. Confined to the event loop.
 *
 * <pre>
 *   OPENING --connected, TLS established--> BUSY --response ended, reusable--> IDLE --send--> BUSY
 *   BUSY --event stream ended, reusable--> RESTING --0.1 s--> IDLE
 *   BUSY --response ended, not reusable--> closed
 *   BUSY --cancel--> output shut --closed by the peer, or grace time over--> closed
 *   IDLE --1.5 s, the server's Keep-Alive - 1 s, or bytes--> closed
 * </pre>
 */
final class UpstreamConnection extends ClientConnection
    implements ExchangeCarrier, ResponseParser.ResponseSink {
  /**
   * Time after an event stream without an exchange. Some servers close the connection at once,
   * although they announce Keep-Alive (llama.cpp); the close could meet the next request.
   */
  private static final long REST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final ResponseParser parser = new ResponseParser(this);
  private final Handler<UpstreamExchange> ending = this::endExchange;
  private @Nullable UpstreamExchange exchange;
  private boolean excess; // bytes after a response
  private boolean unreadable; // the response of a cancelled exchange is malformed
  private @Nullable ByteBuf waiting; // for the channel
  private int unwritten; // writes that the socket has not accepted
  private long sinceNanos; // last progress
  private long idleNanos; // maximum time in IDLE
  private boolean resting;

  UpstreamConnection(
      UpstreamClient client, ContextInternal loop, UpstreamTarget target, boolean probe) {
    super(client, loop, target, probe);
  }

  @Override
  UpstreamExchange start(
      @Nullable UpstreamRequest request, @Nullable Buffer whole, ExchangeListener listener) {
    ByteBuf bytes = request == null ? null : client.encode(request, whole);
    boolean streamed = request != null && whole == null;
    long length = streamed ? request.bodyLength() : 0;
    return begin(new UpstreamExchange(loop, this, listener, length, !streamed), request, bytes);
  }

  /**
   * Gives the head and a whole body to the channel, as soon as it is open.
   *
   * @param bytes null for a mere connect
   */
  private UpstreamExchange begin(
      UpstreamExchange begun, @Nullable UpstreamRequest request, @Nullable ByteBuf bytes) {
    exchange = begun;
    if (request != null && bytes != null) {
      parser.begin(request.method().equals("HEAD"));
      if (isUsable()) {
        write(bytes);
      } else {
        waiting = bytes;
      }
    }
    touch();
    return begun;
  }

  @Override
  void adopt(StreamCarrier moved) {
    UpstreamRequest request = moved.request;
    ByteBuf bytes = request == null ? null : client.encode(request, moved.whole);
    moved.exchange.moveTo(this);
    begin(moved.exchange, request, bytes);
    if (open) {
      moved.exchange.onOpen();
    }
  }

  // --- opening ---

  @Override
  void onConnected(@Nullable String protocol) {
    onOpen();
  }

  /** Handles the complete connection, after the TLS handshake. */
  void onOpen() {
    String refusal = client.refusal();
    if (refusal != null) {
      fail(refusal);
      return;
    }
    open = true;
    Objects.requireNonNull(channel).config().setAutoClose(false); // else a failed write closes
    ByteBuf bytes = waiting;
    waiting = null;
    if (bytes != null) {
      write(bytes);
    }
    UpstreamExchange opened = exchange;
    if (opened != null) {
      opened.onOpen();
      if (parser.isDone()) { // a probe that merely connects
        endExchange(opened);
      }
    }
    touch();
  }

  // --- writing ---

  @Override
  public Future<Void> write(@Nullable Buffer piece, boolean chunked) {
    if (piece != null) {
      return write(RequestEncoder.piece(client.memory, piece, chunked));
    }
    return chunked ? write(RequestEncoder.lastChunk(client.memory)) : loop.succeededFuture();
  }

  /** Writes bytes to the open channel. */
  private Future<Void> write(ByteBuf bytes) {
    ChannelFuture given = Objects.requireNonNull(channel).writeAndFlush(bytes);
    Future<Void> accepted = accept(loop, given);
    return accepted.succeeded() ? accepted : accepted.onFailure(this::onUnwritable);
  }

  /** Fails the exchange, but reads a response before the end of a connection that was reset. */
  private void onUnwritable(Throwable failed) {
    UpstreamExchange unwritable = exchange;
    if (failed instanceof IOException && !(failed instanceof SSLException) && isUsable()) {
      Throwable cause =
          failed instanceof ChannelOutputShutdownException ? failed.getCause() : failed;
      fault = fault == null ? cause : fault; // none if this end has shut the output
      if (unwritable != null) {
        unwritable.onUnwritable();
      }
      touch();
    } else {
      failLater("request: not written: " + failed.getMessage());
    }
  }

  @Override
  public boolean hasUnwritten() {
    return unwritten > 0;
  }

  @Override
  public void countUnwritten(int more) {
    unwritten += more;
  }

  /** Shuts the output down. The response is still read, to its end. */
  @Override
  public void stop() {
    shutOutput();
    read(true);
  }

  // --- reading ---

  @Override
  public void read(boolean on) {
    if (open && channel != null) { // a handshake is never paused
      channel.config().setAutoRead(on);
      touch();
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext from, Object message) {
    ByteBuf in = (ByteBuf) message;
    ContextInternal before = loop.beginDispatch();
    try {
      if (exchange == null) {
        reset(); // these bytes answer no request
      } else if (!unreadable) {
        parser.parse(in);
        excess |= in.isReadable();
      }
    } catch (MalformedResponse malformed) {
      UpstreamExchange failed = exchange;
      String reason = String.valueOf(malformed.getMessage());
      if (failed != null && (failed.isCancelled() || failed.onUnusable(reason))) {
        unreadable = true; // the close may still confirm the cancellation
      } else {
        fail(reason);
      }
    } finally {
      loop.endDispatch(before);
      in.release();
    }
  }

  @Override
  public void onHead(int status, Headers headers) {
    if (exchange != null) {
      exchange.onHead(status, headers);
    }
  }

  @Override
  public void onFields(int status, Headers fields) {
    if (exchange != null) {
      exchange.onFields(status, fields);
    }
  }

  @Override
  public void onPiece(Buffer piece) {
    if (exchange != null) {
      exchange.onPiece(piece);
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext from) {
    UpstreamExchange current = exchange;
    if (current != null && open && parser.isDone()) {
      loop.dispatch(current, ending);
    } else if (current != null && current.isReceiving()) { // a slow head is no progress
      touch();
    }
  }

  /** Ends an exchange with a complete response. */
  private void endExchange(UpstreamExchange ended) {
    exchange = null;
    long keptSeconds = parser.keepAliveSeconds() - 1L;
    if (isUsable()
        && !closeNotified
        && !excess
        && parser.isReusable()
        && keptSeconds > 0
        && ended.isSent()
        && !ended.isCancelled()) {
      idleNanos = Math.min(IDLE_NANOS, TimeUnit.SECONDS.toNanos(keptSeconds));
      read(true);
      resting = parser.isEventStream();
      if (resting) {
        touch();
      } else {
        client.onRoom(this);
      }
    } else {
      close();
    }
    ended.onEnd();
  }

  // --- end ---

  @Override
  void onInputEnd() {
    UpstreamExchange ended = exchange;
    if (ended == null || !open) {
      fail(endReason());
      return;
    }
    boolean orderly = fault == null && (target.tls() == null || closeNotified);
    boolean confirmed = ended.isCancelled() && isEndConfirming();
    if (confirmed || parser.isDone() || (orderly && parser.endOfInput())) {
      endExchange(ended);
    } else {
      fail(endReason());
    }
  }

  @Override
  void fail(@Nullable String reason) {
    UpstreamExchange failed = exchange;
    exchange = null;
    reset();
    if (failed != null) {
      failed.onFailed(Objects.toString(reason, "unknown"));
    }
  }

  @Override
  void resetNow() {
    if (exchange != null) {
      exchange.onReset();
    }
    fail(UpstreamClient.CLOSED);
  }

  /**
   * Resets the connection in a later event, unless the exchange has ended or is cancelled by then.
   */
  @Override
  public void failLater(String reason) {
    UpstreamExchange failing = exchange;
    loop.runOnContext(
        here -> {
          if (failing != null && failing == exchange && !failing.isCancelled()) {
            fail(reason);
          }
        });
  }

  @Override
  public void abandon() {
    exchange = null;
    reset();
  }

  @Override
  void onClose() {
    ReferenceCountUtil.release(waiting);
    waiting = null;
  }

  @Override
  void retire() { // called without an exchange
    close();
  }

  @Override
  public void onOver() {
    client.onOver(this);
  }

  @Override
  boolean hasRoom() {
    return isEmpty() && open && isActive();
  }

  @Override
  boolean isEmpty() {
    return exchange == null;
  }

  @Override
  public boolean isComplete() {
    return parser.isDone();
  }

  @Override
  public boolean isUsable() {
    return isActive();
  }

  // --- deadlines ---

  @Override
  public long now() {
    return client.now();
  }

  @Override
  public void touch() {
    sinceNanos = client.now();
    client.arm(deadline());
  }

  @Override
  long deadline() {
    UpstreamExchange current = exchange;
    return current == null
        ? sinceNanos + (resting ? REST_NANOS : idleNanos)
        : current.deadline(target.timeouts(), sinceNanos);
  }

  @Override
  void onDeadline() {
    UpstreamExchange current = exchange;
    if (resting) {
      resting = false;
      client.onRoom(this);
    } else if (current == null) {
      close();
    } else if (!current.onUnusable(current.timeoutReason())) {
      fail(current.timeoutReason());
    }
  }
}
