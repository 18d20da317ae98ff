package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.controller.BuiltApplication;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerPorts;
import dev.berth.controller.DeclaredApplication;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import dev.berth.controller.Epoch;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.junit5.VertxExtension;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** A controller that ends, and the one that follows it. */
@Timeout(20)
@ExtendWith(VertxExtension.class)
class ControlPlaneTest {
  private static final DeclaredApplication APP = DeclaredApplication.of("a", 1, "/a", "{}", 0);

  private Vertx vertx;
  private final LoopVerticle loop = new LoopVerticle("control loop");
  private final BlockingQueue<ControllerAction> actions = new LinkedBlockingQueue<>();
  private @Nullable ControlPlane plane;

  @BeforeEach
  void start(Vertx made) {
    vertx = made;
    vertx.eventBus().registerDefaultCodec(BusMessage.class, new BusMessageCodec());
    vertx.deployVerticle(loop).await();
  }

  /** The first controller cannot name replicas, so it fails with the first. */
  private Controller controller(Epoch epoch) {
    return new Controller(
        new ControllerPorts(
            epoch,
            deployment -> {
              if (epoch.term() == 1) {
                throw new IllegalStateException("for the test");
              }
              return deployment + "#" + epoch.term();
            },
            replica -> -1,
            () -> 0,
            () -> 0,
            Controller.SHORTEST_SILENCE_NANOS,
            settings -> Map.of()));
  }

  private ControlPlane plane() {
    ControlPlane made =
        new ControlPlane(
            loop,
            term -> new Epoch(3, term, "n"),
            System::nanoTime,
            this::controller,
            told -> {
              told.accept(new ControllerEvent.Declared(APP));
              told.accept(new ControllerEvent.Inventory("n", List.of(), List.of()));
            },
            () -> Future.failedFuture("its term cannot be kept"),
            actions::add,
            new RoutingLink((to, message) -> {}, () -> List.of("n"), deployment -> true));
    plane = made;
    return made;
  }

  private Build nextBuild() throws InterruptedException {
    for (; ; ) {
      ControllerAction action = actions.poll(10, TimeUnit.SECONDS);
      assertThat(action).as("no build was asked for").isNotNull();
      if (action instanceof Build build) {
        return build;
      }
    }
  }

  private <T> T onLoop(Supplier<T> call) throws Exception {
    CompletableFuture<T> done = new CompletableFuture<>();
    loop.execute(() -> done.complete(call.get()));
    return done.get(10, TimeUnit.SECONDS);
  }

  @Test
  void oneThatFailsIsFollowedByOneOfALaterTermThatKnowsWhatIsWanted() throws Exception {
    ControlPlane made = plane();
    onLoop(() -> made.start(1)).await();
    assertThat(nextBuild().epoch()).isEqualTo(new Epoch(3, 1, "n"));
    DeploymentId id = new DeploymentId("a", "d");
    DeploymentTarget target =
        new DeploymentTarget(id, "b", new DeploymentVersion("c", "l"), DeploymentConfig.of("d"));

    made.tell(new ControllerEvent.Built("a", 1, new BuiltApplication("b", "d", List.of(target))));

    assertThat(nextBuild()).isEqualTo(new Build(new Epoch(3, 2, "n"), "a", 1));
    assertThat(made.restarts()).isEqualTo(1);
  }

  @Test
  void aRestartTakesALaterTermThanAnyBefore() throws Exception {
    ControlPlane made = plane();
    onLoop(() -> made.start(7)).await();
    nextBuild();

    onLoop(() -> made.restart(3)).await(); // whoever keeps the terms has lost one

    assertThat(nextBuild().epoch()).isEqualTo(new Epoch(3, 8, "n"));
  }

  @Test
  void anInstanceThatDrainsKeepsItsController() throws Exception {
    ControlPlane made = plane();
    onLoop(() -> made.start(2)).await();
    onLoop(
        () -> {
          made.drains();
          return true;
        });

    assertThat(onLoop(() -> made.restart(3)).failed()).isTrue();
  }
}
