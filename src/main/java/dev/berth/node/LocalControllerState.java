package dev.berth.node;

import dev.berth.admin.live.LiveState;
import dev.berth.api.DeploymentId;
import dev.berth.controller.Controller;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ClusterDetails;
import dev.berth.view.ServeDetails;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** State of the controller on this instance at a time, for the live feed. */
record LocalControllerState(LocalController role, Controller controller, long nowNanos)
    implements LiveState.ControllerState {

  @Override
  public ServeDetails applications() {
    return controller.overview(nowNanos);
  }

  @Override
  public @Nullable ApplicationDetails application(String name) {
    return controller.details(name, nowNanos);
  }

  @Override
  public @Nullable Supplier<JsonObject> decisions(DeploymentId deployment) {
    return role.autoscaling(deployment);
  }

  @Override
  public Future<@Nullable ClusterDetails> cluster() {
    return role.clusterDetails();
  }
}
