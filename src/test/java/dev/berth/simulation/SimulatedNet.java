package dev.berth.simulation;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetSocket;
import io.vertx.core.net.SocketAddress;
import java.io.IOException;
import java.net.ConnectException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * TCP between the processes of a simulation: bytes come in order or not at all. A direction between
 * two hosts may let nothing through for a while; what was sent comes after it. What a process does
 * not read stays in its buffers, and when these are full its peer's writes wait.
 */
final class SimulatedNet {
  private static final long MOST_DELAY = TimeUnit.MICROSECONDS.toNanos(1_500);
  private static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(2);

  private record Listening(SimulatedVertx at, SimulatedLoop loop, Handler<NetSocket> accepted) {}

  /** Sees what is sent, and where to. */
  interface Tap {
    void sent(SimulatedVertx from, SimulatedVertx to, int port, ByteBuf bytes);

    void arrived(SimulatedVertx from, SimulatedVertx to, int port, ByteBuf bytes);

    /** It came behind the end of its connection, and is not read. */
    void late(SimulatedVertx from, SimulatedVertx to);

    /** What was sent does not fit into what the other leaves unread. */
    void full(SimulatedVertx from, SimulatedVertx to);
  }

  private final World world;
  private final SplittableRandom random;
  private final Map<String, List<Listening>> ports = new HashMap<>();
  private final Map<String, Long> blocked = new HashMap<>(); // until when, by "from>to"
  private final List<Socket> sockets = new ArrayList<>();
  private final int bufferBytes;
  private @Nullable Tap tap;
  private int taken;

  /**
   * @param bufferBytes that a process may leave unread on each connection
   */
  SimulatedNet(World world, int bufferBytes) {
    this.world = world;
    this.random = world.randomness();
    this.bufferBytes = bufferBytes;
  }

  void tap(Tap newTap) {
    tap = newTap;
  }

  private static String way(String from, String to) {
    return from + ">" + to;
  }

  /** Lets nothing through in one direction for so long. */
  void block(String from, String to, long nanos) {
    blocked.merge(way(from, to), world.elapsedNanos() + nanos, Math::max);
  }

  private long blockedUntil(SimulatedVertx from, SimulatedVertx to) {
    return blocked.getOrDefault(way(from.host, to.host), 0L);
  }

  void heal() {
    blocked.clear();
  }

  // --- connections ---

  void listen(SimulatedVertx at, int port, SimulatedLoop loop, Handler<NetSocket> accepted) {
    ports
        .computeIfAbsent(at.host + ":" + port, none -> new ArrayList<>())
        .add(new Listening(at, loop, accepted));
  }

  void close(SimulatedVertx at, int port) {
    ports.remove(at.host + ":" + port);
  }

  void connect(
      SimulatedVertx from,
      SimulatedLoop loop,
      String host,
      int port,
      Promise<NetSocket> connected) {
    long gone =
        Math.max(
            blocked.getOrDefault(way(from.host, host), 0L),
            blocked.getOrDefault(way(host, from.host), 0L));
    if (gone > world.elapsedNanos()) {
      world.after(
          CONNECT_NANOS,
          "connect",
          () -> fail(loop, connected, new ConnectException("connection timed out: " + host)));
      return;
    }
    world.after(
        delay(),
        "connect",
        () -> {
          List<Listening> listening = ports.getOrDefault(host + ":" + port, List.of());
          if (listening.isEmpty()) {
            fail(loop, connected, new ConnectException("Connection refused: " + host));
          } else {
            handshake(from, loop, listening.get(taken++ % listening.size()), port, connected);
          }
        });
  }

  /** Over when the other side had a look at it, as TLS's is. */
  private void handshake(
      SimulatedVertx from,
      SimulatedLoop loop,
      Listening to,
      int port,
      Promise<NetSocket> connected) {
    Socket near = new Socket(from, loop, port);
    Socket far = new Socket(to.at, to.loop, port);
    near.other = far;
    far.other = near;
    sockets.add(near);
    sockets.add(far);
    to.loop.execute(
        () -> {
          to.accepted.handle(far.made());
          world.after(
              delay(),
              "connected",
              () ->
                  loop.execute(
                      () -> {
                        if (!connected.tryComplete(near.made())) {
                          near.close();
                        }
                      }));
        });
    world.after(
        CONNECT_NANOS,
        "handshake",
        () -> fail(loop, connected, new IOException("handshake timed out")));
  }

  private static void fail(SimulatedLoop loop, Promise<NetSocket> connected, Throwable why) {
    loop.execute(() -> connected.tryFail(why));
  }

  private long delay() {
    return 20_000 + random.nextLong(MOST_DELAY);
  }

  // --- faults ---

  /** A connection is reset, both processes live. */
  boolean reset() {
    return reset(each -> true);
  }

  /** One to a port, if there is any. */
  boolean reset(int port) {
    return reset(each -> each.port == port);
  }

  private boolean reset(Predicate<Socket> which) {
    sockets.removeIf(each -> each.closed);
    List<Socket> open = sockets.stream().filter(which).toList();
    if (open.isEmpty()) {
      return false;
    }
    Socket victim = open.get(random.nextInt(open.size()));
    victim.isReset();
    victim.other.isReset();
    return true;
  }

  /**
   * A process is no more.
   *
   * @param silently and its machine with it, so that nobody is told; its ports do not refuse
   */
  void gone(SimulatedVertx process, boolean silently) {
    ports.values().forEach(each -> each.removeIf(listening -> listening.at == process));
    for (Socket each : List.copyOf(sockets)) {
      if (each.at == process && !each.closed) {
        each.closed = true;
        if (silently) {
          each.out.clear();
        } else if (random.nextBoolean()) {
          each.send(Socket.END);
        } else {
          each.out.clear();
          each.send(Socket.END);
        }
      }
    }
    sockets.removeIf(each -> each.at == process);
  }

  /** One end of a connection. */
  private final class Socket {
    private static final Object END = new Object();

    final SimulatedVertx at;
    final SimulatedLoop loop;
    final int port;
    Socket other = this;
    boolean closed;
    private final ArrayDeque<Object> out = new ArrayDeque<>(); // under way to the other
    private final ArrayDeque<Object> in = new ArrayDeque<>(); // here, and not read
    private final ArrayDeque<Promise<Void>> writes = new ArrayDeque<>(); // that wait for room
    private boolean moving;
    private boolean reading;
    private int unread; // bytes of it that the other has not read
    private Handler<Object> onMessage = none -> {};
    private Handler<Void> onRead = none -> {};
    private Handler<Void> onClose = none -> {};

    Socket(SimulatedVertx at, SimulatedLoop loop, int port) {
      this.at = at;
      this.loop = loop;
      this.port = port;
    }

    @SuppressWarnings("unchecked")
    NetSocket made() {
      Stub<ChannelPipeline> pipeline = new Stub<>(ChannelPipeline.class);
      Stub<ChannelHandlerContext> front =
          new Stub<>(ChannelHandlerContext.class)
              .on("pipeline", it -> pipeline.made)
              .on("close", it -> close());
      pipeline.on("firstContext", it -> closed ? null : front.made);
      Stub<NetSocketInternal> socket = new Stub<>(NetSocketInternal.class);
      return socket
          .fluent("exceptionHandler")
          .on("channelHandlerContext", it -> front.made)
          .on(
              "messageHandler",
              it -> {
                onMessage = (Handler<Object>) it[0];
                return socket.made;
              })
          .on(
              "readCompletionHandler",
              it -> {
                onRead = (Handler<Void>) it[0];
                return socket.made;
              })
          .on(
              "closeHandler",
              it -> {
                onClose = (Handler<Void>) it[0];
                readSoon();
                return socket.made;
              })
          .on("writeMessage", it -> write((ByteBuf) it[0]))
          .on("sslSession", it -> null) // none without TLS
          .on("remoteAddress", it -> SocketAddress.inetSocketAddress(port, other.at.host))
          .on(
              "close",
              it -> {
                close();
                return Future.succeededFuture();
              })
          .made;
    }

    // --- out ---

    private Future<Void> write(ByteBuf bytes) {
      if (closed) {
        return Future.failedFuture(new IOException("closed"));
      }
      Promise<Void> written = Promise.promise();
      unread += bytes.readableBytes();
      if (tap != null) {
        tap.sent(at, other.at, port, bytes);
      }
      send(bytes);
      if (unread <= bufferBytes) {
        loop.execute(written::tryComplete);
      } else {
        if (tap != null) {
          tap.full(at, other.at);
        }
        writes.add(written);
      }
      return written.future();
    }

    private void send(Object what) {
      out.add(what);
      move();
    }

    private void move() {
      if (!moving && !out.isEmpty()) {
        moving = true;
        long wait = blockedUntil(at, other.at) - world.elapsedNanos();
        world.after(wait > 0 ? wait + 10 * delay() : delay(), "bytes", this::moved);
      }
    }

    private void moved() {
      moving = false;
      if (blockedUntil(at, other.at) <= world.elapsedNanos()) {
        int most = 1 + random.nextInt(8);
        for (int i = 0; i < most && !out.isEmpty(); i++) {
          other.arrives(out.remove());
        }
      }
      move();
    }

    // --- in ---

    private void arrives(Object what) {
      if (loop.halted()) {
        return;
      }
      if (closed) {
        if (what != END) {
          if (tap != null) {
            tap.late(other.at, at);
          }
          world.after(delay(), "reset", other::isReset);
        }
        return;
      }
      if (tap != null && what instanceof ByteBuf bytes) {
        tap.arrived(other.at, at, port, bytes);
      }
      in.add(what);
      readSoon();
    }

    private void readSoon() {
      if (!reading && !in.isEmpty()) {
        reading = true;
        loop.execute(this::read);
      }
    }

    private void read() {
      reading = false;
      boolean end = false;
      int bytes = 0;
      while (!in.isEmpty() && !closed) {
        Object next = in.remove();
        if (next instanceof ByteBuf piece) {
          bytes += piece.readableBytes();
          onMessage.handle(piece.duplicate());
        } else {
          end = true;
        }
      }
      if (bytes > 0 && !closed) {
        onRead.handle(null);
      }
      other.taken(bytes);
      if (end && !closed) {
        closed = true;
        onClose.handle(null);
      }
    }

    private void taken(int bytes) {
      unread -= bytes;
      while (unread <= bufferBytes && !writes.isEmpty()) {
        Promise<Void> written = writes.remove();
        loop.execute(written::tryComplete);
      }
    }

    // --- the end ---

    /** What the kernel has still goes out. */
    private @Nullable Object close() {
      if (!closed) {
        closed = true;
        in.clear();
        send(END);
        loop.execute(() -> onClose.handle(null));
      }
      return null;
    }

    private void isReset() {
      out.clear();
      if (!closed) {
        in.clear();
        in.add(END);
        readSoon();
      }
    }
  }
}
