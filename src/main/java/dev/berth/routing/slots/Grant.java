package dev.berth.routing.slots;

import dev.berth.protocol.port.SlotLease;
import org.jspecify.annotations.Nullable;

/**
 * A slot that was taken for somebody, who uses it or gives it back. One of this instance runs at
 * once, or is held by a lease. Of one elsewhere the router has a lease that the replica offered, or
 * with neither room that it is estimated to have. Without a replica it says that there will be
 * none: the deployment became unavailable.
 */
public record Grant(
    @Nullable RoutedReplica replica,
    @Nullable SlotLease lease,
    RemoteReplica.@Nullable Offer offer) {
  /** In place of a time to be held: to be run on at once. */
  public static final long RUN = 0;

  public static final Grant UNAVAILABLE = new Grant(null, null, null);

  /** A slot to run on, or room elsewhere. */
  static Grant run(RoutedReplica replica) {
    return new Grant(replica, null, null);
  }

  /** Nobody took it. */
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
