package dev.berth.cluster.membership;

import dev.berth.cluster.membership.Handshake.Welcome;

/** What the {@link Membership} wants done, in its order. Links are named by their numbers. */
public sealed interface MemberAction {

  /** Commit it, and tell what came of it. */
  record Register(String name, String process) implements MemberAction {}

  /** The link is a member's from now on. */
  record Greet(long link, Welcome welcome, Member member) implements MemberAction {}

  /** The link is to be told; whoever is there may close it. */
  record Refuse(long link, String name, String reason) implements MemberAction {}

  /** A node that said goodbye is to be told that it may go. */
  record Farewell(long link) implements MemberAction {}

  /** The link is to end at once. */
  record End(long link, String reason) implements MemberAction {}

  /** See whether a node's port refuses a connection, and tell it. */
  record Dial(Registered who, String host, int port) implements MemberAction {}

  /** Commit that a node is none any more, and tell what came of it. */
  record Commit(Gone gone) implements MemberAction {}

  /** What the controller is to know. */
  sealed interface News extends MemberAction {}

  /** It is silent, or it is so no more. */
  record Suspect(Member member, boolean suspected) implements News {}

  /** It said goodbye: it is to get nothing new. */
  record Leaves(Member member) implements News {}

  /** It is none any more, which was committed. */
  sealed interface Gone extends News {
    Registered who();
  }

  /** Without a word. */
  record Lost(Registered who, String reason) implements Gone {}

  /** It said goodbye. */
  record Left(Registered who) implements Gone {}

  /** All nodes, as each of them is to know them too. */
  record Tell(Members members) implements News {}

  /** The controller commands nobody from now on: a node knows a newer state. */
  record StandBy(String reason) implements News {}
}
