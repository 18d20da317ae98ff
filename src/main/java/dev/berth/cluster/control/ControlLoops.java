package dev.berth.cluster.control;

import dev.berth.cluster.link.LinkTls;
import dev.berth.protocol.port.LoopExecutor;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.net.ConnectException;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Dependencies of control links on their node.
 *
 * @param links event loop dedicated to the links
 * @param control loop that runs the listeners' notifications
 * @param dialer opens connections on the links' event loop
 */
public record ControlLoops(
    ContextInternal links,
    LoopExecutor control,
    LinkTls tls,
    NetClient dialer,
    LongSupplier nanoClock) {

  /** Runs a notification of a listener. */
  void notifyListener(Runnable task) {
    control.execute(task);
  }

  /** Runs a task on the links' event loop: immediately when the caller already runs there. */
  void run(Runnable task) {
    if (links.inThread()) {
      task.run();
    } else {
      later(task);
    }
  }

  /**
   * Returns whether a host refuses a connection, which proves that no process listens on the port.
   * A timeout proves nothing.
   */
  public Future<Boolean> isRefused(String host, int port) {
    Promise<Boolean> result = links.promise();
    later(
        () ->
            dialer
                .connect(port, host)
                .onSuccess(NetSocket::close)
                .onComplete((socket, failed) -> result.complete(isRefusal(failed))));
    return result.future();
  }

  /** Runs a task on the links' event loop, never on the caller's stack. */
  void later(Runnable task) {
    links.runOnContext(here -> task.run());
  }

  /**
   * Returns whether a host refused a connection, which proves that no process listens there. A
   * timeout proves nothing.
   */
  static boolean isRefusal(@Nullable Throwable failed) {
    return failed instanceof ConnectException
        && String.valueOf(failed.getMessage())
            .contains("onnection refused"); // no host name has a space
  }

  long now() {
    return nanoClock.getAsLong();
  }
}
