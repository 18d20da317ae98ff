package dev.berth.routing.slots;

import dev.berth.protocol.port.SlotLease;
import org.jspecify.annotations.Nullable;

/**
 * The proof of acquired slots: of one, or of the {@link WaiterOwner#cost} of the receiver, which
 * therefore must not change. The receiver must use or release the grant. A local slot runs a
 * request at once, or a lease holds the slot. For a remote slot, the grant contains an offered
 * slot, which the replica holds for this router. A remote grant without an offer is only an
 * estimate that the replica has a free slot. A grant without a replica means that no slot will
 * follow: the deployment became unavailable, or the request does not wait for it any longer.
 */
public record Grant(
    @Nullable RoutedReplica replica,
    @Nullable SlotLease lease,
    RemoteReplica.@Nullable Offer offer) {
  /** Value in place of a hold time, for a slot that runs a request at once. */
  public static final long RUN = 0;

  public static final Grant UNAVAILABLE = new Grant(null, null, null);

  /** Returns a grant of a local slot to run on at once, or of a remote slot that may be free. */
  static Grant run(RoutedReplica replica) {
    return new Grant(replica, null, null);
  }

  /** Releases an unused grant, and the place of its receiver within a limit. */
  public void giveBack(WaiterOwner by) {
    if (replica != null) {
      replica.limits.giveBack(by.limit());
    }
    if (lease != null) {
      lease.release();
    } else if (replica != null) {
      replica.untake(by.cost());
      if (offer != null) {
        replica.decline(offer);
      }
    }
  }
}
