package dev.berth.api;

/** What one replica came to in a {@link DeploymentHandle#broadcast}. */
public sealed interface BroadcastAnswer {

  /** The replica asked. */
  String replicaId();

  /**
   * It answered.
   *
   * @param response as of {@link DeploymentHandle#call}: a body that streams is read to its end or
   *     cancelled by whoever asked
   */
  record Answered(String replicaId, Response response) implements BroadcastAnswer {}

  /**
   * It did not answer.
   *
   * @param failure why; its kind says whether the request may have run there
   */
  record Failed(String replicaId, BerthException failure) implements BroadcastAnswer {}
}
