package dev.berth.routing;

import dev.berth.protocol.port.SlotLease;
import org.jspecify.annotations.Nullable;

/**
 * A slot on its way to a waiter: a lease here, a lease a remote replica offered, or (with neither)
 * room that a remote replica is estimated to have. Without a replica it says that there will be
 * none: the deployment became unavailable.
 */
record Grant(
    @Nullable RoutedReplica replica,
    @Nullable SlotLease lease,
    RemoteReplica.@Nullable Offer offer) {
  static final Grant UNAVAILABLE = new Grant(null, null, null);

  /** Nobody took it. */
  void giveBack() {
    if (lease != null) {
      lease.release();
    } else if (replica instanceof RemoteReplica remote) {
      remote.giveBack();
      if (offer != null) {
        remote.decline(offer);
      }
    }
  }
}
