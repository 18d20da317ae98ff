package dev.berth.simulation;

import dev.berth.cluster.bus.BusFrameCodec.BusFrame;
import io.netty.buffer.ByteBuf;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.eventbus.MessageProducer;
import io.vertx.core.internal.buffer.BufferInternal;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetSocket;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The clustered event bus of a process, on sockets of a {@link SimulatedNet}. As in Vert.x, one
 * connection carries all messages to a process, and its end is no event: what was on it is lost,
 * and the next message opens another.
 */
final class SimulatedEventBus {
  static final int PORT = 7421;

  private record Consumer(SimulatedLoop loop, Handler<Message<Object>> handler) {}

  private final SimulatedVertx at;
  private final SimulatedNet net;
  private final Map<String, Consumer> consumers = new HashMap<>();
  private final Map<String, Connection> connections = new HashMap<>(); // by bus name

  SimulatedEventBus(SimulatedVertx at, SimulatedNet net) {
    this.at = at;
    this.net = net;
  }

  /** Receives messages of other processes on a loop. */
  void listen(SimulatedLoop loop) {
    net.listen(at, PORT, loop, socket -> attach((NetSocketInternal) socket, null));
  }

  Object consumer(SimulatedLoop loop, String address, Handler<Message<Object>> handler) {
    consumers.put(address, new Consumer(loop, handler));
    return new Stub<>(MessageConsumer.class)
        .on("completion", it -> Future.succeededFuture())
        .on(
            "unregister",
            it -> {
              consumers.remove(address);
              return Future.succeededFuture();
            })
        .made;
  }

  Object sender(SimulatedLoop loop, String address) {
    String node = address.split("\\.")[2];
    return new Stub<>(MessageProducer.class)
        .on(
            "write",
            it ->
                connections
                    .computeIfAbsent(node, name -> new Connection(loop, name))
                    .write(address, ((BusFrame) it[0]).bytes()))
        .made;
  }

  private void attach(NetSocketInternal socket, @Nullable Connection outgoing) {
    socket.messageHandler(piece -> received(BufferInternal.buffer((ByteBuf) piece)));
    socket.readCompletionHandler(read -> {});
    socket.closeHandler(
        closed -> {
          if (outgoing != null) {
            outgoing.end(new IOException("closed"));
          }
        });
  }

  /** Fields of a message's envelope, after the address. */
  static Buffer frame(Buffer written) {
    int at = envelope(written) + 1;
    for (int text = 0; text < 2; text++) {
      at += Short.BYTES + written.getUnsignedShort(at);
    }
    return written.slice(at + 4 * Long.BYTES, written.length());
  }

  private static int envelope(Buffer written) {
    return Short.BYTES + written.getUnsignedShort(0);
  }

  private void received(Buffer frame) {
    int start = envelope(frame);
    Consumer to = consumers.get(frame.getString(Short.BYTES, start));
    if (to != null) {
      Object body = new BusFrame(frame.slice(start, frame.length()));
      @SuppressWarnings("unchecked")
      Stub<Message<Object>> message =
          new Stub<>((Class<Message<Object>>) (Class<?>) Message.class).on("body", it -> body);
      to.loop.execute(() -> to.handler.handle(message.made));
    }
  }

  private final class Connection {
    private final String name;
    private final Map<Promise<Void>, ByteBuf> waiting = new LinkedHashMap<>();
    private final Set<Promise<Void>> written = new LinkedHashSet<>();
    private @Nullable NetSocketInternal socket;

    Connection(SimulatedLoop loop, String name) {
      this.name = name;
      Promise<NetSocket> connected = Promise.promise();
      String host = "127.0.0." + name.substring(1, name.indexOf('~'));
      net.connect(at, loop, host, PORT, connected);
      connected.future().onComplete((made, failed) -> connected((NetSocketInternal) made, failed));
    }

    private void connected(@Nullable NetSocketInternal made, @Nullable Throwable failed) {
      if (made == null) {
        end(failed);
        return;
      }
      socket = made;
      attach(made, this);
      waiting.forEach(this::write);
      waiting.clear();
    }

    Future<Void> write(String address, Buffer envelope) {
      byte[] text = address.getBytes(StandardCharsets.UTF_8);
      Buffer frame =
          Buffer.buffer().appendUnsignedShort(text.length).appendBytes(text).appendBuffer(envelope);
      Promise<Void> done = Promise.promise();
      ByteBuf bytes = ((BufferInternal) frame).getByteBuf();
      if (socket == null) {
        waiting.put(done, bytes);
      } else {
        write(done, bytes);
      }
      return done.future();
    }

    private void write(Promise<Void> done, ByteBuf bytes) {
      written.add(done);
      java.util.Objects.requireNonNull(socket)
          .writeMessage(bytes)
          .onComplete(
              (accepted, failed) -> {
                if (written.remove(done)) {
                  done.complete(null, failed);
                }
              });
    }

    private void end(@Nullable Throwable cause) {
      connections.remove(name, this);
      List<Promise<Void>> lost = new ArrayList<>(waiting.keySet());
      lost.addAll(written);
      waiting.clear();
      written.clear();
      lost.forEach(each -> each.fail(cause));
    }
  }
}
