package dev.berth.upstream.client;

import dev.berth.upstream.client.UpstreamTarget.HttpVersions;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * A connection of HTTP/2, or one that becomes HTTP/1.1 by ALPN. Confined to the event loop.
 *
 * <pre>
 *   OPENING --connected, TLS established, the peer's SETTINGS--> OPEN
 *   OPENING --ALPN without h2--> replaced by an {@link UpstreamConnection}
 *   OPEN --GOAWAY, cancel without ack, other target--> RETIRED --last exchange ended--> closed
 *   OPEN --1.5 s without an exchange--> closed
 *   any --malformed frame--> BROKEN: output shut --closed by the peer, or grace time over--> closed
 * </pre>
 *
 * <p>Exchanges wait for the SETTINGS, so that none exceeds the peer's limit of streams; those
 * beyond it move to other connections. The ack of a PING that follows the reset of a stream
 * confirms that the peer has read the reset.
 */
final class StreamLink extends ChannelInboundHandlerAdapter implements ClientConnection {
  /** Limit of stream ids, far below that of the protocol. */
  private static final int MAX_STREAM_ID = 1 << 30;

  private final UpstreamClient client;
  private final ContextInternal loop;
  private final UpstreamTarget target;
  private final boolean probe;
  private final Set<StreamCarrier> waiting = new LinkedHashSet<>(); // for the SETTINGS
  private final IntObjectMap<StreamCarrier> streams = new IntObjectHashMap<>(); // also cancelled
  private final ArrayDeque<StreamCarrier> pinged = new ArrayDeque<>(); // await the ack
  private final ArrayDeque<StreamCarrier> unpinged = new ArrayDeque<>(); // await the next PING
  private final Runnable flushing = this::flush;
  private @Nullable Channel channel; // null until the name is resolved
  private @Nullable StreamCodec codec; // null until the protocol is known
  private @Nullable ChannelHandlerContext frames; // of the codec
  private boolean open;
  private boolean offered; // to the client
  private boolean retired;
  private boolean suspect; // malformed frames, or no ack within a grace time
  private boolean broken;
  private boolean closed;
  private boolean flushPending;
  private boolean pinging;
  private long pings;
  private @Nullable Throwable fault;
  private long idleSinceNanos;

  StreamLink(UpstreamClient client, ContextInternal loop, UpstreamTarget target, boolean probe) {
    this.client = client;
    this.loop = loop;
    this.target = target;
    this.probe = probe;
    this.retired = probe; // no second exchange
  }

  // --- exchanges ---

  @Override
  public UpstreamExchange start(
      @Nullable UpstreamRequest request, @Nullable Buffer whole, ExchangeListener listener) {
    StreamCarrier carrier = new StreamCarrier(client, loop, this, request, whole, listener);
    adopt(carrier);
    return carrier.exchange;
  }

  @Override
  public void adopt(StreamCarrier carrier) {
    carrier.moveTo(this);
    if (open) {
      begin(carrier);
    } else {
      waiting.add(carrier);
    }
    offered = hasRoom();
    carrier.touch();
  }

  private void begin(StreamCarrier carrier) {
    int id = http2().local().incrementAndGetNextStreamId();
    streams.put(id, carrier);
    carrier.begin(id);
  }

  @Override
  public boolean hasRoom() {
    if (closed || retired || (channel != null && open && !channel.isActive())) {
      return false;
    }
    return open ? room() > 0 : waiting.size() < client.streamLimit;
  }

  private int room() {
    Http2Connection.Endpoint<?> local = http2().local();
    return local.lastStreamCreated() > MAX_STREAM_ID
        ? 0
        : local.maxActiveStreams() - local.numActiveStreams();
  }

  @Override
  public boolean isEmpty() {
    return streams.isEmpty() && waiting.isEmpty();
  }

  boolean isOpen() {
    return open;
  }

  /** Removes an exchange that has ended, and offers its place or closes. */
  void remove(StreamCarrier carrier, int id) {
    waiting.remove(carrier);
    streams.remove(id);
    pinged.remove(carrier);
    unpinged.remove(carrier);
    settle();
  }

  private void settle() {
    if (closed) {
      return;
    }
    idleSinceNanos = client.now();
    if (isEmpty() && (!open || retired || broken)) {
      close();
    } else if (open && !offered && hasRoom()) {
      offered = client.onRoom(this);
    }
    if (isEmpty() && !closed) {
      client.arm(deadline());
    }
  }

  // --- opening ---

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    channel = added.channel();
  }

  @Override
  public void channelActive(ChannelHandlerContext from) {
    if (target.tls() == null) {
      loop.dispatch(here -> openStreams(from));
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext from, Object event) {
    if (event instanceof SslHandshakeCompletionEvent done) {
      loop.dispatch(here -> onHandshake(from, done));
    } else if (event instanceof SslCloseCompletionEvent end && end.isSuccess()) {
      channelInactive(from);
    }
  }

  private void onHandshake(ChannelHandlerContext from, SslHandshakeCompletionEvent done) {
    String selected = from.pipeline().get(SslHandler.class).applicationProtocol();
    if (!done.isSuccess()) {
      fail("TLS: " + done.cause().getMessage());
    } else if ("h2".equals(selected)) {
      openStreams(from);
    } else if (target.http().versions() == HttpVersions.HTTP_2) {
      fail("TLS: no h2 by ALPN");
    } else {
      openPlain(from);
    }
  }

  /** Starts HTTP/2 with the preface. */
  private void openStreams(ChannelHandlerContext from) {
    StreamCodec made = StreamCodec.of(this, loop, new FrameReceiver());
    codec = made;
    made.connection()
        .addListener(
            new Http2ConnectionAdapter() {
              @Override
              public void onStreamClosed(Http2Stream stream) {
                settle(); // the codec counts it no longer
              }
            });
    from.pipeline().replace(this, null, made);
    frames = from.pipeline().context(made);
  }

  /** Continues with HTTP/1.1: one exchange on this channel, and the others on their own. */
  private void openPlain(ChannelHandlerContext from) {
    client.streamLimit = 1;
    closed = true;
    UpstreamConnection plain = client.replace(this);
    from.pipeline().replace(this, null, plain);
    List<StreamCarrier> moving = List.copyOf(waiting);
    waiting.clear();
    moving.stream().limit(1).forEach(plain::adopt);
    plain.onOpen();
    moving.stream().skip(1).forEach(each -> client.move(each, probe));
  }

  /** Handles SETTINGS of the peer, the first of which opens the connection. */
  private void onSettings() {
    client.streamLimit = Math.max(1, http2().local().maxActiveStreams());
    boolean opening = !open;
    open = true;
    List<StreamCarrier> all = List.copyOf(waiting);
    waiting.clear();
    for (StreamCarrier each : all) {
      if (each.request == null) { // a probe that merely connects
        each.exchange.onOpen();
        each.exchange.onEnd();
      } else if (room() > 0) {
        begin(each);
      } else if (streams.isEmpty()) {
        each.exchange.onFailed("connect: the upstream permits no streams");
      } else {
        client.move(each, probe);
      }
    }
    if (offered && !hasRoom()) {
      offered = false;
      client.onFull(this);
    } else if (opening || !offered) {
      settle();
    }
  }

  // --- frames of the client ---

  private Http2Connection http2() {
    return codec().connection();
  }

  private StreamCodec codec() {
    return Objects.requireNonNull(codec, "codec: null (expected: open)");
  }

  private ChannelHandlerContext frames() {
    return Objects.requireNonNull(frames, "codec: null (expected: open)");
  }

  ChannelFuture writeHead(int id, Http2Headers head, boolean last) {
    flushLater();
    return codec().encoder().writeHeaders(frames(), id, head, 0, last, frames().newPromise());
  }

  ChannelFuture writeData(int id, ByteBuf bytes, boolean last) {
    flushLater();
    return codec().encoder().writeData(frames(), id, bytes, 0, last, frames().newPromise());
  }

  /** Flushes once for all writes within a turn of the loop. */
  private void flushLater() {
    if (!flushPending) {
      flushPending = true;
      loop.nettyEventLoop().execute(flushing);
    }
  }

  private void flush() {
    flushPending = false;
    codec().flush(frames());
  }

  /** Returns bytes of a stream's window to the peer. */
  void consume(int id, int bytes) {
    try {
      if (codec().decoder().flowController().consumeBytes(http2().stream(id), bytes)) {
        flushLater();
      }
    } catch (Http2Exception ended) {
      onBroken(String.valueOf(ended.getMessage()), ended);
    }
  }

  /** Resets a stream, unless it has ended or not begun. */
  void reset(int id) {
    if (id > 0 && !broken && http2().stream(id) != null) {
      codec().resetStream(frames(), id, Http2Error.CANCEL.code(), frames().newPromise());
      flushLater();
    }
  }

  /** Resets a stream. The ack of a PING, or a close by the peer, confirms it. */
  void cancel(StreamCarrier carrier, int id) {
    reset(id);
    unpinged.add(carrier);
    ping();
  }

  /** Sends one PING for all cancelled exchanges, unless one is unanswered. */
  private void ping() {
    if (!pinging && !broken && !unpinged.isEmpty()) {
      pinging = true;
      pinged.addAll(unpinged);
      unpinged.clear();
      codec().encoder().writePing(frames(), false, ++pings, frames().newPromise());
      flushLater();
    }
  }

  // --- frames of the peer ---

  private final class FrameReceiver extends Http2FrameAdapter {
    @Override
    public void onSettingsRead(ChannelHandlerContext from, Http2Settings settings) {
      onSettings();
    }

    @Override
    public void onHeadersRead(
        ChannelHandlerContext from, int id, Http2Headers head, int padding, boolean last)
        throws Http2Exception {
      StreamCarrier carrier = streams.get(id);
      if (carrier != null) {
        carrier.onHead(head, last);
      } else if (id % 2 == 0) {
        throw Http2Exception.connectionError(Http2Error.PROTOCOL_ERROR, "stream of the peer");
      }
    }

    @Override
    public void onHeadersRead(
        ChannelHandlerContext from,
        int id,
        Http2Headers head,
        int dependency,
        short weight,
        boolean exclusive,
        int padding,
        boolean last)
        throws Http2Exception {
      onHeadersRead(from, id, head, padding, last);
    }

    @Override
    public int onDataRead(
        ChannelHandlerContext from, int id, ByteBuf data, int padding, boolean last)
        throws Http2Exception {
      StreamCarrier carrier = streams.get(id);
      return carrier == null ? data.readableBytes() + padding : carrier.onData(data, padding, last);
    }

    @Override
    public void onRstStreamRead(ChannelHandlerContext from, int id, long code) {
      StreamCarrier carrier = streams.get(id);
      if (carrier != null && !carrier.exchange.isCancelled()) {
        String reason = "response: reset by the upstream: " + Http2Error.valueOf(code);
        if (code == Http2Error.REFUSED_STREAM.code()) {
          carrier.exchange.onRefused(reason);
        } else {
          carrier.exchange.onFailed(reason);
        }
      }
    }

    @Override
    public void onGoAwayRead(ChannelHandlerContext from, int lastId, long code, ByteBuf debug) {
      retire();
      for (StreamCarrier each : carriers()) {
        if (each.id() > lastId) {
          each.exchange.onRefused("GOAWAY: " + Http2Error.valueOf(code));
        }
      }
    }

    @Override
    public void onPingAckRead(ChannelHandlerContext from, long data) {
      if (pinging && data == pings) {
        pinging = false;
        List<StreamCarrier> confirmed = List.copyOf(pinged);
        pinged.clear();
        confirmed.forEach(each -> each.exchange.onEnd());
        ping();
      }
    }
  }

  void onStreamError(int id, String reason) {
    StreamCarrier carrier = streams.get(id);
    if (carrier != null && !carrier.exchange.isCancelled()) {
      carrier.onUnusable(reason);
    }
  }

  /** Handles malformed frames. The close by the peer may still confirm cancellations. */
  void onBroken(String reason, @Nullable Http2Exception error) {
    if (closed || broken) {
      return;
    }
    if (!open) {
      fail("connect: no HTTP/2: " + reason);
      return;
    }
    retire();
    broken = true;
    goAway(error == null ? Http2Error.INTERNAL_ERROR : error.error());
    for (StreamCarrier each : carriers()) {
      if (!each.exchange.isCancelled()) {
        each.onUnusable(reason);
      }
    }
    if (!closed) {
      ClientConnection.endTls(frames().channel());
      ((DuplexChannel) frames().channel()).shutdownOutput();
    }
  }

  private void goAway(Http2Error error) {
    codec().goAway(frames(), 0, error.code(), Unpooled.EMPTY_BUFFER, frames().newPromise());
    flush();
  }

  // --- end ---

  private List<StreamCarrier> carriers() {
    List<StreamCarrier> all = new ArrayList<>(streams.values());
    all.addAll(waiting);
    return all;
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext from, Throwable cause) {
    if (fault == null) {
      fault = cause;
    }
    if (!(cause instanceof IOException) || cause instanceof SSLException) { // else Netty closes
      loop.dispatch(here -> fail(Objects.toString(cause.getMessage(), cause.toString())));
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext from) {
    boolean confirmed = open && (fault == null || UpstreamConnection.isReset(fault));
    String reason = (open ? "response" : "connect") + ": closed by the upstream";
    loop.dispatch(here -> end(fault == null ? reason : reason + ": " + fault, confirmed));
  }

  @Override
  public void fail(@Nullable String reason) {
    end(Objects.toString(reason, "unknown"), false);
  }

  /**
   * Resets the connection and ends its exchanges.
   *
   * @param confirmed whether the end confirms cancellations
   */
  private void end(String reason, boolean confirmed) {
    suspect = true;
    close();
    for (StreamCarrier each : carriers()) {
      if (confirmed && each.exchange.isCancelled()) {
        each.exchange.onEnd();
      } else {
        each.exchange.onFailed(reason);
      }
    }
  }

  @Override
  public void retire() {
    retired = true;
    offered = false;
    client.onFull(this);
    settle();
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      client.onClosed(this);
      if (open && !suspect && !broken) {
        goAway(Http2Error.NO_ERROR);
      }
      ClientConnection.close(channel, suspect || broken);
    }
  }

  @Override
  public boolean isClosed() {
    return closed;
  }

  @Override
  public UpstreamTarget target() {
    return target;
  }

  @Override
  public boolean isProbe() {
    return probe;
  }

  @Override
  public ChannelHandler handler() {
    return this;
  }

  // --- deadlines ---

  @Override
  public long deadline() {
    if (isEmpty()) {
      return idleSinceNanos + IDLE_NANOS;
    }
    return carriers().stream().mapToLong(StreamCarrier::deadline).min().orElseThrow();
  }

  @Override
  public void onDeadline() {
    if (isEmpty()) {
      close();
    }
    for (StreamCarrier each : carriers()) {
      if (each.deadline() <= client.now()) {
        if (each.exchange.isCancelled()) { // the peer did not confirm in time
          suspect = true;
          retire();
        }
        each.onUnusable(each.exchange.timeoutReason());
      }
    }
  }
}
