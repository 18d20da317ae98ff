import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.StreamedResponse;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.http.Http2Settings;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpConnectOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.RequestOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;

/** How one event loop asks another, in another process, for what it was sent, or for events. */
enum Way {
  /** A call of a deployment: the router here, the replica there, and a link between them. */
  REPLICA,
  HTTP_1,
  HTTP_2,
  /** A request and its reply over the clustered event bus; events are a message each. */
  BUS;

  /** As much as a link may have under way, so that flow control does not hold it up. */
  private static final int WINDOW = 8 << 20;

  private static final String EVENTS = "/events";

  /**
   * Asks once; completes with the bytes that came.
   *
   * @param loop where it is asked
   */
  record Asks(Context loop, Function<Buffer, Future<Integer>> asks) {}

  /** A hundred events, each in a task of its own. */
  static void events(
      Context loop, Function<Buffer, Future<Void>> to, Consumer<Future<Void>> lastWritten) {
    next(loop, to, Buffer.buffer(Streams.EVENT), Streams.EVENTS, lastWritten);
  }

  private static void next(
      Context loop,
      Function<Buffer, Future<Void>> to,
      Buffer event,
      int left,
      Consumer<Future<Void>> lastWritten) {
    Future<Void> written = to.apply(event);
    if (left == 1) {
      lastWritten.accept(written);
    } else {
      loop.runOnContext(none -> next(loop, to, event, left - 1, lastWritten));
    }
  }

  private static Http2Settings settings() {
    return new Http2Settings().setInitialWindowSize(WINDOW).setMaxConcurrentStreams(1_000);
  }

  private static Future<Vertx> clustered(Tls tls) {
    EventBusOptions bus = tls.bus();
    try (ServerSocket free = new ServerSocket(0)) {
      bus.setPort(free.getLocalPort());
    } catch (IOException none) {
      throw new UncheckedIOException(none);
    }
    return Vertx.builder()
        .with(
            new VertxOptions()
                .setEventLoopPoolSize(1)
                .setPreferNativeTransport(true)
                .setEventBusOptions(bus))
        .withClusterManager(new NamedNodes(bus.getPort()))
        .buildClustered();
  }

  /** The servers of a process, made when first asked for. */
  static final class Served {
    private final Tls tls;
    private final AtomicReference<Future<String>> ports = new AtomicReference<>();

    Served(Tls tls) {
      this.tls = tls;
    }

    /** Of HTTP, and of the event bus. */
    Future<String> ports(Context loop) {
      if (ports.get() == null) {
        ports.set(http(loop.owner()).compose(http -> bus().map(bus -> http + " " + bus)));
      }
      return ports.get();
    }

    private Future<Integer> http(Vertx vertx) {
      return vertx
          .createHttpServer(
              tls.server().setInitialSettings(settings()).setHttp2ConnectionWindowSize(WINDOW))
          .requestHandler(Served::answer)
          .listen()
          .map(server -> server.actualPort());
    }

    private static void answer(HttpServerRequest request) {
      if (request.path().equals(EVENTS)) {
        events(
            Vertx.currentContext(),
            request.response().setChunked(true)::write,
            last -> request.response().end());
      } else {
        Context loop = Vertx.currentContext(); // in a task of its own, as a replica answers
        request
            .body()
            .onSuccess(body -> loop.runOnContext(task -> request.response().end(body)));
      }
    }

    private Future<Integer> bus() {
      return clustered(tls)
          .compose(
              vertx -> {
                int port = NamedNodes.port(vertx);
                return vertx
                    .eventBus()
                    .<Buffer>consumer(
                        NamedNodes.address(port),
                        message -> {
                          Buffer body = message.body();
                          if (body.length() > Integer.BYTES) {
                            vertx.eventBus().send(NamedNodes.address(body.getInt(0)), body);
                            return;
                          }
                          String back = NamedNodes.address(body.getInt(0));
                          events(
                              Vertx.currentContext(),
                              event -> {
                                vertx.eventBus().send(back, event);
                                return Future.succeededFuture();
                              },
                              last -> {});
                        })
                    .completion()
                    .map(port);
              });
    }
  }

  /** The clients of a process, made when first asked for. */
  static final class Askers {
    private final Tls tls;
    private final Map<Way, Future<Asks>> made = new HashMap<>();
    private final List<Object> clients = new ArrayList<>(); // closed when they are collected

    Askers(Tls tls) {
      this.tls = tls;
    }

    Future<Asks> of(Way way, RequestContext context) {
      if (way == REPLICA) {
        return Future.succeededFuture(
            new Asks(Vertx.currentContext(), body -> replica(context, body)));
      }
      return made.computeIfAbsent(
          way,
          first ->
              context
                  .handle("served")
                  .call(Request.get("/ports"))
                  .compose(told -> told.bytes(100))
                  .compose(ports -> make(way, ports.toString().trim().split(" "))));
    }

    private static Future<Integer> replica(RequestContext context, Buffer body) {
      return body.length() == 0
          ? context
              .handle("served")
              .stream(Request.get(EVENTS))
              .compose(Askers::drained)
          : context
              .handle("served")
              .call(Request.post("/", body))
              .compose(answer -> answer.bytes(NodesApp.MOST))
              .map(Buffer::length);
    }

    private static Future<Integer> drained(StreamedResponse response) {
      int[] bytes = new int[1];
      Promise<Integer> done = Promise.promise();
      response
          .body()
          .endHandler(end -> done.complete(bytes[0]))
          .exceptionHandler(done::tryFail)
          .handler(piece -> bytes[0] += piece.length())
          .resume();
      return done.future();
    }

    private Future<Asks> make(Way way, String[] ports) {
      return way == BUS
          ? bus(Integer.parseInt(ports[1]))
          : way == HTTP_1
              ? Future.succeededFuture(http1(Integer.parseInt(ports[0])))
              : http2(Integer.parseInt(ports[0]));
    }

    /** On a connection for each caller. */
    private Asks http1(int port) {
      HttpClient client =
          Vertx.currentContext()
              .owner()
              .createHttpClient(
                  tls.client().setVerifyHost(false), new PoolOptions().setHttp1MaxSize(64));
      RequestOptions to = new RequestOptions().setHost("127.0.0.1").setPort(port).setSsl(true);
      return new Asks(
          Vertx.currentContext(), body -> asked(body, client.request(options(body, to))));
    }

    /** On one connection. */
    private Future<Asks> http2(int port) {
      Context loop = Vertx.currentContext();
      HttpClientAgent client =
          loop.owner()
              .createHttpClient(
                  tls.client()
                      .setVerifyHost(false)
                      .setProtocolVersion(HttpVersion.HTTP_2)
                      .setAlpnVersions(List.of(HttpVersion.HTTP_2))
                      .setInitialSettings(settings())
                      .setHttp2ConnectionWindowSize(WINDOW));
      clients.add(client);
      return client
          .connect(new HttpConnectOptions().setHost("127.0.0.1").setPort(port).setSsl(true))
          .map(
              connection ->
                  new Asks(
                      loop,
                      body ->
                          asked(body, connection.request(options(body, new RequestOptions())))));
    }

    private static RequestOptions options(Buffer body, RequestOptions to) {
      return new RequestOptions(to)
          .setMethod(body.length() == 0 ? HttpMethod.GET : HttpMethod.POST)
          .setURI(body.length() == 0 ? EVENTS : "/");
    }

    private static Future<Integer> asked(Buffer body, Future<HttpClientRequest> made) {
      return made.compose(request -> body.length() == 0 ? request.send() : request.send(body))
          .compose(HttpClientResponse::body)
          .map(Buffer::length);
    }

    /** An answer is the next in order: those who ask are all alike. */
    private Future<Asks> bus(int port) {
      String server = NamedNodes.address(port);
      return clustered(tls)
          .compose(
              vertx -> {
                int own = NamedNodes.port(vertx);
                ArrayDeque<Promise<Integer>> waiting = new ArrayDeque<>();
                int[] events = new int[1];
                Asks asks =
                    new Asks(
                        vertx.getOrCreateContext(),
                        body -> {
                          Promise<Integer> answered = Promise.promise();
                          waiting.add(answered);
                          Buffer sent = Buffer.buffer(Integer.BYTES + body.length());
                          vertx.eventBus().send(server, sent.appendInt(own).appendBuffer(body));
                          return answered.future();
                        });
                return vertx
                    .eventBus()
                    .<Buffer>consumer(
                        NamedNodes.address(own),
                        message -> {
                          Buffer body = message.body();
                          if (body.length() != Streams.EVENT.length()) {
                            waiting.remove().complete(body.length() - Integer.BYTES);
                          } else if (++events[0] % Streams.EVENTS == 0) {
                            waiting.remove().complete(Streams.EVENTS * body.length());
                          }
                        })
                    .completion()
                    .map(asks);
              });
    }
  }
}
