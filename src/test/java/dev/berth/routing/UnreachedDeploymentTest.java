package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import io.vertx.core.Future;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Requests for a deployment without a reachable replica, on a node without a controller. */
class UnreachedDeploymentTest {
  private static final Duration SOON = Duration.ofMillis(4_400);
  private static final Duration LOOK = Duration.ofMillis(1_200); // of two rounds over the routers

  private final RoutingWorld world = new RoutingWorld();
  private final RoutingWorld.Replica far = world.published(world.remote("far", 1).filled());

  private Future<Response> call() {
    return world.settled(world.handle().call(Request.get("/")));
  }

  private void lost() {
    world.run(() -> world.routers.controlled(false));
    world.run(() -> world.routers.suspected("there", true));
  }

  private static void refused(Future<Response> call) {
    assertThat(call.cause())
        .isInstanceOf(BerthException.DeploymentUnavailable.class)
        .hasMessageContaining("no controller");
  }

  @Test
  void requestsFailAfterTheTimeoutAndAtOnceFromThenOn() {
    lost();
    Future<Response> first = call();
    world.pass(SOON);
    assertThat(first.isComplete()).isFalse();
    world.pass(LOOK);
    refused(first);
    refused(call());
    assertThat(world.router.queued()).isZero();
    assertThat(world.routers.bounds.queued()).isZero();
  }

  @Test
  void controllerEndsItAtOnce() {
    lost();
    world.pass(SOON.plus(LOOK));
    refused(call());
    world.run(() -> world.routers.controlled(true));
    Future<Response> next = call();
    world.pass(SOON.plus(LOOK));
    assertThat(next.isComplete()).as("the controller may replace it").isFalse();
  }

  @Test
  void replicaThatIsReachedAgainEndsIt() {
    lost();
    world.pass(SOON.plus(LOOK));
    refused(call());
    world.run(() -> world.routers.suspected("there", false));
    world.pass(LOOK);
    assertThat(call().isComplete()).isFalse();
  }

  @Test
  void shortLossOfTheControllerCountsFromItsLastEnd() {
    lost();
    Future<Response> first = call();
    world.pass(SOON);
    world.run(() -> world.routers.controlled(true));
    world.run(() -> world.routers.controlled(false));
    world.pass(SOON);
    assertThat(first.isComplete()).isFalse();
  }

  @Test
  void requestsWaitWhereOneReplicaIsReached() {
    world.published(world.local("near", 1).filled());
    lost();
    Future<Response> first = call();
    world.pass(Duration.ofSeconds(20));
    assertThat(first.isComplete()).isFalse();
  }

  @Test
  void requestsWaitWithAController() {
    world.run(() -> world.routers.suspected("there", true));
    Future<Response> first = call();
    world.pass(Duration.ofSeconds(20));
    assertThat(first.isComplete()).isFalse();
  }

  /** The controller may be back in time to scale it up. */
  @Test
  void requestsForADeploymentScaledToZeroWait() {
    world.router.configure(RoutingProbe.autoscaling(world.router.settings()));
    world.withdraw(far);
    lost();
    Future<Response> first = call();
    world.pass(Duration.ofSeconds(20));
    assertThat(first.isComplete()).isFalse();
  }

  @Test
  void autoscaledDeploymentWhoseReplicaIsLostFails() {
    world.router.configure(RoutingProbe.autoscaling(world.router.settings()));
    lost();
    world.run(() -> world.routers.nodeLost("there"));
    world.run(() -> world.routers.controlled(false));
    Future<Response> first = call();
    world.pass(SOON.plus(LOOK));
    refused(first);
  }

  @Test
  void snapshotsOfBeforeKeepTheirAvailability() {
    lost();
    world.pass(SOON.plus(LOOK));
    world.publish(false);
    world.run(() -> world.routers.controlled(true));
    assertThat(call().cause())
        .isInstanceOf(BerthException.DeploymentUnavailable.class)
        .hasMessageContaining("failed to deploy");
  }
}
