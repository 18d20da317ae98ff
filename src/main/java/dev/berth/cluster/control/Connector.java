package dev.berth.cluster.control;

import io.vertx.core.Future;
import io.vertx.core.net.SocketAddress;
import java.util.List;
import java.util.function.Function;

/** Connects a node to possible controllers. Confined to the links' event loop. */
@FunctionalInterface
public interface Connector {

  /**
   * Addresses of possible controllers.
   *
   * @param complete whether every configured name was resolved
   */
  record ControllerAddresses(List<SocketAddress> all, boolean complete) {}

  /**
   * Returns the current addresses of possible controllers. By default one placeholder, for
   * connectors that ignore the address.
   */
  default Future<ControllerAddresses> addresses() {
    List<SocketAddress> ignored = List.of(SocketAddress.inetSocketAddress(0, "localhost"));
    return Future.succeededFuture(new ControllerAddresses(ignored, false));
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
