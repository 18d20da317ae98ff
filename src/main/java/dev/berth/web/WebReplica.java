package dev.berth.web;

import dev.berth.api.ReplicaContext;
import io.vertx.core.Vertx;

/** The runtime's view of one replica of a {@link WebDeployment}. */
public interface WebReplica extends ReplicaContext {
  /**
   * Returns the Vert.x of the instance; in the test kit, one of the kit. Its timers and consumers
   * outlive the replica unless the application closes them.
   */
  Vertx vertx();

  /**
   * Returns a directory for uploaded files, of this replica alone, as in {@code
   * BodyHandler.create(replica.uploads())}. Created at the first call and deleted with the replica.
   * A file that an upload creates in it is deleted when its request ends.
   */
  String uploads();
}
