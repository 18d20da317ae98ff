package dev.berth.simulation;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.ScheduledFuture;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpServer;
import io.vertx.core.impl.future.PromiseImpl;
import io.vertx.core.internal.ContextBuilder;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import io.vertx.core.net.impl.NetServerInternal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * As much of a Vert.x as the parts of a node use, for one process: event loops, timers, an event
 * bus within it, and sockets on a {@link SimulatedNet}. HTTP is there and nobody comes.
 */
final class SimulatedVertx {
  /** The links loop, which has the event bus between nodes too. */
  private static final int BUS_LOOP = 1;

  final World world;
  final String host;
  final List<SimulatedLoop> loops = new ArrayList<>();
  private final SimulatedNet net;
  private final Set<Long> timers = new HashSet<>();
  private final Map<String, Stub<MessageConsumer<Object>>> consumers = new HashMap<>();
  private final Map<String, Handler<Message<Object>>> handlers = new HashMap<>();
  private final List<ContextInternal> contexts = new ArrayList<>();
  private final SimulatedEventBus between;
  private final VertxInternal vertx;
  private long lastTimer;

  SimulatedVertx(World world, SimulatedNet net, String host) {
    this.world = world;
    this.net = net;
    this.host = host;
    between = new SimulatedEventBus(this, net);
    vertx = vertx();
  }

  /** The process, as others name it. */
  String node() {
    return loops.get(0).node;
  }

  /** What is done on a loop of it; what is done on none is the simulation's. */
  private SimulatedLoop current() {
    return loops.stream().filter(SimulatedLoop::isHere).findFirst().orElseThrow();
  }

  /** One more event loop. */
  ContextInternal loop(String node) {
    SimulatedLoop loop = new SimulatedLoop(world, node, loops.size());
    loops.add(loop);
    Stub<EventLoop> netty =
        new Stub<>(EventLoop.class)
            .on("execute", it -> run(loop, (Runnable) it[0]))
            .on("inEventLoop", it -> loop.isHere())
            .on(
                "schedule",
                it -> {
                  long nanos = ((TimeUnit) it[2]).toNanos((long) it[1]);
                  boolean[] over = new boolean[1];
                  Runnable task = (Runnable) it[0];
                  Runnable takenBack =
                      loop.start(
                          nanos,
                          () -> {
                            over[0] = true;
                            task.run();
                          });
                  return new Stub<>(ScheduledFuture.class)
                      .on(
                          "cancel",
                          none -> {
                            takenBack.run();
                            boolean first = !over[0];
                            over[0] = true;
                            return first;
                          })
                      .made;
                });
    Stub<ContextInternal> context = new Stub<>(ContextInternal.class);
    contexts.add(context.made);
    return context
        .fluent("duplicate", "beginDispatch", "unwrap", "exceptionHandler")
        .on("owner", it -> vertx)
        .on("nettyEventLoop", it -> netty.made)
        .on("inThread", it -> loop.isHere())
        .on("runOnContext", it -> run(loop, () -> handle(it[0], null)))
        .on("promise", it -> new PromiseImpl<>(context.made))
        .on("isRunningOnContext", it -> loop.isHere())
        .on("execute", it -> run(loop, (Runnable) it[0]))
        .on("setTimer", it -> timer(loop, (long) it[0], false, it[1]))
        .on("endDispatch", it -> null)
        .on("reportException", it -> failed((Throwable) it[0]))
        .on(
            "getLocal",
            it -> {
              throw new IllegalArgumentException("no room for what is of a request");
            })
        .made;
  }

  private Object failed(Throwable thrown) {
    throw world.fail("a message was not taken: " + thrown, thrown);
  }

  private static Object run(SimulatedLoop loop, Runnable task) {
    loop.execute(task);
    return null;
  }

  /** Receives messages of other processes, on the links loop. */
  void openBus() {
    between.listen(loops.get(BUS_LOOP));
  }

  @SuppressWarnings("unchecked")
  private static <T> void handle(Object handler, T event) {
    ((Handler<T>) handler).handle(event);
  }

  private VertxInternal vertx() {
    Stub<EventLoopGroup> group =
        new Stub<>(EventLoopGroup.class)
            .on("iterator", it -> List.of(new Stub<>(EventLoop.class).made).iterator());
    Stub<ContextBuilder> builder = new Stub<>(ContextBuilder.class);
    builder.fluent("withEventLoop").on("build", it -> contexts.get(BUS_LOOP));
    Stub<EventBus> bus =
        new Stub<>(EventBus.class)
            .fluent("registerCodec")
            .on(
                "consumer",
                it ->
                    between.consumer(current(), (String) it[0], message -> handle(it[1], message)))
            .on("sender", it -> between.sender(loops.get(BUS_LOOP), (String) it[0]))
            .on("localConsumer", it -> consumer((String) it[0]))
            .on("send", it -> send((String) it[0], it[1]));
    return new Stub<>(VertxInternal.class)
        .on("eventBus", it -> bus.made)
        .on("nettyEventLoopGroup", it -> group.made)
        .on("contextBuilder", it -> builder.made)
        .on("setTimer", it -> timer(current(), (long) it[0], false, it[1]))
        .on("setPeriodic", it -> timer(current(), (long) it[0], true, it[it.length - 1]))
        .on("cancelTimer", it -> timers.remove((long) it[0]))
        .on("createNetServer", it -> server())
        .on("createNetClient", it -> client())
        .on("createHttpServer", it -> http())
        .on(
            "createHttpClient",
            it ->
                new Stub<>(HttpClientAgent.class)
                    .on("close", none -> Future.succeededFuture())
                    .made)
        .made;
  }

  /**
   * While its loop is blocked a periodic one goes on, and comes as often as it would have: as
   * Netty's do.
   */
  private long timer(SimulatedLoop loop, long millis, boolean again, Object handler) {
    long id = ++lastTimer;
    timers.add(id);
    due(loop, id, millis, again, handler);
    return id;
  }

  private void due(SimulatedLoop loop, long id, long millis, boolean again, Object handler) {
    world.idle(
        TimeUnit.MILLISECONDS.toNanos(millis),
        () -> {
          if (!timers.contains(id) || loop.halted()) {
            return;
          }
          loop.execute(
              () -> {
                if (again ? timers.contains(id) : timers.remove(id)) {
                  handle(handler, id);
                }
              });
          if (again) {
            due(loop, id, millis, true, handler);
          }
        });
  }

  // --- the event bus of the process ---

  private Object consumer(String address) {
    SimulatedLoop loop = current();
    Stub<MessageConsumer<Object>> made = new Stub<>(consumerType());
    consumers.put(address, made);
    return made.on(
            "handler",
            it -> {
              handlers.put(address, message -> loop.execute(() -> handle(it[0], message)));
              return made.made;
            })
        .on("completion", it -> Future.succeededFuture())
        .on("unregister", it -> unregister(address, made))
        .made;
  }

  @SuppressWarnings("unchecked")
  private static Class<MessageConsumer<Object>> consumerType() {
    return (Class<MessageConsumer<Object>>) (Class<?>) MessageConsumer.class;
  }

  private Object unregister(String address, Stub<MessageConsumer<Object>> made) {
    if (consumers.remove(address, made)) {
      handlers.remove(address);
    }
    return Future.succeededFuture();
  }

  @SuppressWarnings("unchecked")
  private Object send(String address, Object body) {
    Handler<Message<Object>> to = handlers.get(address);
    if (to != null) {
      to.handle(
          new Stub<Message<Object>>((Class<Message<Object>>) (Class<?>) Message.class)
              .on("body", it -> body)
              .made);
    }
    return null;
  }

  // --- sockets ---

  private Object server() {
    Stub<NetServerInternal> server = new Stub<>(NetServerInternal.class);
    int[] port = new int[1];
    return server
        .fluent("exceptionHandler")
        .on(
            "connectHandler",
            it -> {
              SimulatedLoop loop = current();
              server.on(
                  "listen",
                  where -> {
                    port[0] = (int) where[0];
                    net.listen(this, port[0], loop, socket -> handle(it[0], socket));
                    return Future.succeededFuture(server.made);
                  });
              return server.made;
            })
        .on("actualPort", it -> port[0])
        .on(
            "close",
            it -> {
              net.close(this, port[0]);
              return Future.succeededFuture();
            })
        .made;
  }

  private Object client() {
    return new Stub<>(NetClient.class)
        .on(
            "connect",
            it -> {
              Promise<NetSocket> connected = Promise.promise();
              net.connect(this, current(), (String) it[1], (int) it[0], connected);
              return connected.future();
            })
        .on("close", it -> Future.succeededFuture())
        .made;
  }

  private static Object http() {
    Stub<HttpServer> server = new Stub<>(HttpServer.class);
    return server
        .fluent("connectionHandler", "invalidRequestHandler", "requestHandler")
        .on("listen", it -> Future.succeededFuture(server.made))
        .on("actualPort", it -> 1)
        .on("shutdown", it -> Future.succeededFuture())
        .made;
  }

  /** The process is gone: nothing runs any more. */
  void halt() {
    loops.forEach(SimulatedLoop::halt);
    timers.clear();
  }
}
