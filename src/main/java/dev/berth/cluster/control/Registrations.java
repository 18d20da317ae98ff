package dev.berth.cluster.control;

import dev.berth.cluster.membership.Authority;
import dev.berth.cluster.membership.Registered;
import io.vertx.core.Future;
import java.util.Collection;

/**
 * The committed registrations of nodes. After a failed future the outcome is unknown. An
 * implementation must: (1) return the existing number of a registered process; (2) change nothing
 * for a second process of a name until the first is removed; (3) never reuse a number; (4) succeed
 * in removing an unknown registration. Thread-safe.
 */
public interface Registrations {
  /** Registers a process. {@link #known} contains the result. */
  Future<Void> register(String name, String process);

  /** Removes a registration of a node that is lost or has left. */
  Future<Void> gone(String name, long number);

  /**
   * Returns whether the committed state includes the last command of a controller of this
   * generation.
   */
  boolean includes(Authority seen);

  /** Returns the committed registrations. */
  Collection<Registered> known();
}
