package dev.berth.api;

/** The outcome of one replica in a {@link DeploymentHandle#broadcast}. */
public sealed interface BroadcastAnswer {

  /** Returns the id of the replica. */
  String replicaId();

  /**
   * A response of the replica.
   *
   * @param response as of {@link DeploymentHandle#call}: the caller must read a streamed body to
   *     its end or cancel it
   */
  record Answered(String replicaId, Response response) implements BroadcastAnswer {}

  /**
   * A failure of the call to the replica.
   *
   * @param failure the cause; its kind shows whether the request may have run there
   */
  record Failed(String replicaId, BerthException failure) implements BroadcastAnswer {}
}
