package dev.berth.node;

import dev.berth.controller.Epoch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Refuses the commands of a controller that another one has followed. Belongs to the control loop,
 * but for the count.
 */
final class EpochGate {
  private static final Logger LOG = LoggerFactory.getLogger(EpochGate.class);

  private @Nullable Epoch newest;
  private @Nullable Epoch said; // refused, and logged
  private volatile long refused;

  /** Whether a command of this controller is to be done. */
  boolean admits(Epoch epoch) {
    Epoch known = newest;
    if (known == null || epoch.compareTo(known) > 0) {
      newest = epoch;
      return true;
    }
    if (epoch.equals(known)) {
      return true;
    }
    refused++;
    if (!epoch.equals(said)) {
      said = epoch;
      LOG.warn("commands of {} are refused: {} is known", epoch, known);
    }
    return false;
  }

  /** Commands refused. Any thread. */
  long refused() {
    return refused;
  }
}
