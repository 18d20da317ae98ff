package dev.berth.upstream.client;

import dev.berth.upstream.client.UpstreamTarget.HttpVersions;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
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
final class StreamLink extends ClientConnection {
  /** Limit of stream ids, far below that of the protocol. */
  private static final int MAX_STREAM_ID = 1 << 30;

  private final Set<StreamCarrier> waiting = new LinkedHashSet<>(); // for the SETTINGS
  private final IntObjectMap<StreamCarrier> streams = new IntObjectHashMap<>(); // also cancelled
  private final ArrayDeque<StreamCarrier> pinged = new ArrayDeque<>(); // await the ack
  private final ArrayDeque<StreamCarrier> unpinged = new ArrayDeque<>(); // await the next PING
  private final Runnable flushing = this::flush;
  private @Nullable StreamCodec codec; // null until the protocol is known
  private @Nullable ChannelHandlerContext frames; // of the codec
  private boolean offered; // to the client
  private boolean retired;
  private boolean suspect; // no ack within a grace time
  private boolean broken;
  private boolean flushPending;
  private boolean pinging;
  private long pings;
  private long idleSinceNanos;

  StreamLink(UpstreamClient client, ContextInternal loop, UpstreamTarget target, boolean probe) {
    super(client, loop, target, probe);
    this.retired = probe; // no second exchange
  }

  // --- exchanges ---

  @Override
  UpstreamExchange start(
      @Nullable UpstreamRequest request, @Nullable Buffer whole, ExchangeListener listener) {
    StreamCarrier carrier = new StreamCarrier(client, loop, this, request, whole, listener);
    adopt(carrier);
    return carrier.exchange;
  }

  @Override
  void adopt(StreamCarrier carrier) {
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
  boolean hasRoom() {
    if (isClosed() || retired || (open && !isActive())) {
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
  boolean isEmpty() {
    return streams.isEmpty() && waiting.isEmpty();
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
    if (isClosed()) {
      return;
    }
    idleSinceNanos = client.now();
    if (isEmpty() && (!open || retired || broken)) {
      finish();
    } else if (open && !offered && hasRoom()) {
      offered = client.onRoom(this);
    }
    if (isEmpty() && !isClosed()) {
      client.arm(deadline());
    }
  }

  // --- opening ---

  @Override
  void onConnected(@Nullable String protocol) {
    if (target.tls() == null || "h2".equals(protocol)) {
      openStreams();
    } else if (target.http().versions() == HttpVersions.HTTP_2) {
      fail("TLS: no h2 by ALPN");
    } else {
      openPlain();
    }
  }

  /** Starts HTTP/2 with the preface. */
  private void openStreams() {
    ChannelPipeline pipeline = Objects.requireNonNull(channel).pipeline();
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
    pipeline.replace(this, null, made);
    frames = pipeline.context(made);
  }

  /** Continues with HTTP/1.1: one exchange on this channel, and the others on their own. */
  private void openPlain() {
    String refusal = client.refusal();
    if (refusal != null) {
      fail(refusal);
      return;
    }
    client.streamLimit = 1;
    UpstreamConnection plain = client.replace(this);
    Objects.requireNonNull(channel).pipeline().replace(this, null, plain);
    List<StreamCarrier> moving = List.copyOf(waiting);
    waiting.clear();
    moving.stream().limit(1).forEach(plain::adopt);
    plain.onOpen();
    moving.stream().skip(1).forEach(each -> client.move(each, probe));
  }

  /** Handles SETTINGS of the peer. The first ones open the connection. */
  private void onSettings() {
    client.streamLimit = Math.max(1, http2().local().maxActiveStreams());
    boolean opening = !open;
    String refusal = client.refusal();
    if (opening && refusal != null) {
      fail(refusal);
      return;
    }
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
    if (isClosed() || broken) {
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
    if (!isClosed()) {
      shutOutput();
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
  void onInputEnd() {
    end(endReason(), isEndConfirming());
  }

  @Override
  void resetNow() {
    carriers().forEach(each -> each.exchange.onReset());
    fail(UpstreamClient.CLOSED);
  }

  @Override
  void fail(@Nullable String reason) {
    end(Objects.toString(reason, "unknown"), false);
  }

  /**
   * Resets the connection and ends its exchanges.
   *
   * @param confirmed whether the end confirms cancellations
   */
  private void end(String reason, boolean confirmed) {
    reset();
    for (StreamCarrier each : carriers()) {
      if (confirmed && each.exchange.isCancelled()) {
        each.exchange.onEnd();
      } else {
        each.exchange.onFailed(reason);
      }
    }
  }

  @Override
  void retire() {
    retired = true;
    offered = false;
    client.onFull(this);
    settle();
  }

  /** Closes the connection without exchanges. */
  private void finish() {
    if (suspect || broken) {
      reset();
    } else {
      if (open && !isClosed()) {
        goAway(Http2Error.NO_ERROR);
      }
      close();
    }
  }

  // --- deadlines ---

  @Override
  long deadline() {
    if (isEmpty()) {
      return idleSinceNanos + IDLE_NANOS;
    }
    return carriers().stream().mapToLong(StreamCarrier::deadline).min().orElseThrow();
  }

  @Override
  void onDeadline() {
    if (isEmpty()) {
      finish();
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
