package dev.berth.upstream.client;

import dev.berth.api.Headers;
import dev.berth.upstream.client.ConnectionOpener.NameLookup;
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
  private static final String LEASE_ENDED = "the node's lease has ended";

  /** Memory of requests and of the socket's reads; Vert.x's pool, for all sockets of the loop. */
  final ByteBufAllocator memory = VertxByteBufAllocator.POOLED_ALLOCATOR;

  private final ContextInternal loop;
  private final Ticker clock;
  private final long origin;
  private final ConnectionOpener opener;
  private final BooleanSupplier leaseEnded;
  private final Set<UpstreamConnection> connections = new HashSet<>();
  private final ArrayDeque<UpstreamConnection> idle = new ArrayDeque<>(); // last in, first out
  private int probes; // of the connections
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
    ByteBuf bytes = encoder.request(memory, head, whole);
    UpstreamConnection reused = leaseEnded.getAsBoolean() ? null : idle.pollLast();
    while (reused != null && !reused.isUsable()) {
      reused.close();
      reused = idle.pollLast();
    }
    UpstreamConnection connection = reused == null ? open(false) : reused;
    return connection.start(head, bytes, whole != null, listener);
  }

  /** Opens a connection, in a later event: the lookup may know the address already. */
  private UpstreamConnection open(boolean probe) {
    boolean full = !probe && connections.size() - idle.size() - probes >= target.maxConnections();
    UpstreamConnection made = new UpstreamConnection(this, loop, target, probe || full);
    connections.add(made);
    probes += made.probe ? 1 : 0;
    loop.runOnContext(
        here -> {
          if (closed || full) {
            made.fail(closed ? CLOSED : "client: all connections in use");
          } else if (!made.isClosed()) {
            opener.open(made);
          }
        });
    return made;
  }

  /** Sets the target of later exchanges. Idle connections of another target close. */
  public void retarget(UpstreamTarget next) {
    if (!next.equals(target)) {
      target = next;
      encoder = new RequestEncoder(next.authority());
      List.copyOf(idle).forEach(UpstreamConnection::close);
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
        new UpstreamRequest("GET", path == null ? "/" : path, Headers.empty(), 0);
    ByteBuf bytes = path == null ? null : encoder.request(memory, request, Buffer.buffer());
    ProbeListener listener = new ProbeListener(done);
    UpstreamExchange exchange = open(true).start(request, bytes, true, listener);
    listener.exchange = exchange;
    exchange.limit(now() + timeoutNanos);
    arm(now() + timeoutNanos);
  }

  /** Closes idle connections, and each other one after its exchange. */
  public void end() {
    ended = true;
    List.copyOf(idle).forEach(UpstreamConnection::close);
  }

  /** Resets all connections: their exchanges are cancelled without a confirmation. Thread-safe. */
  public Future<Void> close() {
    return Future.future(
        done ->
            loop.runOnContext(
                here -> {
                  closed = true;
                  List.copyOf(connections).forEach(UpstreamConnection::resetNow);
                  done.complete();
                }));
  }

  // --- connections ---

  /** Returns why an open connection gets no request; null if it does. */
  @Nullable String refusal() {
    return leaseEnded.getAsBoolean() ? LEASE_ENDED : null;
  }

  void onIdle(UpstreamConnection connection) {
    boolean current = connection.target == target || connection.target.equals(target);
    if (current && !connection.probe && !ended) {
      idle.addLast(connection);
    } else {
      connection.close();
    }
  }

  void onClosed(UpstreamConnection connection) {
    connections.remove(connection);
    idle.remove(connection);
    probes -= connection.probe ? 1 : 0;
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
    for (UpstreamConnection each : List.copyOf(connections)) {
      if (!each.isClosed() && each.deadline() <= now) {
        each.onDeadline();
      }
      next = each.isClosed() ? next : Math.min(next, each.deadline());
    }
    return next;
  }
}
