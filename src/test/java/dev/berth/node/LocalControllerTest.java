package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.ServeConfig;
import dev.berth.controller.BuiltApplication;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerPorts;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import dev.berth.controller.Epoch;
import dev.berth.desired.JournalLog;
import dev.berth.desired.ServeControl;
import dev.berth.desired.TimeOfDay;
import dev.berth.metrics.Meters;
import dev.berth.node.loops.EventLoops;
import dev.berth.node.loops.Identity;
import dev.berth.node.loops.InstanceThreads;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.wire.BusMessageCodec;
import dev.berth.view.LogFeed;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.junit5.VertxExtension;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** A controller that ends, and the one that follows it. */
@Timeout(20)
@ExtendWith(VertxExtension.class)
class LocalControllerTest {
  private static final String FILE =
      "{http_options: {port: 0}, berth: {admin: {port: 0}},"
          + " applications: [{name: a, route_prefix: /a, import_path: none.None}]}";

  private final LoopVerticle loop = new LoopVerticle("control loop");
  private final BlockingQueue<Command> commands = new LinkedBlockingQueue<>();

  @AutoClose("stop")
  private final InstanceThreads threads = new InstanceThreads(System::nanoTime);

  private Meters meters;
  private NodeRole role;

  @BeforeEach
  void wire(Vertx vertx) throws Exception {
    vertx.eventBus().registerDefaultCodec(BusMessage.class, new BusMessageCodec());
    LoopVerticle serving = new LoopVerticle("loop 0");
    vertx.deployVerticle(loop).await();
    vertx.deployVerticle(serving).await();
    ServeConfig file = TestNode.read(FILE);
    Identity identity = Identity.create(null);
    ServeControl serve =
        new ServeControl(
            file,
            file.folder(),
            new JournalLog(file.settings()),
            threads.commands(),
            loop,
            TimeOfDay.of(identity.wallClock()::millis, identity.nanoClock()));
    serve.open(List::of);
    meters = new Meters(identity.node(), "127.0.0.1", "", false);
    InstanceRuntime.InstanceContext on =
        new InstanceRuntime.InstanceContext(
            file,
            identity,
            meters,
            new EventLoops(List.of(serving), loop, null),
            threads,
            LogFeed.NONE,
            new ProxyHandlers(file, identity),
            null);
    role =
        onLoop(
            () ->
                new InstanceWiring(
                        on, (parts, host, side) -> new Role(parts, host, serve, commands))
                    .role);
  }

  /** Its first controller cannot name replicas, so it fails with the first. */
  private static final class Role extends StandaloneRole {
    private final Queue<Command> commands;

    Role(
        InstanceRuntime.InstanceContext on,
        Function<NodeRole, InstanceRuntime> host,
        ServeControl serve,
        Queue<Command> commands) {
      super(new ControllerRoleParts(on, host, serve, announced -> {}, () -> {}));
      this.commands = commands;
    }

    @Override
    Controller controller(Epoch epoch) {
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
              Controller.MIN_SILENCE_NANOS,
              0,
              settings -> Map.of()));
    }

    @Override
    void command(Command command) {
      commands.add(command);
    }
  }

  private Build nextBuild() throws InterruptedException {
    for (; ; ) {
      Command command = commands.poll(10, TimeUnit.SECONDS);
      assertThat(command).as("no build was asked for").isNotNull();
      if (command instanceof Build build) {
        return build;
      }
    }
  }

  private <T> T onLoop(Supplier<T> call) throws Exception {
    CompletableFuture<T> done = new CompletableFuture<>();
    loop.execute(() -> done.complete(call.get()));
    return done.get(10, TimeUnit.SECONDS);
  }

  private Future<Void> restart(long term) throws Exception {
    return onLoop(() -> ((ServeControl.ControllerOperations) role).restart(term));
  }

  @Test
  void oneThatFailsIsFollowedByOneOfALaterTermThatKnowsWhatIsWanted() throws Exception {
    onLoop(role::start).await();
    Build first = nextBuild();
    assertThat(first.epoch().term()).isEqualTo(1);
    DeploymentId id = new DeploymentId("a", "d");
    DeploymentTarget target =
        new DeploymentTarget(id, "b", new DeploymentVersion("c", "l"), DeploymentConfig.of("d"));
    BuiltApplication built = new BuiltApplication("b", "d", List.of(target), null, null);

    role.tell(new ControllerEvent.Built("a", first.revision(), built));

    Build second = nextBuild();
    assertThat(second.epoch().term()).isEqualTo(2);
    assertThat(second.revision()).isEqualTo(first.revision());
    assertThat(meters.scrape("text/plain"))
        .containsPattern("(?m)^berth_controller_restarts_total\\S* 1");
  }

  @Test
  void aRestartTakesALaterTermThanAnyBefore() throws Exception {
    onLoop(role::start).await();
    nextBuild();
    restart(7).await();
    nextBuild();

    restart(3).await(); // whoever keeps the terms has lost one

    assertThat(nextBuild().epoch().term()).isEqualTo(8);
  }

  @Test
  void anInstanceThatDrainsKeepsItsController() throws Exception {
    onLoop(role::start).await();
    onLoop(role::drains).await();

    assertThat(restart(3).failed()).isTrue();
  }
}
