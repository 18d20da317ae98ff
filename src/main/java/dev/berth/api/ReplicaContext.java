package dev.berth.api;

import java.util.Map;

/** What a replica knows of itself when its handler is made. */
public interface ReplicaContext {

  /** The deployment this replica belongs to. */
  DeploymentId deployment();

  /** Unique among all replicas ever started: {@code application#deployment#suffix}. */
  String replicaId();

  /** The deployment's {@code user_config}; empty when it has none. */
  Map<String, Object> userConfig();

  /** Slots of this replica at its start: {@code max_ongoing_requests}. */
  int maxOngoingRequests();

  /**
   * A handle to a deployment of the same application, for calls from this replica's context outside
   * of any request: what a handler calls for a request goes by {@link RequestContext#handle}.
   *
   * @throws IllegalArgumentException when the application has no such deployment
   */
  DeploymentHandle handle(String deployment);

  /** Meters of user code, labelled with this replica. */
  ReplicaMeters meters();
}
