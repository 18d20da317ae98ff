package dev.berth.cluster.control;

import io.vertx.core.Future;
import io.vertx.core.net.SocketAddress;
import java.util.List;
import java.util.function.Function;

/** Connects a node to possible controllers. Confined to the links' event loop. */
@FunctionalInterface
public interface Connector {

  /**
   * Returns the current addresses of possible controllers. By default one placeholder, for
   * connectors that ignore the address.
   */
  default Future<List<SocketAddress>> addresses() {
    return Future.succeededFuture(List.of(SocketAddress.inetSocketAddress(0, "localhost")));
  }

  /**
   * Connects to an address.
   *
   * @param user creates the user of the line, which is also notified of the end of a line that was
   *     never connected
   */
  void connect(
      SocketAddress address,
      Function<ControlConnection, ControlConnection.ControlConnectionHandler> user);
}
