package dev.berth.ingress.split;

import dev.berth.api.Request;
import dev.berth.metrics.ShadowMeters;
import dev.berth.metrics.ShadowMeters.Event;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.traffic.Shadow;

/** Where copies of a route's requests go, and where one loop counts them. */
public record ShadowTarget(Shadow shadow, DeploymentRouter to, ShadowMeters meters) {

  /** What becomes of a request that is to be copied, as of now. */
  Event becomes(Request request) {
    if (!(request.body() instanceof Request.Body.Whole whole)
        || whole.bytes().length() > shadow.maxBodyBytes()) {
      return Event.SKIPPED_BODY;
    }
    return to.hasFree(2) ? Event.COPIED : Event.SKIPPED_BUSY;
  }
}
