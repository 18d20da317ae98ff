package dev.berth.view;

import io.vertx.core.Future;

/**
 * Operator commands for a cluster, served by its control node. A command that is rejected changes
 * nothing and fails with {@link CommandRejectedException}. Confined to the control loop; futures
 * complete there.
 */
public interface ClusterCommands {

  /** Returns the members of the cluster and their states. */
  Future<ClusterDetails> details();

  /** Cordons a node and moves its replicas to other nodes. Completes when the drain has begun. */
  Future<Void> drain(String node);

  /** Ends the slots of silent owners of an upstream, whose requests may still run. */
  Future<Void> take(String upstream);

  /** Lets a cordoned node get replicas again. */
  Future<Void> uncordon(String node);
}
