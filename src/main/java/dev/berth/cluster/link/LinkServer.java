package dev.berth.cluster.link;

import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetSocket;
import java.nio.channels.ClosedChannelException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Takes links on one port, each on one of some event loops in turn. */
public final class LinkServer {
  private static final Logger LOG = LoggerFactory.getLogger(LinkServer.class);

  /** A negative number is any port too, and the same one for all who listen on that number. */
  private static final AtomicInteger ANY_PORT = new AtomicInteger();

  private final LinkTls tls;
  private final String name;
  private final List<NetServer> servers = new CopyOnWriteArrayList<>();
  private volatile String said = ""; // why somebody was refused, as it was logged last

  /**
   * @param name for the log: what is taken here
   */
  public LinkServer(LinkTls tls, String name) {
    this.tls = tls;
    this.name = name;
  }

  /**
   * Listens.
   *
   * @param port 0 for any
   * @param accepted gets each connection on its loop, once its handshake is over
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
    Promise<NetServer> listening = Promise.promise();
    loop.runOnContext(here -> server(loop, accepted).listen(port, host).onComplete(listening));
    return listening.future();
  }

  private NetServer server(ContextInternal loop, Handler<NetSocket> accepted) {
    NetServer server = loop.owner().createNetServer(tls.server());
    servers.add(server);
    tls.renewServer(server::updateSSLOptions);
    return server.connectHandler(accepted).exceptionHandler(this::refused);
  }

  private void refused(Throwable failed) {
    String why = TlsFailure.said(failed);
    // One that is closed without a word was to show that somebody listens; who is refused asks
    // again each second.
    boolean known = TlsFailure.cause(failed) instanceof ClosedChannelException || why.equals(said);
    LOG.atLevel(known ? Level.DEBUG : Level.WARN).log("{}: refused: {}", name, why);
    said = known ? said : why;
  }

  /** Takes no more. Links that it took are ended before: else they are waited for. */
  public Future<Void> close() {
    return Future.join(servers.stream().<Future<?>>map(NetServer::close).toList()).mapEmpty();
  }
}
