package dev.berth.cluster.control;

import io.vertx.core.Future;
import io.vertx.core.net.SocketAddress;
import java.util.List;
import java.util.function.Function;

/** How a node reaches whoever may be its controller. On the links' event loop. */
@FunctionalInterface
public interface Connector {

  /** Where that may be now; by default it matters not. */
  default Future<List<SocketAddress>> addresses() {
    return Future.succeededFuture(List.of(SocketAddress.inetSocketAddress(0, "localhost")));
  }

  /**
   * @param user makes who is on the line, told that it ended, too, when it was never connected
   */
  void connect(SocketAddress address, Function<Line, Line.User> user);
}
