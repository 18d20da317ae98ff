package dev.berth.node;

import dev.berth.node.loops.LoopWatchVerticle;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.HandlerPorts;
import dev.berth.replica.ReplicaHost;
import dev.berth.replica.ReplicaLoop;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.Routers;
import dev.berth.routing.explain.ExplainPorts;
import dev.berth.view.ExplanationConsumer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Request path of an instance behind the ingress: its routers, its replicas and their shared
 * limits. A server, a test kit and a simulation each create one from their own ports, and drive its
 * messages and ticks. Thread-safe, unless a method states otherwise.
 */
public final class DataPlane implements LoopWatchVerticle.LoopStateListener {
  public final InstanceDependencies ports;
  public final InstanceLimits limits;
  public final ReplicaHost host;
  public final Routers routers;
  private final List<ReplicaLoop> replicaLoops = new ArrayList<>();

  /**
   * @param explained receives the records of explained requests
   * @param limits limits of this data plane alone, since some of them count
   */
  public DataPlane(
      InstanceDependencies ports,
      HandlerPorts handlers,
      ExplanationConsumer explained,
      InstanceLimits limits) {
    this.ports = ports;
    this.limits = limits;
    host = new ReplicaHost(ports, handlers, limits.replica(), limits.ledger());
    routers = routers(ports, host, explained, limits);
    for (int index = 0; index < ports.loops().size(); index++) {
      replicaLoops.add(
          new ReplicaLoop(
              ports, index, limits.replica(), limits.bodies(), limits.instance().streams));
    }
  }

  /** Creates the routers alone, for callers with replicas of their own. */
  public static Routers routers(
      InstanceDependencies ports,
      ReplicaDirectory replicas,
      ExplanationConsumer explained,
      InstanceLimits limits) {
    return new Routers(
        ports,
        replicas,
        new ExplainPorts(explained, ports.wallClock()),
        limits.instance(),
        limits.loop());
  }

  // --- parts ---

  /** Returns the number of event loops. */
  public int loops() {
    return replicaLoops.size();
  }

  /** Returns the replica part of an event loop. */
  public ReplicaLoop replicas(int loop) {
    return replicaLoops.get(loop);
  }

  // --- messages and time ---

  @Override
  public boolean isBusy(int loop) {
    return ports.loops().get(loop).ticks().deadlines.isAwake();
  }

  /**
   * Passes each address of a loop, with the receiver of its messages, to {@code bus}.
   *
   * @param bus delivers messages to the receiver, at once or from a later time
   */
  public void receive(int loop, BiConsumer<String, Consumer<BusMessage>> bus) {
    bus.accept(BusAddresses.router(ports.node(), loop), routers.loop(loop)::onMessage);
    bus.accept(BusAddresses.replica(ports.node(), loop), replicaLoops.get(loop)::onMessage);
  }

  @Override
  public void looked(int loop, @Nullable BlockedLoop blocked) {
    host.loopBlocked(loop, blocked);
  }

  /**
   * Marks a loop as blocked or running. Routers of all instances avoid the replicas of a blocked
   * loop.
   */
  @Override
  public void loopBlocked(int loop, boolean isBlocked) {
    routers.loopBlocked(loop, isBlocked);
    host.loopBlocked(loop, isBlocked);
  }

  /**
   * Handles another instance that left or died for good. Requests that wait for it fail, and
   * requests that run for it are cancelled.
   *
   * @param lost bus name of the lost process
   */
  public void nodeLost(String lost) {
    routers.nodeLost(lost);
    replicaLoops.forEach(loop -> loop.routersLost(lost));
  }

  /**
   * Starts the ticks of a loop, which check its deadlines and streams. Called on that loop.
   *
   * @param woken called whenever the loop has work again
   */
  public void startTicks(int loop, Runnable woken) {
    LongSupplier tick =
        () -> {
          tick(loop);
          long wait = loop == 0 ? routers.untilTick() : TickTimer.NEVER;
          boolean needed = routers.loop(loop).needsTick() || replicaLoops.get(loop).needsTick();
          return needed ? 0 : wait;
        };
    ports.loops().get(loop).ticks().deadlines.start(tick, woken);
  }

  /** Stops the ticks of a loop, and all others of its timer. Called on that loop. */
  void stopTicks(int loop) {
    ports.loops().get(loop).ticks().stop();
  }

  /** Checks deadlines and streams of a loop, on that loop: one tick of {@link #startTicks}. */
  public void tick(int loop) {
    tick(loop, RouterLoop::tick);
  }

  /** Checks every deadline up to now, for a clock that advances only between ticks. */
  public void tickExactly(int loop) {
    tick(loop, RouterLoop::tickExactly);
  }

  private void tick(int loop, Consumer<RouterLoop> ofRouters) {
    ofRouters.accept(routers.loop(loop));
    if (loop == 0) {
      routers.tick();
    }
    replicaLoops.get(loop).tick();
  }
}
