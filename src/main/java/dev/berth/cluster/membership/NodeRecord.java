package dev.berth.cluster.membership;

import dev.berth.cluster.membership.Member.MemberState;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The controller's record of one registered process. */
final class NodeRecord {
  /** Number that stands for the absence of a link. */
  static final long NO_LINK = 0;

  final NodeRegistration who;
  @Nullable NodeInfo info; // null until its HELLO
  long link = NO_LINK;
  boolean leaving;
  boolean suspected;
  boolean isDialled; // a dial is in flight
  boolean told; // inventory received on its link, and not rejected
  Set<String> unreachable = Set.of(); // node names, as last reported by the node
  long pausedMillis; // its last pause, as reported by the node

  private boolean heard; // since the last sweep
  long silentNanos;
  long untoldNanos; // time without an inventory, over all links

  /** The decided removal, proposed until it is committed. */
  MemberAction.@Nullable NodeRemoved ending;

  boolean isCommitted; // a proposal is in flight

  NodeRecord(NodeRegistration who) {
    this.who = who;
  }

  void recordContact() {
    heard = true;
    silentNanos = 0;
  }

  /**
   * Adds the time of a sweep to the silence, or restarts the silence if a message arrived since the
   * last sweep.
   */
  void sweep(long nanos) {
    silentNanos = heard ? 0 : silentNanos + nanos;
    untoldNanos += told || info == null ? 0 : nanos;
    heard = false;
  }

  boolean hasLink() {
    return link != NO_LINK;
  }

  /** Returns the member. Requires that the node has sent HELLO. */
  Member member(boolean cordoned) {
    MemberState calm =
        leaving ? MemberState.LEAVING : cordoned ? MemberState.CORDONED : MemberState.ALIVE;
    return new Member(
        Objects.requireNonNull(info), who.number(), suspected ? MemberState.SUSPECTED : calm);
  }
}
