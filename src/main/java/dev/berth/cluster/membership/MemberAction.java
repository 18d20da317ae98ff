package dev.berth.cluster.membership;

import dev.berth.cluster.membership.Handshake.Welcome;

/**
 * An action that the {@link Membership} requires, executed in order. Links are identified by their
 * numbers.
 */
public sealed interface MemberAction {

  /** Commits a registration, and reports the result. */
  record RegisterNode(String name, String process) implements MemberAction {}

  /** Sends WELCOME: the link is now a member's. */
  record SendWelcome(long link, Welcome welcome, Member member) implements MemberAction {}

  /** Sends REFUSED on a link, which the node may close. */
  record RefuseHello(long link, String name, String reason) implements MemberAction {}

  /** Confirms the departure of a node that announced it. */
  record ConfirmLeave(long link) implements MemberAction {}

  /** Closes a link immediately. */
  record EndLink(long link, String reason) implements MemberAction {}

  /** Checks whether a node's port refuses a connection, and reports the result. */
  record ProbePort(NodeRegistration who, String host, int port) implements MemberAction {}

  /** Commits the removal of a node, and reports the result. */
  record CommitRemoval(NodeRemoved gone) implements MemberAction {}

  /** An event for the controller. */
  sealed interface MembershipEvent extends MemberAction {}

  /** A member became suspected ({@code suspected} is true) or recovered. */
  record SuspicionChanged(Member member, boolean suspected) implements MembershipEvent {}

  /** A member announced its departure and receives no new work. */
  record MemberLeaving(Member member) implements MembershipEvent {}

  /** A member was removed, and the removal is committed. */
  sealed interface NodeRemoved extends MembershipEvent {
    NodeRegistration who();
  }

  /** Removal of a member that did not announce its departure. */
  record RemovedAsLost(NodeRegistration who, String reason) implements NodeRemoved {}

  /** Removal of a member after its announced departure. */
  record RemovedAsLeft(NodeRegistration who) implements NodeRemoved {}

  /** A new list of all members, for the controller and for each node. */
  record PublishMembers(MemberList members) implements MembershipEvent {}

  /** The controller stops commanding, because a node has seen a newer state. */
  record StandBy(String reason) implements MembershipEvent {}
}
