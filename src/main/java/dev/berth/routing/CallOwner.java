package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.ranking.KeyHash;
import org.jspecify.annotations.Nullable;

/**
 * Who makes a call: what it is for, and who gets its one answer, on the call's loop. An interface,
 * and neither a record nor a future, so that the ingress makes no object for it: its exchange is
 * one.
 */
public interface CallOwner {

  // --- asked as the call is made ---

  /** The request's id, or "" to be given one. */
  String requestId();

  /** One of the handler's methods, or "" for the handler itself. */
  default String methodName() {
    return "";
  }

  /** Who the request is for, or "". */
  default String sessionId() {
    return "";
  }

  /**
   * Equal for requests that should meet the same replica, as {@link ReplicaRanker.Asker#key} says;
   * asked for each decision of a ranker that wants to know, by any thread while the request waits.
   */
  default long routingKey() {
    return KeyHash.of(sessionId());
  }

  /** When the request arrived, on the loop's clock. */
  long arrivedNanos();

  /** By when it must be over, on the loop's clock, or {@link Long#MAX_VALUE} for no deadline. */
  long deadlineNanos();

  /** The request of whose handling it is part, and whose handler is told of it. */
  default @Nullable RequestContext parent() {
    return null;
  }

  /** Writes down what befalls the request, when it is explained; asked once. */
  default @Nullable RequestRecorder explaining() {
    return null;
  }

  /** Whether it only takes a slot beside another that stays free, and never waits for one. */
  default boolean isSpare() {
    return false;
  }

  // --- told ---

  /**
   * A replica has the request, or is sent it with a slot that is its own: its wait is over. Told
   * once, or never when it never got one; then one of the others follows. Should that replica be
   * gone when the request comes there, it goes to another, and only its answer says to which.
   */
  default void onRouted(String replicaId) {}

  /**
   * The response, or its head when the body is {@link Response.Body.Received}: that stream then
   * ends or fails on its own.
   *
   * @param replicaId who ran it
   */
  void onResponse(Response response, String replicaId);

  /** No response will come. */
  void onFailure(BerthException failure);
}
