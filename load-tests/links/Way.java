import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.http.Http2Settings;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientConnection;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpConnectOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.io.IOException;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import javax.net.ssl.SSLSession;

/** A way to send between two nodes: one serves and answers with what it is sent, one connects. */
enum Way {
  /** Frames of ours over a socket. */
  SOCKET {
    @Override
    Future<Integer> serve(Vertx vertx, Tls tls) {
      return vertx
          .createNetServer(tls.server())
          .connectHandler(socket -> socket.handler(echo(vertx, socket::write)::take))
          .listen()
          .map(server -> server.actualPort());
    }

    @Override
    Future<Connected> connect(Vertx vertx, Tls tls, int port, Link.Receiver answers) {
      return socket(vertx, tls, port)
          .map(
              socket -> {
                Frames frames = new Frames(vertx.getOrCreateContext(), socket::write, answers);
                socket.handler(frames::take);
                return Connected.of(frames, socket.sslSession());
              });
    }
  },

  /** The same by Netty's decoder and pooled buffers. */
  DECODER {
    @Override
    Future<Integer> serve(Vertx vertx, Tls tls) {
      Context loop = vertx.getOrCreateContext();
      return vertx
          .createNetServer(tls.server())
          .connectHandler(
              socket ->
                  Echo.over(
                      loop, echo -> new DecodedFrames(loop, (NetSocketInternal) socket, echo)))
          .listen()
          .map(server -> server.actualPort());
    }

    @Override
    Future<Connected> connect(Vertx vertx, Tls tls, int port, Link.Receiver answers) {
      Context loop = vertx.getOrCreateContext();
      return socket(vertx, tls, port)
          .map(
              socket ->
                  Connected.of(
                      new DecodedFrames(loop, (NetSocketInternal) socket, answers),
                      socket.sslSession()));
    }
  },

  /** The same frames in the two bodies of one request over HTTP/2 that does not end. */
  STREAM {
    @Override
    Future<Integer> serve(Vertx vertx, Tls tls) {
      return serveHttp(
          vertx,
          tls,
          request -> {
            HttpServerResponse response = request.response();
            response.writeHead();
            request.handler(echo(vertx, response::write)::take);
          });
    }

    @Override
    Future<Connected> connect(Vertx vertx, Tls tls, int port, Link.Receiver answers) {
      Context loop = vertx.getOrCreateContext();
      return connection(vertx, tls, port)
          .compose(
              connection ->
                  connection
                      .request(POST)
                      .compose(
                          request -> {
                            Frames frames = new Frames(loop, request::write, answers);
                            request.setChunked(true).sendHead();
                            return request
                                .response()
                                .onSuccess(response -> response.handler(frames::take))
                                .map(Connected.of(frames, connection.sslSession()));
                          }));
    }
  },

  /** A request over HTTP/2, on one connection, for each message. */
  REQUEST {
    @Override
    Future<Integer> serve(Vertx vertx, Tls tls) {
      Context loop = vertx.getOrCreateContext();
      return serveHttp(
          vertx,
          tls,
          request ->
              request
                  .body()
                  .onSuccess(body -> loop.runOnContext(task -> request.response().end(body))));
    }

    @Override
    Future<Connected> connect(Vertx vertx, Tls tls, int port, Link.Receiver answers) {
      return connection(vertx, tls, port)
          .map(
              connection ->
                  Connected.of(
                      (id, body) ->
                          connection
                              .request(POST)
                              .compose((HttpClientRequest request) -> request.send(body))
                              .compose(response -> response.body())
                              .onSuccess(answer -> answers.received(id, answer))
                              .onFailure(Throwable::printStackTrace),
                      connection.sslSession()));
    }
  },

  /** The clustered event bus, by messages with an id of ours. */
  BUS {
    @Override
    Future<Vertx> vertx(VertxBuilder builder, VertxOptions options, Tls tls) throws IOException {
      EventBusOptions bus = tls.bus();
      try (ServerSocket free = new ServerSocket(0)) {
        bus.setPort(free.getLocalPort());
      }
      return builder
          .with(options.setEventBusOptions(bus))
          .withClusterManager(new NamedNodes(bus.getPort()))
          .buildClustered();
    }

    @Override
    Future<Integer> serve(Vertx vertx, Tls tls) {
      int port = NamedNodes.port(vertx);
      String[] asker = new String[1];
      return vertx
          .eventBus()
          .<Buffer>consumer(
              NamedNodes.address(port),
              message -> {
                Buffer body = message.body();
                if (asker[0] == null) {
                  asker[0] = NamedNodes.address(body.getInt(0));
                }
                vertx.runOnContext(task -> vertx.eventBus().send(asker[0], body));
              })
          .completion()
          .map(port);
    }

    @Override
    Future<Connected> connect(Vertx vertx, Tls tls, int port, Link.Receiver answers) {
      int own = NamedNodes.port(vertx);
      String server = NamedNodes.address(port);
      Link link =
          (id, body) ->
              vertx
                  .eventBus()
                  .send(server, Buffer.buffer(4 + body.length()).appendInt(id).appendBuffer(body));
      return vertx
          .eventBus()
          .<Buffer>consumer(
              NamedNodes.address(own),
              message ->
                  answers.received(
                      message.body().getInt(0), message.body().slice(4, message.body().length())))
          .completion()
          .onSuccess(ready -> link.send(own, Buffer.buffer())) // tells the server who asks
          .map(new Connected(link, "as the others"));
    }
  };

  /** A client that nobody holds is closed, with its connections, when it is collected. */
  private static final List<Object> CLIENTS = new ArrayList<>();

  /** As much as a link may have under way, so that flow control does not hold it up. */
  private static final int WINDOW = 8 << 20;

  static final RequestOptions POST = new RequestOptions().setMethod(HttpMethod.POST).setURI("/");

  /**
   * @param secured by what protocol and cipher
   */
  record Connected(Link link, String secured) {
    static Connected of(Link link, SSLSession session) {
      return new Connected(
          link, session == null ? "none" : session.getProtocol() + " " + session.getCipherSuite());
    }
  }

  /** Until it can be connected to, at a port of the loopback. */
  abstract Future<Integer> serve(Vertx vertx, Tls tls);

  abstract Future<Connected> connect(Vertx vertx, Tls tls, int port, Link.Receiver answers);

  Future<Vertx> vertx(VertxBuilder builder, VertxOptions options, Tls tls) throws IOException {
    return Future.succeededFuture(builder.with(options).build());
  }

  private static Frames echo(Vertx vertx, Consumer<Buffer> stream) {
    Context loop = vertx.getOrCreateContext();
    return Echo.over(loop, echo -> new Frames(loop, stream, echo));
  }

  private static Future<NetSocket> socket(Vertx vertx, Tls tls, int port) {
    NetClient client = vertx.createNetClient(tls.client());
    CLIENTS.add(client);
    return client.connect(port, "127.0.0.1");
  }

  private static Http2Settings settings() {
    return new Http2Settings().setInitialWindowSize(WINDOW).setMaxConcurrentStreams(1_000);
  }

  private static Future<Integer> serveHttp(
      Vertx vertx, Tls tls, Handler<HttpServerRequest> handler) {
    HttpServerOptions options =
        tls.httpServer().setInitialSettings(settings()).setHttp2ConnectionWindowSize(WINDOW);
    return vertx
        .createHttpServer(options)
        .requestHandler(handler)
        .listen()
        .map(server -> server.actualPort());
  }

  static Future<HttpClientConnection> connection(Vertx vertx, Tls tls, int port) {
    HttpClientOptions options =
        tls.httpClient()
            .setProtocolVersion(HttpVersion.HTTP_2)
            .setAlpnVersions(List.of(HttpVersion.HTTP_2))
            .setHttp2ClearTextUpgrade(false)
            .setInitialSettings(settings())
            .setHttp2ConnectionWindowSize(WINDOW);
    HttpClientAgent client = vertx.createHttpClient(options);
    CLIENTS.add(client);
    return client.connect(
        new HttpConnectOptions().setHost("127.0.0.1").setPort(port).setSsl(tls.used()));
  }
}
