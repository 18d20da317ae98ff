package dev.berth.web;

import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaContext;
import dev.berth.api.ReplicaMeters;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBus;
import java.util.Map;
import java.util.function.Supplier;

/** The runtime's view of one replica of a {@link WebDeployment}. */
public final class WebReplica implements ReplicaContext {
  private final ReplicaContext replica;
  private final Vertx vertx;
  private final Supplier<String> uploads;

  WebReplica(ReplicaContext replica, Vertx vertx, Supplier<String> uploads) {
    this.replica = replica;
    this.vertx = vertx;
    this.uploads = uploads;
  }

  /**
   * Returns the Vert.x of the instance; in the test kit, one of the kit. Its timers and consumers
   * outlive the replica unless the application closes them. Its {@code sharedData()}, and so the
   * sessions of a {@code LocalSessionStore}, belong to the application alone.
   */
  public Vertx vertx() {
    return vertx;
  }

  /**
   * Returns a directory for uploaded files, of this replica alone, as in {@code
   * BodyHandler.create(replica.uploads())}. Created at the first call, which may block, and deleted
   * with the replica. A file that an upload creates in it is deleted when its request ends.
   */
  public String uploads() {
    return uploads.get();
  }

  @Override
  public DeploymentId deployment() {
    return replica.deployment();
  }

  @Override
  public String replicaId() {
    return replica.replicaId();
  }

  @Override
  public Map<String, Object> userConfig() {
    return replica.userConfig();
  }

  @Override
  public int maxOngoingRequests() {
    return replica.maxOngoingRequests();
  }

  @Override
  public DeploymentHandle handle(String deployment) {
    return replica.handle(deployment);
  }

  @Override
  public EventBus eventBus() {
    return replica.eventBus();
  }

  @Override
  public ReplicaMeters meters() {
    return replica.meters();
  }
}
