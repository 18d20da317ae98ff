package dev.berth.routing;

import dev.berth.api.DeploymentHandle;
import dev.berth.api.Response;
import io.vertx.core.Future;

/** A call as the API shows it. */
record StartedCall(RoutedCall call, Future<Response> response) implements DeploymentHandle.Call {
  @Override
  public void cancel() {
    call.cancel();
  }
}
