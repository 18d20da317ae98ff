package dev.berth.replica;

/** Listener of events of a replica. Called on any thread; must not block. */
@FunctionalInterface
public interface ReplicaListener {
  /** Ignores everything. */
  ReplicaListener NONE = (replica, state) -> {};

  /** Called after the replica entered a new state. */
  void onStateChanged(Replica replica, ReplicaState state);

  /**
   * Called when user code failed a request by an exception that is not a {@code BerthException}.
   * The caller's error hides the cause.
   */
  default void onHandlerFailed(Replica replica, Throwable cause) {}

  /**
   * Called when a replica's start waits for a thread, and when it has one, and when the handler of
   * an upstream closes or opens the replica.
   *
   * @param reason one line for operators, repeated while the start waits; empty afterwards
   */
  default void onWaiting(Replica replica, String reason) {}

  /**
   * Called when a replica's recent requests all failed, and when one succeeds again.
   *
   * @param suspect true while requests fail, for which the call is repeated
   * @param reason one line for operators; empty when not suspected
   */
  default void onSuspected(Replica replica, boolean suspect, String reason) {}
}
