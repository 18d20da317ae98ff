package dev.berth.replica;

/** Told of what happens to a replica; on any thread, and must not block. */
@FunctionalInterface
public interface ReplicaListener {
  /** Ignores everything. */
  ReplicaListener NONE = (replica, state) -> {};

  /** The replica is in a new state: settled before this call. */
  void changed(Replica replica, ReplicaState state);

  /**
   * User code failed a request, not with a kind of ours; what the caller is told hides the rest.
   */
  default void handlerFailed(Replica replica, Throwable cause) {}

  /**
   * A replica's start waits for a thread, or has one by now.
   *
   * @param reason one line, for people; said again while it waits, empty when it does no more
   */
  default void startWaits(Replica replica, String reason) {}

  /**
   * A replica gave nothing but failures of late, or answers again.
   *
   * @param suspect said again as long as requests go on failing
   * @param reason one line, for people; empty when it is no suspect
   */
  default void suspected(Replica replica, boolean suspect, String reason) {}
}
