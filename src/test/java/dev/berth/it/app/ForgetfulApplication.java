package dev.berth.it.app;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;

/** Chooses a replica, answers with its name, and neither dispatches nor closes the selection. */
public final class ForgetfulApplication {
  private ForgetfulApplication() {}

  /** Builds it: {@code forgetful} in front of {@code chosen}, which has five slots. */
  public static Application build() {
    return Application.of(
        Deployment.of(
            "forgetful",
            replica -> {
              DeploymentHandle chosen =
                  replica.handle("chosen").withReservationTtl(Duration.ofMillis(500));
              return (AsyncHandler)
                  (request, context) ->
                      chosen.choose().map(selection -> Response.text(selection.replicaId()));
            }),
        Deployment.async(
            "chosen", (request, context) -> Future.succeededFuture(Response.text("chosen"))));
  }
}
