package dev.berth.routing.explain;

import dev.berth.protocol.RouterAddress;
import java.util.function.LongSupplier;

/**
 * An event loop as the records of its explained requests know it.
 *
 * @param nanoClock the loop's
 * @param ports the instance's
 */
public record ExplainLoop(LongSupplier nanoClock, RouterAddress address, ExplainPorts ports) {
  long now() {
    return nanoClock.getAsLong();
  }

  int index() {
    return address.loop();
  }
}
