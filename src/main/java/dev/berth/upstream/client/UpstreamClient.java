package dev.berth.upstream.client;

import dev.berth.api.Headers;
import dev.berth.upstream.client.ConnectionOpener.NameLookup;
import dev.berth.upstream.client.UpstreamTarget.HttpVersions;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.ScheduledFuture;
import io.netty.util.concurrent.Ticker;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.impl.buffer.VertxByteBufAllocator;
import io.vertx.core.internal.ContextInternal;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The connections to one upstream. Nothing queues: each exchange has a connection, an idle or a new
 * one. One timer serves all deadlines. Confined to one event loop.
 */
public final class UpstreamClient {
  /** Interval of deadlines in nanoseconds, so that many of them share a sweep. */
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

  static final String CLOSED = "client: closed";
  private static final String ALL_IN_USE = "client: all connections in use";
  private static final String LEASE_ENDED = "the node's lease has ended";

  /** Memory of requests and of the socket's reads; Vert.x's pool, for all sockets of the loop. */
  final ByteBufAllocator memory = VertxByteBufAllocator.POOLED_ALLOCATOR;

  private final ContextInternal loop;
  private final Ticker clock;
  private final long origin;
  private final ConnectionOpener opener;
  private final BooleanSupplier leaseEnded;
  private final Set<ClientConnection> connections = new HashSet<>();
  private final ArrayDeque<ClientConnection> available = new ArrayDeque<>(); // last in, first out
  private int exchanges; // without probes

  /** Maximum of exchanges that wait for one opening connection: the peer's last known limit. */
  int streamLimit = Integer.MAX_VALUE;

  private UpstreamTarget target;
  private RequestEncoder encoder;
  private long armedNanos = UpstreamExchange.NONE; // time of the next sweep
  private @Nullable ScheduledFuture<?> sweep;
  private boolean ended;
  private boolean closed;

  /**
   * @param leaseEnded returns whether no request may be sent
   */
  public UpstreamClient(ContextInternal loop, UpstreamTarget target, BooleanSupplier leaseEnded) {
    this(
        loop,
        target,
        host -> loop.owner().nameResolver().resolveAll(loop.nettyEventLoop(), host),
        leaseEnded);
  }

  UpstreamClient(
      ContextInternal loop, UpstreamTarget target, NameLookup names, BooleanSupplier leaseEnded) {
    this.loop = loop;
    this.clock = loop.nettyEventLoop().ticker();
    this.origin = clock.nanoTime();
    this.opener = new ConnectionOpener(loop, memory, names);
    this.leaseEnded = leaseEnded;
    this.target = target;
    this.encoder = new RequestEncoder(target.authority());
  }

  /**
   * Starts an exchange, on an idle connection or a new one. Never calls the listener within this
   * call.
   *
   * @param whole the complete body; null if the body is streamed
   * @throws IllegalArgumentException if a part of the head has an illegal character
   */
  public UpstreamExchange send(
      UpstreamRequest head, @Nullable Buffer whole, ExchangeListener listener) {
    assert loop.inThread();
    boolean refused = closed || exchanges >= target.maxConnections() || leaseEnded.getAsBoolean();
    ClientConnection connection = refused ? openNone() : take(false);
    try {
      UpstreamExchange made = connection.start(head, whole, listener);
      exchanges += refused ? 0 : 1;
      return made;
    } finally {
      offer(connection);
    }
  }

  /** Returns a connection with room, which the caller offers again; opens one without any. */
  private ClientConnection take(boolean probe) {
    ClientConnection last = probe ? null : available.pollLast();
    while (last != null && !last.hasRoom()) {
      if (last.isEmpty()) {
        last.retire();
      }
      last = available.pollLast();
    }
    return last == null ? open(probe) : last;
  }

  private void offer(ClientConnection connection) {
    if (connection.hasRoom() && !connection.probe) {
      available.addLast(connection);
    }
  }

  /** Opens a connection, in a later event: the lookup may know the address already. */
  private ClientConnection open(boolean probe) {
    ClientConnection made =
        target.http().versions() == HttpVersions.HTTP_1
            ? new UpstreamConnection(this, loop, target, probe)
            : new StreamLink(this, loop, target, probe);
    connections.add(made);
    loop.runOnContext(
        here -> {
          if (closed || made.isEmpty()) { // the head of the only request is illegal
            made.fail(CLOSED);
          } else if (!made.isClosed()) {
            opener.open(made);
          }
        });
    return made;
  }

  /** Returns a connection that never opens and fails in a later event. */
  private ClientConnection openNone() {
    ClientConnection made = new UpstreamConnection(this, loop, target, true);
    String reason = closed ? CLOSED : refusal();
    loop.runOnContext(here -> made.fail(reason == null ? ALL_IN_USE : reason));
    return made;
  }

  /** Moves an exchange that waits to another connection. */
  void move(StreamCarrier waiting, boolean probe) {
    ClientConnection connection = take(probe);
    connection.adopt(waiting);
    offer(connection);
  }

  /** Returns a connection of HTTP/1.1 in the place of another one, whose channel is open. */
  UpstreamConnection replace(StreamLink former) {
    UpstreamConnection made = new UpstreamConnection(this, loop, former.target, former.probe);
    former.surrender();
    connections.add(made);
    return made;
  }

  /** Encodes a request of HTTP/1.1; the caller releases it. */
  ByteBuf encode(UpstreamRequest head, @Nullable Buffer whole) {
    return encoder.request(memory, head, whole);
  }

  /** Sets the target of later exchanges. Idle connections of another target close. */
  public void retarget(UpstreamTarget next) {
    if (!next.equals(target)) {
      target = next;
      encoder = new RequestEncoder(next.authority());
      streamLimit = Integer.MAX_VALUE;
      List.copyOf(available).forEach(ClientConnection::retire);
    }
  }

  /**
   * Checks the upstream on a connection of its own, outside the limit of connections.
   *
   * @param path of a GET with a status of 2xx or 3xx; null for a mere connect
   * @param done receives null if the upstream is well, else the reason
   */
  public void probe(@Nullable String path, long timeoutNanos, Consumer<@Nullable String> done) {
    UpstreamRequest request =
        path == null ? null : new UpstreamRequest("GET", path, Headers.empty(), 0);
    ProbeListener listener = new ProbeListener(done);
    UpstreamExchange exchange = open(true).start(request, Buffer.buffer(), listener);
    listener.exchange = exchange;
    exchange.limit(now() + timeoutNanos);
    arm(now() + timeoutNanos);
  }

  /** Closes idle connections, and each other one after its exchange. */
  public void end() {
    ended = true;
    List.copyOf(available).forEach(ClientConnection::retire);
  }

  /** Resets all connections: their exchanges are cancelled without a confirmation. Thread-safe. */
  public Future<Void> close() {
    return Future.future(
        done ->
            loop.runOnContext(
                here -> {
                  closed = true;
                  List.copyOf(connections).forEach(ClientConnection::resetNow);
                  done.complete();
                }));
  }

  // --- connections ---

  /** Returns the number of exchanges that have not ended, without probes. */
  int ongoing() {
    return exchanges;
  }

  /** Returns why an open connection gets no request; null if it does. */
  @Nullable String refusal() {
    return leaseEnded.getAsBoolean() ? LEASE_ENDED : null;
  }

  /** Handles an exchange's end that left room for another one; returns whether one may follow. */
  boolean onRoom(ClientConnection connection) {
    boolean current = connection.target == target || connection.target.equals(target);
    if (!current || connection.probe || ended) {
      connection.retire();
      return false;
    }
    available.addLast(connection);
    return true;
  }

  void onFull(ClientConnection connection) {
    available.remove(connection);
  }

  void onClosed(ClientConnection connection) {
    connections.remove(connection);
    available.remove(connection);
  }

  void onOver(ClientConnection connection) {
    exchanges -= connection.probe ? 0 : 1;
  }

  // --- deadlines ---

  /** Returns nanoseconds since the start. */
  long now() {
    return clock.nanoTime() - origin;
  }

  /** Ensures a sweep at a deadline. */
  void arm(long deadlineNanos) {
    if (deadlineNanos >= armedNanos) {
      return;
    }
    if (sweep != null) {
      sweep.cancel(false);
    }
    armedNanos = (deadlineNanos / TICK_NANOS + 1) * TICK_NANOS;
    Runnable task = this::sweep;
    sweep =
        loop.nettyEventLoop().schedule(task, Math.max(0, armedNanos - now()), TimeUnit.NANOSECONDS);
  }

  private void sweep() {
    armedNanos = UpstreamExchange.NONE;
    loop.dispatch(here -> arm(endPassed(now())));
  }

  /** Ends what has passed its deadline. Returns the next deadline. */
  private long endPassed(long now) {
    long next = UpstreamExchange.NONE;
    for (ClientConnection each : List.copyOf(connections)) {
      if (!each.isClosed() && each.deadline() <= now) {
        each.onDeadline();
      }
      next = each.isClosed() ? next : Math.min(next, each.deadline());
    }
    return next;
  }
}
