package dev.berth.routing.slots;

import dev.berth.protocol.port.SlotLease;
import org.jspecify.annotations.Nullable;

/**
 * The proof of an acquired slot, to be used or released. A local slot either runs a request at once
 * or is held by a lease. For a remote slot, the grant contains a lease that the replica offered, or
 * only the estimate that a slot is free there. A grant without a replica means that the deployment
 * became unavailable and no slot will follow.
 */
public record Grant(
    @Nullable RoutedReplica replica,
    @Nullable SlotLease lease,
    RemoteReplica.@Nullable Offer offer) {
  /** Hold time of a slot that runs a request at once. */
  public static final long RUN = 0;

  public static final Grant UNAVAILABLE = new Grant(null, null, null);

  /** Returns a grant to run at once on a local slot, or on a remote one estimated to be free. */
  static Grant run(RoutedReplica replica) {
    return new Grant(replica, null, null);
  }

  /** Releases an unused grant. */
  public void giveBack() {
    if (lease != null) {
      lease.release();
    } else if (replica != null) {
      replica.untake();
      if (offer != null) {
        replica.decline(offer);
      }
    }
  }
}
