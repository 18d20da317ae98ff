package dev.berth.routing.explain;

import dev.berth.protocol.RouterAddress;
import java.util.function.LongSupplier;

/**
 * The event loop of explained requests, as their recorders see it.
 *
 * @param nanoClock the loop's clock
 * @param ports the instance's dependencies
 */
public record ExplainLoop(LongSupplier nanoClock, RouterAddress address, ExplainPorts ports) {
  long now() {
    return nanoClock.getAsLong();
  }

  int index() {
    return address.loop();
  }
}
