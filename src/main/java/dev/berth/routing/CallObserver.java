package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.Response;
import org.jspecify.annotations.Nullable;

/**
 * Who gets the one answer of a call. Called once with it, on the call's loop; an interface and not
 * a future because the ingress makes one object per request and no more.
 */
public interface CallObserver {

  /** Writes down what befalls the request, when it is explained; asked once, as it begins. */
  default @Nullable RequestRecorder explaining() {
    return null;
  }

  /**
   * A replica has the request, or surely gets it: its wait is over. Not called when it never got
   * one. Then one of the others follows.
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
