package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests of a deployment that autoscales and has no replica: they wait, and that is told. */
class WantedReplicaTest {
  private final RoutingWorld world = new RoutingWorld();
  private final List<Integer> queuedWhenTold = new ArrayList<>();

  @BeforeEach
  void autoscale() {
    world.router.configure(RoutingProbe.autoscaling(world.router.settings()));
    world.router.whenWanted(() -> queuedWhenTold.add(world.router.queued()));
  }

  private Future<Response> call() {
    return world.settled(world.handle().call(Request.get("/")));
  }

  @Test
  void aRequestThatFindsNoReplicaIsToldWhenItWaits() {
    world.publish();
    Future<Response> first = call();
    call();
    assertThat(queuedWhenTold).containsExactly(1, 2);
    assertThat(first.isComplete()).isFalse();
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    world.run();
    replica.finish();
    assertThat(first.succeeded()).isTrue();
  }

  @Test
  void oneThatOnlyDrainsIsNone() {
    world.withdraw(world.published(world.local("r1", 1)));
    call();
    assertThat(queuedWhenTold).hasSize(1);
  }

  @Test
  void aFullReplicaIsWhatTheNextReportIsFor() {
    world.published(world.local("r1", 1).filled());
    call();
    assertThat(queuedWhenTold).isEmpty();
  }

  @Test
  void aDeploymentThatDoesNotAutoscaleWaitsForItsOperator() {
    world.router.configure(RoutingProbe.DEFAULTS);
    world.publish();
    assertThat(call().isComplete()).isFalse();
    assertThat(queuedWhenTold).isEmpty();
  }
}
