package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.RequestOrigin;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.ranking.KeyHash;
import org.jspecify.annotations.Nullable;

/**
 * The caller's side of a call: supplies the parameters and receives the one result, on the call's
 * loop. An interface rather than a record or a future, so that the ingress allocates no object for
 * it: its exchange implements the interface.
 */
public interface CallObserver {

  // --- parameters, read when the call is created ---

  /** Returns the request's id, or "" to have one generated. */
  String requestId();

  /** Returns the handler's method to call, or "" for the handler itself. */
  default String methodName() {
    return "";
  }

  /** Returns the session id of the request, or "". */
  default String sessionId() {
    return "";
  }

  /**
   * Returns the affinity key, equal for requests that should reach the same replica (see {@link
   * ReplicaRanker.Asker#key}). A ranker that uses keys reads the key for each decision, on any
   * thread while the request waits.
   */
  default long routingKey() {
    return KeyHash.of(sessionId());
  }

  /**
   * Returns the name of the limit of its replica that the call counts for, such as a tool; empty
   * for none. Read on any thread.
   */
  default String limit() {
    return "";
  }

  /** Returns the number of slots that the request takes, 1 to 65 535. Read on any thread. */
  default int cost() {
    return 1;
  }

  /** Returns the arrival time of the request, on the loop's clock. */
  long arrivedNanos();

  /** Returns the deadline of the call on the loop's clock, or {@link Long#MAX_VALUE} for none. */
  long deadlineNanos();

  /** Returns the request whose handler makes this call and receives the result; null if none. */
  default @Nullable RequestContext parent() {
    return null;
  }

  /** Returns the origin of the HTTP request that causes the call; null for none. */
  default @Nullable RequestOrigin origin() {
    return RequestOrigin.of(parent());
  }

  /** Returns the recorder of an explained request; null if it is not explained. Called once. */
  default @Nullable RequestRecorder explaining() {
    return null;
  }

  /**
   * Returns whether the call takes a slot only if another slot stays free, and never waits for one.
   */
  default boolean isSpare() {
    return false;
  }

  /** Returns whether the call continues after a replica refused it; otherwise it is cancelled. */
  default boolean isWanted() {
    return true;
  }

  // --- results ---

  /**
   * Notifies that a replica has the request, or will be sent it with an acquired slot: the wait has
   * ended. Called at most once, before the response or failure; never called without a slot. If
   * that replica is removed before the request arrives, the request goes to another, and only the
   * response names that one.
   */
  default void onRouted(String replicaId) {}

  /** Delivers the headers of a 103 response, before the response. */
  default void onInformational(Headers hints) {}

  /**
   * Delivers the response, or its head if the body is {@link Response.Body.Received}: that stream
   * then ends or fails on its own.
   *
   * @param replicaId id of the replica that ran the request
   */
  void onResponse(Response response, String replicaId);

  /** Delivers the failure; no response follows. */
  void onFailure(BerthException failure);
}
