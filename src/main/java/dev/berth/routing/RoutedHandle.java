package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.CallOptions;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;

/** A handle of user code on one loop; calls from elsewhere hop there. */
final class RoutedHandle implements DeploymentHandle {
  private final DeploymentRouter router;
  private final RouterLoop loop;
  private final CallOptions options;

  RoutedHandle(DeploymentRouter router, RouterLoop loop) {
    this(router, loop, CallOptions.defaults());
  }

  private RoutedHandle(DeploymentRouter router, RouterLoop loop, CallOptions options) {
    this.router = router;
    this.loop = loop;
    this.options = options;
  }

  @Override
  public DeploymentId deployment() {
    return router.deployment();
  }

  @Override
  public DeploymentHandle options(CallOptions newOptions) {
    return new RoutedHandle(router, loop, newOptions);
  }

  @Override
  public Call start(Request request) {
    Promise<Response> response = Promise.promise();
    RoutedCall call =
        new RoutedCall(
            router,
            loop,
            request,
            requestId(),
            options.methodName().orElse(""),
            options.sessionId().orElse(""),
            loop.now(),
            deadline(),
            completing(loop, response),
            null);
    router.counters.calls.increment();
    loop.run(call::begin);
    return RoutedCall.asCall(call, response.future());
  }

  @Override
  public Future<ReplicaSelection> choose() {
    Promise<ReplicaSelection> chosen = Promise.promise();
    loop.run(
        () ->
            router.choose(
                loop,
                deadline(),
                options
                    .reservationTtl()
                    .map(java.time.Duration::toNanos)
                    .orElse(router.settings().reservationTtlNanos()),
                requestId(),
                new SelectionObserver() {
                  @Override
                  public void onSelection(ReplicaSelection selection) {
                    chosen.complete(selection);
                  }

                  @Override
                  public void onFailure(BerthException failure) {
                    loop.ports.executor().execute(() -> chosen.fail(failure));
                  }
                }));
    return chosen.future();
  }

  private String requestId() {
    return options.requestId().orElse("");
  }

  private long deadline() {
    return options
        .timeout()
        .map(timeout -> loop.now() + timeout.toNanos())
        .orElse(SlotRequest.NO_DEADLINE);
  }

  /**
   * Completes a promise of user code. A response arrives in a task of its own already; a failure
   * may come from within a call of the user's, so it is given one.
   */
  static CallObserver completing(RouterLoop loop, Promise<Response> response) {
    return new CallObserver() {
      @Override
      public void onResponse(Response received, String replicaId) {
        response.complete(received);
      }

      @Override
      public void onFailure(BerthException failure) {
        loop.ports.executor().execute(() -> response.fail(failure));
      }
    };
  }
}
