package dev.berth.cluster.control;

import dev.berth.cluster.membership.Authority;
import dev.berth.cluster.membership.Registered;
import io.vertx.core.Future;
import java.util.Collection;

/**
 * Where it is committed who is a node. A future that fails says that it may or may not be so. An
 * implementation must: (1) leave a process that has a number the same one; (2) change nothing for a
 * second process of a name until the first is lost or has left; (3) give no number twice; (4)
 * succeed when what is to be lost, or to have left, is not known any more. Any thread.
 */
public interface Registrations {
  /** Whatever comes of it, {@link #known} says. */
  Future<Void> register(String name, String process);

  /** It is lost, or has left. */
  Future<Void> gone(String name, long number);

  /** Whether what was committed has the last command of a controller of this generation. */
  boolean includes(Authority seen);

  /** As of what was committed. */
  Collection<Registered> known();
}
