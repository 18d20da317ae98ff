package dev.berth.protocol.port;

import dev.berth.api.DeploymentHandle;
import dev.berth.api.RequestContext;

/** A handle of no request, and the maker of those that are of one. */
public interface BareHandle extends DeploymentHandle {

  /** The same deployment, called on behalf of a request. */
  DeploymentHandle within(RequestContext parent);
}
