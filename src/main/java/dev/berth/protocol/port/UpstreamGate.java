package dev.berth.protocol.port;

import io.vertx.core.Future;
import java.util.function.Supplier;

/**
 * Port through which a handler closes and opens the slots of its own replica. A closed replica
 * grants no slot; requests that hold one continue. A change of the configured maximum takes effect
 * when the replica opens. Thread-safe and idempotent.
 */
public interface UpstreamGate {
  /**
   * Closes the replica, or replaces the reason of a closed one.
   *
   * @param reason one line for operators, not empty
   * @param unreachable whether no connection to its server succeeds
   */
  void close(String reason, boolean unreachable);

  /** Opens the replica with its configured number of slots; waiting requests receive them. */
  void open();

  /**
   * Permits requests without a slot, also while the replica is closed.
   *
   * @param max maximum of such requests at the same time; 0 for none
   */
  void permitSlotless(int max);

  /**
   * Sets the action that resets the connections of the handler, at once and from any thread. Its
   * future completes when they are closed.
   */
  void resetBy(Supplier<Future<Void>> action);
}
