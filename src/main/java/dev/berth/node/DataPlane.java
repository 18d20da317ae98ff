package dev.berth.node;

import dev.berth.node.loops.LoopWatchVerticle;
import dev.berth.protocol.Addresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.protocol.port.InstancePorts;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.replica.HandlerPorts;
import dev.berth.replica.ReplicaHost;
import dev.berth.replica.ReplicaLoop;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.Routers;
import dev.berth.routing.explain.ExplainPorts;
import dev.berth.view.Explanations;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What requests pass through in an instance once they are read: its routers, its replicas, and the
 * bounds that they share. A server, a test kit and a simulation make theirs here, each of its own
 * ports, and say when a loop gets a message and when time has passed. Any thread, unless a method
 * says otherwise.
 */
public final class DataPlane implements LoopWatchVerticle.Listener {
  private final InstancePorts ports;
  private final InstanceLimits limits;
  private final ReplicaHost host;
  private final Routers routers;
  private final List<ReplicaLoop> replicaLoops = new ArrayList<>();

  /**
   * @param explained takes the records of explained requests
   * @param limits its own: some of them count
   */
  public DataPlane(
      InstancePorts ports, HandlerPorts handlers, Explanations explained, InstanceLimits limits) {
    this.ports = ports;
    this.limits = limits;
    host = new ReplicaHost(ports, handlers, limits.replica(), limits.ledger());
    routers = routers(ports, host, explained, limits);
    for (int index = 0; index < ports.loops().size(); index++) {
      replicaLoops.add(
          new ReplicaLoop(
              ports, index, limits.replica(), limits.bodies(), limits.instance().streams()));
    }
  }

  /** The routers alone, where others play the replicas. */
  public static Routers routers(
      InstancePorts ports,
      ReplicaDirectory replicas,
      Explanations explained,
      InstanceLimits limits) {
    return new Routers(
        ports,
        replicas,
        new ExplainPorts(explained, ports.wallClock()),
        limits.instance(),
        limits.loop());
  }

  // --- what it is made of ---

  public InstancePorts ports() {
    return ports;
  }

  public InstanceLimits limits() {
    return limits;
  }

  public ReplicaHost host() {
    return host;
  }

  public Routers routers() {
    return routers;
  }

  /** How many event loops it has. */
  public int loops() {
    return replicaLoops.size();
  }

  /** The replicas' share of an event loop. */
  public ReplicaLoop replicas(int loop) {
    return replicaLoops.get(loop);
  }

  // --- what drives it ---

  /**
   * Names what is to be received on a loop: each address, and who takes its messages there.
   *
   * @param bus takes them from now on, or as soon as the caller says
   */
  public void receive(int loop, BiConsumer<String, Consumer<BusMessage>> bus) {
    bus.accept(Addresses.router(ports.node(), loop), routers.loop(loop)::onMessage);
    bus.accept(Addresses.replica(ports.node(), loop), replicaLoops.get(loop)::onMessage);
  }

  @Override
  public void looked(int loop, @Nullable BlockedLoop blocked) {
    host.loopBlocked(loop, blocked);
  }

  /** A loop takes no tasks, or does so again: routers here and elsewhere avoid its replicas. */
  @Override
  public void loopBlocked(int loop, boolean isBlocked) {
    routers.loopBlocked(loop, isBlocked);
    host.loopBlocked(loop, isBlocked);
  }

  /**
   * Another instance left or died, for good: what waits for it fails, what runs for it is
   * cancelled.
   *
   * @param lost its name on the bus, of this one start of it
   */
  public void nodeLost(String lost) {
    routers.nodeLost(lost);
    replicaLoops.forEach(loop -> loop.routersLost(lost));
  }

  /** Looks after deadlines and streams; every {@link ReplicaLoop#TICK_NANOS}, on that loop. */
  public void tick(int loop) {
    tick(loop, RouterLoop::tick);
  }

  /** A tick that misses no deadline up to now: for a clock that stands still until the next. */
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
