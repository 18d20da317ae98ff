package dev.berth.cluster.membership;

import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Compares the controller's state with the newest state that nodes have seen. A controller with an
 * older state stands by permanently. A node of another cluster id is refused individually. Confined
 * to the membership's thread.
 */
final class StateGuard {
  private final Supplier<ClusterEpoch> authority;
  private final Predicate<ClusterEpoch> includes;
  private @Nullable String standsBy; // reason; null while the controller commands
  private String strangers = ""; // refusal of the last node of another cluster id
  private long strangerNanos = Membership.COME_NANOS; // time since its HELLO

  StateGuard(Supplier<ClusterEpoch> authority, Predicate<ClusterEpoch> includes) {
    this.authority = authority;
    this.includes = includes;
  }

  /** Returns the reason why a node that has seen this authority is refused; null when it is not. */
  @Nullable String refuses(@Nullable ClusterEpoch seen) {
    ClusterEpoch own = authority.get();
    String behind = seen == null ? null : own.behind(seen);
    if (seen != null && !seen.clusterId().equals(own.clusterId())) {
      strangers = String.valueOf(behind);
      strangerNanos = 0;
      return behind;
    }
    if (seen != null
        && behind == null
        && seen.generation() == own.generation()
        && !includes.test(seen)) {
      behind = own.without(seen);
    }
    if (behind != null) {
      standBy(behind);
    }
    return standsBy == null ? null : "controller: " + standsBy;
  }

  /** Stops commanding. Returns whether the controller commanded until now. */
  boolean standBy(String reason) {
    boolean first = standsBy == null;
    standsBy = first ? reason : standsBy;
    return first;
  }

  @Nullable String standsBy() {
    return standsBy;
  }

  void pass(long nanos) {
    strangerNanos += nanos;
  }

  /**
   * Returns the reason why nodes of another cluster id are refused; null when none has connected
   * within {@link Membership#COME_NANOS}.
   */
  @Nullable String strangers() {
    return strangerNanos < Membership.COME_NANOS ? strangers : null;
  }

  /**
   * Returns the reason as {@link Membership#onLinkClosed}.
   *
   * @param alone whether the cluster has no other node
   */
  @Nullable String closedReason(boolean alone) {
    if (standsBy != null) {
      return "the controller stands by: " + standsBy;
    }
    return alone && strangers() != null
        ? "nodes of another cluster connect: %s; start this one with its own state_dir, or with --adopt"
            .formatted(strangers())
        : null;
  }
}
