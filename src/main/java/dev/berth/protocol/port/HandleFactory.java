package dev.berth.protocol.port;

import dev.berth.api.DeploymentHandle;
import dev.berth.api.RequestContext;

/** A handle without a request, which creates handles for requests. */
public interface HandleFactory extends DeploymentHandle {

  /** Returns a handle to the same deployment that calls on behalf of a request. */
  DeploymentHandle within(RequestContext parent);
}
