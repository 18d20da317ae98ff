package dev.berth.cluster.control;

import dev.berth.cluster.link.LinkTls;
import dev.berth.protocol.port.Loop;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.net.NetClient;
import java.util.function.LongSupplier;

/**
 * What control links need of the node that they are on.
 *
 * @param links event loop of the links, with nothing else on it
 * @param control where listeners are told
 * @param dialer whose connections are on the links' event loop
 */
public record ControlLoops(
    ContextInternal links, Loop control, LinkTls tls, NetClient dialer, LongSupplier nanoClock) {

  /** Tells a listener. */
  void tell(Runnable task) {
    control.execute(task);
  }

  /** On the links' event loop: at once when the caller is there already. */
  void run(Runnable task) {
    if (links.inThread()) {
      task.run();
    } else {
      later(task);
    }
  }

  /** There, and never on the caller's stack. */
  void later(Runnable task) {
    links.runOnContext(here -> task.run());
  }

  long now() {
    return nanoClock.getAsLong();
  }
}
