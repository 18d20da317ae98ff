package dev.berth.node;

import dev.berth.code.Builds;
import dev.berth.config.ServeConfig;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.desired.FirstCaller;
import dev.berth.desired.ServeControl;
import dev.berth.desired.StateLog;
import dev.berth.desired.TimeOfDay;
import dev.berth.node.InstanceHost.Instance;
import dev.berth.node.loops.Identity;
import dev.berth.node.loops.InstanceThreads;
import dev.berth.node.loops.LoopVerticle;
import io.vertx.core.Future;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The controller is on this instance, and so is what it keeps of what is declared. */
final class Leading implements Conduct {
  private final ServeControl serve;
  private final InitialApplications initial;
  private final Runnable drainAsked;
  private boolean isOfCluster;

  /**
   * @param log of what is declared, not opened yet
   * @param drainAsked begins the drain of the instance
   * @param callers nodes that call and were commanded before; blocks
   */
  Leading(
      ServeConfig config,
      StateLog log,
      InstanceThreads threads,
      LoopVerticle loop,
      Identity identity,
      Runnable drainAsked,
      Supplier<List<FirstCaller>> callers) {
    serve =
        new ServeControl(
            config,
            config.folder(),
            log,
            threads.commands(),
            loop,
            TimeOfDay.of(identity.wallClock()::millis, identity.nanoClock()));
    this.drainAsked = drainAsked;
    initial = // beside the event loops
        new InitialApplications(serve, threads.commands(), threads, callers);
  }

  @Override
  public Builds.Sources sources() {
    return serve;
  }

  @Override
  public Map<String, Map<String, Double>> endpointSplits() {
    return serve.endpointSplits();
  }

  @Override
  public Commander commander(
      Instance on, InstanceHost host, @Nullable ClusterSide side, Consumer<Announce> announced) {
    isOfCluster = side != null;
    ThisNode here = new ThisNode(on, host);
    return new LocalController(
        on,
        host,
        serve,
        controller -> side == null ? here : new ClusterNodes(here, side, serve, controller),
        announced,
        drainAsked);
  }

  @Override
  public Future<Void> read() {
    return initial.read();
  }

  @Override
  public @Nullable Throwable problem() {
    return initial.problem();
  }

  @Override
  public Collection<String> awaited() {
    return initial.awaited();
  }

  @Override
  public void handTo(Builds builds) {
    initial.handTo(builds);
  }

  /** By itself it gives the directory back at once, so that another may start meanwhile. */
  @Override
  public Future<Void> drain() {
    serve.refuse("the instance is stopping (expected: one that runs)");
    return isOfCluster ? Future.succeededFuture() : serve.close();
  }

  /** Until then it commits who leaves, and has the code that other nodes fetch. */
  @Override
  public Future<Void> close() {
    return isOfCluster ? serve.close() : Future.succeededFuture();
  }

  @Override
  public void discard() {
    initial.close();
  }
}
