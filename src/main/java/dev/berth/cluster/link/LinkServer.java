package dev.berth.cluster.link;

import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.net.NetSocket;
import java.nio.channels.ClosedChannelException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Accepts links on one port, distributed over several event loops. */
public final class LinkServer {
  private static final Logger LOG = LoggerFactory.getLogger(LinkServer.class);

  /**
   * Source of negative ports. Vert.x binds each negative number to a free port, which all servers
   * with that number share.
   */
  private static final AtomicInteger ANY_PORT = new AtomicInteger();

  private final LinkTls tls;
  private final String name;
  private final List<NetServer> servers = new CopyOnWriteArrayList<>();
  private volatile String said = ""; // last logged refusal

  /**
   * Creates a server.
   *
   * @param name kind of the accepted links, for logs
   */
  public LinkServer(LinkTls tls, String name) {
    this.tls = tls;
    this.name = name;
  }

  /**
   * Starts to listen.
   *
   * @param port 0 for any
   * @param accepted receives each connection on its loop, after the TLS handshake
   * @return the port
   */
  public Future<Integer> listen(
      List<ContextInternal> loops, String host, int port, Handler<NetSocket> accepted) {
    int shared = port != 0 ? port : ANY_PORT.decrementAndGet();
    return Future.all(
            loops.stream().<Future<?>>map(on -> listen(on, host, shared, accepted)).toList())
        .map(all -> servers.get(0).actualPort());
  }

  private Future<NetServer> listen(
      ContextInternal loop, String host, int port, Handler<NetSocket> accepted) {
    return Future.future(
        done ->
            loop.runOnContext(here -> server(loop, accepted).listen(port, host).onComplete(done)));
  }

  private NetServer server(ContextInternal loop, Handler<NetSocket> accepted) {
    NetServer server = loop.owner().createNetServer(tls.secured(new NetServerOptions()));
    servers.add(server);
    tls.renewServer(server::updateSSLOptions);
    return server.connectHandler(accepted).exceptionHandler(this::onHandshakeFailed);
  }

  private void onHandshakeFailed(Throwable failed) {
    String why = TlsFailure.describe(failed);
    // A connection that closes silently is a probe of the port. A refused node retries each second,
    // so that a repeated reason is logged at debug level.
    boolean known = TlsFailure.cause(failed) instanceof ClosedChannelException || why.equals(said);
    LOG.atLevel(known ? Level.DEBUG : Level.WARN).log("{}: refused: {}", name, why);
    said = known ? said : why;
  }

  /** Closes the server. Its links must have ended before, because closing waits for them. */
  public Future<Void> close() {
    return Future.join(servers.stream().<Future<?>>map(NetServer::close).toList()).mapEmpty();
  }
}
