package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.Response;

/**
 * Who gets the one answer of a call. Called once, on the call's loop; an interface and not a future
 * because the ingress makes one object per request and no more.
 */
public interface CallObserver {

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
