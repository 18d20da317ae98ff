/**
 * Who is a node of the cluster: decided by the controller's node alone, from what it hears, and
 * committed before anything follows from it. {@link dev.berth.cluster.membership.Membership} has
 * the rules and no thread, no clock and no socket; the control links drive it.
 */
@NullMarked
package dev.berth.cluster.membership;

import org.jspecify.annotations.NullMarked;
