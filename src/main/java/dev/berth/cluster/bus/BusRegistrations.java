package dev.berth.cluster.bus;

import io.vertx.core.Completable;
import io.vertx.core.spi.cluster.RegistrationInfo;
import io.vertx.core.spi.cluster.RegistrationListener;
import java.util.List;

/**
 * Registrations of the applications' consumers, which {@link BusCluster} passes on. Never receives
 * an address of Berth. This class shares none: a consumer receives only messages of its own node.
 * Thread-safe.
 */
public class BusRegistrations {
  /**
   * Sets the listener to be notified when the registrations of an address change.
   *
   * @param listener of Vert.x, which caches registrations until then
   */
  public void listen(RegistrationListener listener) {}

  /** Adds a consumer of this node. Completes the consumer's {@code completion()}. */
  public void add(String address, RegistrationInfo consumer, Completable<Void> done) {
    done.succeed();
  }

  /** Removes a consumer of this node. */
  public void remove(String address, RegistrationInfo consumer, Completable<Void> done) {
    done.succeed();
  }

  /**
   * Returns the consumers of an address. If any is on another node, the list must also contain the
   * consumers of this node; Vert.x calls them only then. Empty: Vert.x looks at this node alone.
   */
  public List<RegistrationInfo> find(String address) {
    return List.of();
  }
}
