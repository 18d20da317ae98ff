package dev.berth.node;

import dev.berth.controller.Epoch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fence that refuses the commands of every controller but the newest. Confined to the control loop,
 * except for the count.
 */
final class EpochGate {
  private static final Logger LOG = LoggerFactory.getLogger(EpochGate.class);

  private @Nullable Epoch newest;
  private @Nullable Epoch said; // last refused epoch, already logged

  /** The number of refused commands. Thread-safe. */
  volatile long refused;

  /** Returns whether a command of an epoch may run. A newer epoch fences all older ones. */
  boolean admits(Epoch epoch) {
    Epoch known = newest;
    if (known == null || epoch.compareTo(known) >= 0) {
      newest = epoch;
      return true;
    }
    refused++;
    if (!epoch.equals(said)) {
      said = epoch;
      LOG.warn("commands of {}: older than {}: refused", epoch, known);
    }
    return false;
  }
}
