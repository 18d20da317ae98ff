package dev.berth.api;

import io.vertx.core.eventbus.EventBus;
import java.util.Map;

/** The runtime's view of one replica, passed to the factory of its handler. */
public interface ReplicaContext {

  /** Returns the deployment of this replica. */
  DeploymentId deployment();

  /**
   * Returns the replica's id, unique among all replicas ever started: {@code
   * application#deployment#suffix}.
   */
  String replicaId();

  /** Returns the deployment's {@code user_config}; empty when not set. */
  Map<String, Object> userConfig();

  /** Returns the number of slots of this replica at its start: {@code max_ongoing_requests}. */
  int maxOngoingRequests();

  /**
   * Returns a handle to a deployment of the same application, for calls from this replica's context
   * outside any request. For calls on behalf of a request, use {@link RequestContext#handle}.
   *
   * @throws IllegalArgumentException when the application has no such deployment
   */
  DeploymentHandle handle(String deployment);

  /**
   * Returns the event bus of Vert.x, which reaches other nodes with {@code
   * berth.cluster.event_bus}. Its consumers run on the event loop of this replica, also those that
   * a hook creates. Berth removes remaining consumers, codecs and interceptors when it closes the
   * build.
   *
   * @throws UnsupportedOperationException in the test kit, which has no event loops
   */
  default EventBus eventBus() {
    throw new UnsupportedOperationException("event bus: none (expected: an instance)");
  }

  /** Returns the meters of user code, labelled with this replica. */
  ReplicaMeters meters();
}
