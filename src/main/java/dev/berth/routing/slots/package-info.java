/**
 * The slots of a deployment as the routers of one instance see them. The package contains the set
 * of replicas and its ranking, the queue of waiting requests, the limits of an instance, and {@link
 * dev.berth.routing.slots.Pick}. Only a pick acquires slots, and its result is a {@link
 * dev.berth.routing.slots.Grant}. Apart from the lease in a grant, the package uses no messages,
 * requests or leases. Code that chooses replicas in another way (affinity, a batch, a priority)
 * belongs here.
 *
 * <p>The design follows gRPC's {@code PickResult pickSubchannel(args)} and Knative's {@code
 * lbPolicy}.
 */
@NullMarked
package dev.berth.routing.slots;

import org.jspecify.annotations.NullMarked;
