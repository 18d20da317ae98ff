import io.netty.channel.ChannelHandlerContext;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.net.NetSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Whether a link to a node that hangs can be ended, and after how long: one that does not read what
 * was sent, and one that accepts and does not shake hands. Prints what happened; the exit code is 1
 * when it is not what links are built on.
 */
public final class Facts {
  private static final Buffer MUCH = Buffer.buffer(new byte[20 << 20]);

  /** It takes less than the window of HTTP/2, which so is not what holds up the rest. */
  private static final NetServerOptions SMALL =
      new NetServerOptions().setHost("127.0.0.1").setPort(0).setReceiveBufferSize(1 << 16);

  /** Until the sockets are full of it. */
  private static final long STUCK_MILLIS = 500;

  private static final double PATIENCE = 5;
  private static final double AT_ONCE = 1;

  /** Netty's limit on TLS's own last word, and a little. */
  private static final double LAST_WORD = 4;

  private static final int HANDSHAKE_SECONDS = 2;

  private final Vertx vertx =
      Vertx.vertx(new VertxOptions().setEventLoopPoolSize(2).setPreferNativeTransport(true));
  private final Table table = new Table("what", "TLS", "ended after s", "expected");
  private boolean asExpected = true;

  private Facts() {}

  public static void main(String[] args) throws Exception {
    int code = 1;
    try {
      code = new Facts().hold() ? 0 : 1;
    } catch (Exception failed) {
      failed.printStackTrace();
    }
    Runtime.getRuntime().halt(code); // what hangs on purpose need not be waited for
  }

  private boolean hold() throws Exception {
    for (Tls tls : Tls.values()) {
      unread("close()", tls, NetSocket::close, PATIENCE, PATIENCE);
      double from = tls.used() ? AT_ONCE : 0;
      double to = tls.used() ? LAST_WORD : AT_ONCE;
      unread(
          "close of its channel", tls, socket -> own(socket).channel().close(), PATIENCE, PATIENCE);
      unread("close of its context", tls, socket -> own(socket).close(), from, to);
      unread(
          "close of the first context",
          tls,
          socket -> own(socket).pipeline().firstContext().close(),
          0,
          AT_ONCE);
      unreadStream(tls);
      if (tls.used()) {
        silentServer(tls);
        silentClient(tls);
      }
    }
    System.out.println(table.markdown());
    return asExpected;
  }

  private static ChannelHandlerContext own(NetSocket socket) {
    return ((NetSocketInternal) socket).channelHandlerContext();
  }

  /** The other side took the connection and its handshake, and reads no more. */
  private void unread(String how, Tls tls, Consumer<NetSocket> closing, double from, double to)
      throws Exception {
    NetServer server =
        await(vertx.createNetServer(tls.server()).connectHandler(NetSocket::pause).listen());
    NetClient client = vertx.createNetClient(tls.client());
    NetSocket socket = await(client.connect(server.actualPort(), "127.0.0.1"));
    Promise<Void> closed = Promise.promise();
    socket.closeHandler(closed::tryComplete);
    Future<Void> written = socket.write(MUCH);
    await(vertx.timer(STUCK_MILLIS));
    if (written.isComplete()) {
      throw new IllegalStateException("it was all taken (expected: a peer that does not read)");
    }
    long begun = System.nanoTime();
    vertx.runOnContext(task -> closing.accept(socket));
    tell("unread, " + how, tls, begun, closed.future(), from, to);
    await(server.close());
    await(client.close());
  }

  /** A stream of HTTP/2 through a relay that stops to read. */
  private void unreadStream(Tls tls) throws Exception {
    int port = await(Way.STREAM.serve(vertx, tls));
    NetClient onward = vertx.createNetClient();
    List<NetSocket> relayed = new CopyOnWriteArrayList<>();
    NetServer relay =
        await(
            vertx
                .createNetServer(SMALL)
                .connectHandler(
                    in -> {
                      relayed.add(in.pause());
                      onward
                          .connect(port, "127.0.0.1")
                          .onSuccess(
                              out -> {
                                out.handler(in::write);
                                in.handler(out::write).resume();
                              });
                    })
                .listen());
    HttpClientRequest request =
        await(
            Way.connection(vertx, tls, relay.actualPort())
                .compose(connection -> connection.request(Way.POST)));
    await(request.setChunked(true).sendHead());
    await(request.response());
    relayed.forEach(NetSocket::pause);
    Promise<Void> closed = Promise.promise();
    request.connection().closeHandler(closed::tryComplete);
    request.write(MUCH);
    await(vertx.timer(STUCK_MILLIS));
    long begun = System.nanoTime();
    vertx.runOnContext(task -> request.connection().close());
    tell("unread, close() of HTTP/2", tls, begun, closed.future(), 0, LAST_WORD);
    await(relay.close());
    await(onward.close());
  }

  /** It accepts, and no byte comes. */
  private void silentServer(Tls tls) throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      NetClient client =
          vertx.createNetClient(tls.client().setSslHandshakeTimeout(HANDSHAKE_SECONDS));
      long begun = System.nanoTime();
      Future<Void> failed =
          client
              .connect(server.getLocalPort(), "127.0.0.1")
              .transform(
                  tried ->
                      tried.failed()
                          ? Future.succeededFuture()
                          : Future.failedFuture("it is connected"));
      handshake("a server that does not shake hands", tls, begun, failed);
      await(client.close());
    }
  }

  /** It connects, and no byte comes. */
  private void silentClient(Tls tls) throws Exception {
    NetServerOptions options = tls.server();
    options.setSslHandshakeTimeout(HANDSHAKE_SECONDS);
    NetServer server =
        await(vertx.createNetServer(options).connectHandler(NetSocket::pause).listen());
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.actualPort())) {
      long begun = System.nanoTime();
      Future<Void> ended =
          vertx.executeBlocking(() -> client.getInputStream().readAllBytes()).mapEmpty();
      handshake("a client that does not shake hands", tls, begun, ended);
    }
    await(server.close());
  }

  private void handshake(String what, Tls tls, long begun, Future<Void> ended) throws Exception {
    tell(what, tls, begun, ended, HANDSHAKE_SECONDS - 0.1, HANDSHAKE_SECONDS + AT_ONCE);
  }

  private void tell(String what, Tls tls, long begun, Future<Void> ended, double from, double to)
      throws Exception {
    Future<Long> patience = vertx.timer((long) (PATIENCE * 1_000)).map(0L);
    await(Future.any(ended, patience));
    boolean inTime = ended.succeeded();
    double seconds = inTime ? (System.nanoTime() - begun) / 1e9 : PATIENCE;
    asExpected &= from <= seconds && seconds <= to;
    table.line(
        List.of(
            what,
            tls.name(),
            inTime ? Spread.number(seconds, 2) : "not in " + Spread.number(PATIENCE, 0),
            from == PATIENCE ? "not" : Spread.number(from, 1) + " to " + Spread.number(to, 1)));
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
