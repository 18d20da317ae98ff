package dev.berth.cluster.membership;

import dev.berth.cluster.membership.Handshake.Welcome;

/**
 * An action that the {@link Membership} requires, executed in order. Links are identified by their
 * numbers.
 */
public sealed interface MemberAction {

  /** Commits a registration, and reports the result. */
  record Register(String name, String process) implements MemberAction {}

  /** Sends WELCOME: the link is now a member's. */
  record Greet(long link, Welcome welcome, Member member) implements MemberAction {}

  /** Sends REFUSED on a link, which the node may close. */
  record Refuse(long link, String name, String reason) implements MemberAction {}

  /** Confirms the departure of a node that announced it. */
  record Farewell(long link) implements MemberAction {}

  /** Closes a link immediately. */
  record End(long link, String reason) implements MemberAction {}

  /** Checks whether a node's port refuses a connection, and reports the result. */
  record Dial(Registered who, String host, int port) implements MemberAction {}

  /** Commits the removal of a node, and reports the result. */
  record Commit(Gone gone) implements MemberAction {}

  /** An event for the controller. */
  sealed interface News extends MemberAction {}

  /** A member became suspected ({@code suspected} is true) or recovered. */
  record Suspect(Member member, boolean suspected) implements News {}

  /** A member announced its departure and receives no new work. */
  record Leaves(Member member) implements News {}

  /** A member was removed, and the removal is committed. */
  sealed interface Gone extends News {
    Registered who();
  }

  /** Removal of a member that did not announce its departure. */
  record Lost(Registered who, String reason) implements Gone {}

  /** Removal of a member after its announced departure. */
  record Left(Registered who) implements Gone {}

  /** A new list of all members, for the controller and for each node. */
  record Tell(Members members) implements News {}

  /** The controller stops commanding, because a node has seen a newer state. */
  record StandBy(String reason) implements News {}
}
