package dev.berth.cluster.control;

import dev.berth.cluster.membership.ClusterEpoch;
import dev.berth.cluster.membership.NodeRegistration;
import io.vertx.core.Future;
import java.util.Collection;

/**
 * The committed registrations of nodes. After a failed future the outcome is unknown. Thread-safe.
 *
 * <p>Duties of an implementation: (1) Return the existing number of a registered process. (2)
 * Change nothing for a second process of a name until the first is removed. (3) Never reuse a
 * number. (4) Succeed in removing an unknown registration.
 */
public interface RegistrationStore {
  /** Registers a process. {@link #registeredNodes} contains the result. */
  Future<Void> register(String name, String process);

  /** Removes a registration of a node that is lost or has left. */
  Future<Void> remove(String name, long number);

  /**
   * Returns whether the committed state includes the last command of a controller of this
   * generation.
   */
  boolean includes(ClusterEpoch seen);

  /** Returns the committed registrations. */
  Collection<NodeRegistration> registeredNodes();
}
