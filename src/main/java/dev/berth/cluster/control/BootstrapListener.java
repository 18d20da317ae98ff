package dev.berth.cluster.control;

import dev.berth.cluster.link.LinkServer;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.cluster.membership.Handshake.HandshakeRefused;
import io.vertx.core.Future;
import io.vertx.core.internal.ContextInternal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * The bootstrap listener of a control node whose state contains no nodes. Before the controller
 * starts, the listener records the HELLO of each node that connects, because those nodes may have
 * been commanded from another disk than this one. Each node is refused and retries. Confined to one
 * event loop.
 */
public final class BootstrapListener {
  /** Listening period in milliseconds. Nodes without a controller connect once per second. */
  static final long LISTEN_MS = 2_000;

  private final Map<String, HandshakeHello> nodes = new TreeMap<>(); // by name
  private final List<ControlConnection> lines = new ArrayList<>();

  private BootstrapListener() {}

  /**
   * Listens on the control port for {@link #LISTEN_MS}.
   *
   * @return the last HELLO of each node that a controller has commanded before; fails when the port
   *     cannot be opened
   */
  public static Future<List<HandshakeHello>> listen(
      ContextInternal loop, LinkTls tls, String host, int port) {
    BootstrapListener callers = new BootstrapListener();
    LinkServer server = new LinkServer(tls, "control links");
    return server
        .listen(
            List.of(loop),
            host,
            port,
            socket -> {
              String peer = socket.remoteAddress().host();
              new SocketControlConnection(loop, tls, peer, callers::on).attach(socket);
            })
        .compose(listens -> loop.owner().timer(LISTEN_MS, TimeUnit.MILLISECONDS))
        .compose(
            over ->
                Future.future(
                    closed -> loop.runOnContext(here -> callers.end(server).onComplete(closed))))
        .map(closed -> List.copyOf(callers.nodes.values()));
  }

  private Future<Void> end(LinkServer server) {
    lines.forEach(each -> each.end("the controller is starting"));
    return server.close();
  }

  private ControlConnection.ControlConnectionHandler on(ControlConnection line) {
    lines.add(line);
    return new ControlConnection.ControlConnectionHandler() {
      @Override
      public void onMessage(Record message) {
        if (message instanceof HandshakeHello hello && hello.seen() != null) {
          nodes.put(hello.node().name(), hello);
        }
        line.send(new HandshakeRefused("controller: starting (expected: try again)"));
      }

      @Override
      public void onEnded(String reason) {}
    };
  }
}
