/**
 * The slots of a deployment as an instance sees them, and who gets the next one: the set of
 * replicas and its ranking, the queue of those who wait, the bounds of both, and the pick, which
 * alone takes slots. It knows nothing of messages, requests and leases beyond a {@link
 * dev.berth.routing.slots.Grant}; what chooses otherwise (affinity, a batch, a priority) comes
 * here.
 *
 * <p>Sources: gRPC's {@code PickResult pickSubchannel(args)}, Knative's {@code lbPolicy}.
 */
@NullMarked
package dev.berth.routing.slots;

import org.jspecify.annotations.NullMarked;
