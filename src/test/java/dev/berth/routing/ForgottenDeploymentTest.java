package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.RoutingSnapshot;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What becomes of those who ask for a deployment that is taken away. */
class ForgottenDeploymentTest {
  private final RoutingWorld world = new RoutingWorld();
  private final RoutingWorld.Replica replica = world.published(world.local("r1", 1));

  @Test
  void whoWaitsIsToldAndWhoRunsIsAnswered() {
    Future<Response> running = world.handle().call(Request.get("/"));
    Future<Response> waiting = world.settled(world.handle().call(Request.get("/")));
    world.routers.forget(RoutingWorld.DEPLOYMENT);
    world.run();

    assertThat(waiting.cause()).isInstanceOf(BerthException.DeploymentUnavailable.class);
    replica.finish();
    assertThat(running.succeeded()).isTrue();
    world.assertAtRest(replica);
    assertThat(world.routers.find(RoutingWorld.DEPLOYMENT)).isNull();
  }

  @Test
  void aHandleThatWasMadeBeforeIsToldAtOnceAndNoSnapshotBringsItBack() {
    DeploymentHandle handle = world.handle();
    DeploymentRouter router = world.router;
    world.routers.forget(RoutingWorld.DEPLOYMENT);
    router.update(
        new RoutingSnapshot(
            RoutingWorld.DEPLOYMENT,
            new RoutingSnapshot.SnapshotVersion(9, 9),
            true,
            List.of(new RoutingSnapshot.SnapshotReplica(replica.info, true))));
    Future<Response> call = world.settled(handle.call(Request.get("/")));

    assertThat(call.cause()).isInstanceOf(BerthException.DeploymentUnavailable.class);
    assertThat(replica.executions).isZero();
  }

  @Test
  void aDeploymentOfItsNameThatIsMadeLaterHasARouterOfItsOwn() {
    world.routers.forget(RoutingWorld.DEPLOYMENT);
    DeploymentHandle handle = world.handle();
    world.publish();
    Future<Response> call = world.settled(handle.call(Request.get("/")));
    replica.finish();

    assertThat(call.succeeded()).isTrue();
    assertThat(world.routers.find(RoutingWorld.DEPLOYMENT)).isNotSameAs(world.router);
  }

  @Test
  void whoWatchesHearsOfRoutersThatAreThereAreMadeAndGo() {
    List<String> heard = new ArrayList<>();
    world.routers.watch(
        made -> heard.add("made " + made.name()), gone -> heard.add("gone " + gone.name()));
    world.routers.forget(RoutingWorld.DEPLOYMENT);
    world.routers.forget(RoutingWorld.DEPLOYMENT);
    world.handle();
    world.handle();

    String name = RoutingWorld.DEPLOYMENT.name();
    assertThat(heard).containsExactly("made " + name, "gone " + name, "made " + name);
  }
}
