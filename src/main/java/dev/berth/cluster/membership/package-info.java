/**
 * The membership of the cluster. Only the controller's node decides it, from the messages it
 * receives, and commits each decision before it takes effect. {@link
 * dev.berth.cluster.membership.Membership} contains the rules, without thread, clock or socket; the
 * control links drive it.
 */
@NullMarked
package dev.berth.cluster.membership;

import org.jspecify.annotations.NullMarked;
