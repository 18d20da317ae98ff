/**
 * The slots of a deployment as an instance sees them, and their grants. The package has the set of
 * replicas and its ranking, the waiter queue, the limits of both, and the pick, which alone
 * acquires slots. It depends on no messages, requests or leases beyond a {@link
 * dev.berth.routing.slots.Grant}. Code that chooses in another way (affinity, a batch, a priority)
 * belongs here.
 *
 * <p>Sources: gRPC's {@code PickResult pickSubchannel(args)}, Knative's {@code lbPolicy}.
 */
@NullMarked
package dev.berth.routing.slots;

import org.jspecify.annotations.NullMarked;
