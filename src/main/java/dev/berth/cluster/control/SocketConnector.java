package dev.berth.cluster.control;

import dev.berth.cluster.link.LinkTls;
import dev.berth.config.ClusterConfig.JoinAddress;
import io.vertx.core.Future;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.PromiseInternal;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.SocketAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects to control nodes over the network.
 *
 * @param join addresses of control nodes; a name with several addresses is resolved at each attempt
 */
public record SocketConnector(
    ContextInternal loop, LinkTls tls, NetClient dialer, List<JoinAddress> join)
    implements Connector {
  private static final Logger LOG = LoggerFactory.getLogger(SocketConnector.class);

  @Override
  public Future<ControllerAddresses> addresses() {
    List<SocketAddress> all = new ArrayList<>();
    return Future.join(
            join.stream().<Future<?>>map(each -> find(each).onSuccess(all::addAll)).toList())
        .transform(
            (found, failed) ->
                Future.succeededFuture(new ControllerAddresses(all, failed == null)));
  }

  private Future<List<SocketAddress>> find(JoinAddress each) {
    if (!each.dns()) {
      return Future.succeededFuture(
          List.of(SocketAddress.inetSocketAddress(each.port(), each.host())));
    }
    PromiseInternal<List<InetSocketAddress>> found = loop.promise();
    loop.owner().nameResolver().resolveAll(loop.nettyEventLoop(), each.host()).addListener(found);
    return found
        .future()
        .map(all -> all.stream().map(a -> at(a, each.port())).toList())
        .onFailure(failed -> LOG.warn("join: {}: {}", each, failed.getMessage()));
  }

  private static SocketAddress at(InetSocketAddress found, int port) {
    return SocketAddress.inetSocketAddress(port, found.getAddress().getHostAddress());
  }

  @Override
  public void connect(
      SocketAddress address,
      Function<ControlConnection, ControlConnection.ControlConnectionHandler> user) {
    SocketControlConnection line = new SocketControlConnection(loop, tls, address.toString(), user);
    dialer
        .connect(address.port(), address.host())
        .onSuccess(line::attach)
        .onFailure(line::endUnconnected);
  }
}
