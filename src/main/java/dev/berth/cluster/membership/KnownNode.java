package dev.berth.cluster.membership;

import dev.berth.cluster.membership.Member.State;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What the controller knows of one registered process. */
final class KnownNode {
  /** Instead of the number of a link. */
  static final long NO_LINK = 0;

  final Registered who;
  @Nullable NodeInfo info; // null until it says HELLO here
  long link = NO_LINK;
  boolean leaving;
  boolean suspected;
  boolean isDialled; // and has not answered
  boolean told; // what it runs, on its link, and that was not refused
  Set<String> unreachable = Set.of(); // names of nodes, as it says
  long pausedMillis; // the last time that it stood still, as it says

  private boolean heard; // since the last sweep
  long silentNanos;
  long untoldNanos; // in which it has not told what it runs, over however many links

  /** How it ends, once that is decided: from then on it is committed until it is so. */
  MemberAction.@Nullable Gone ending;

  boolean isCommitted; // asked for, and not answered

  KnownNode(Registered who) {
    this.who = who;
  }

  void hear() {
    heard = true;
    silentNanos = 0;
  }

  /** As after {@link #hear} when something came since the last one: silence begins after it. */
  void sweep(long nanos) {
    silentNanos = heard ? 0 : silentNanos + nanos;
    untoldNanos += told || info == null ? 0 : nanos;
    heard = false;
  }

  boolean hasLink() {
    return link != NO_LINK;
  }

  /** Of one that came. */
  Member member(boolean cordoned) {
    State calm = leaving ? State.LEAVING : cordoned ? State.CORDONED : State.ALIVE;
    return new Member(
        Objects.requireNonNull(info), who.number(), suspected ? State.SUSPECTED : calm);
  }
}
