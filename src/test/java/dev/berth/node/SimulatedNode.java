package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.cluster.bus.BusCluster;
import dev.berth.cluster.bus.BusRegistrations;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.MemberList;
import dev.berth.code.BuildCache;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ClusterConfig;
import dev.berth.config.ServeConfig;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.desired.ServeControl;
import dev.berth.desired.StateLog;
import dev.berth.metrics.Meters;
import dev.berth.node.loops.EventLoops;
import dev.berth.node.loops.Identity;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.routing.DeploymentRouter;
import dev.berth.view.LogFeed;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.spi.cluster.NodeInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A process that is a node of a cluster, wired by {@link InstanceWiring} as it ships, without what
 * listens for clients. Of what is around it the simulation has the rest.
 */
public final class SimulatedNode {
  /**
   * What is around it.
   *
   * @param loops of a Vert.x: for control, for links, and those that serve
   * @param hooks runs user code
   * @param offLoop on which commands wait
   * @param log of a control node; null for a worker
   * @param code of a build, for a worker
   * @param broken told when it does not start
   */
  public record Around(
      ServeConfig config,
      Identity identity,
      List<ContextInternal> loops,
      HookThreads hooks,
      Executor offLoop,
      @Nullable StateLog log,
      BiFunction<String, String, Future<BuildCache.BuildInputs>> code,
      Handler<Throwable> broken) {}

  private final Around around;
  private final LoopVerticle control = new LoopVerticle("control");
  private final @Nullable ServeControl serve;
  private @Nullable InstanceWiring parts;

  public SimulatedNode(Around around) {
    this.around = around;
    Identity identity = around.identity;
    StateLog log = around.log;
    serve =
        log == null
            ? null
            : new ServeControl(
                around.config,
                around.config.folder(),
                log,
                around.offLoop,
                control,
                identity.wallClock()::millis);
  }

  /** On the control loop. */
  public void start() {
    if (serve != null) {
      serve.open(List::of);
    }
    List<LoopVerticle> serving = new ArrayList<>();
    LoopVerticle links = new LoopVerticle("links");
    try {
      control.deploy(around.loops.get(0));
      links.deploy(around.loops.get(1));
      for (ContextInternal each : around.loops.subList(2, around.loops.size())) {
        LoopVerticle loop = new LoopVerticle("loop " + serving.size());
        loop.deploy(each);
        serving.add(loop);
      }
    } catch (Exception impossible) {
      throw new IllegalStateException(impossible);
    }
    ClusterConfig cluster = Objects.requireNonNull(around.config.cluster());
    parts =
        new InstanceWiring(
            new InstanceRuntime.InstanceContext(
                around.config,
                around.identity,
                new Meters(around.identity.node(), cluster.bind(), "", false),
                new EventLoops(serving, control, links),
                around.hooks,
                LogFeed.NONE,
                new ProxyHandlers(around.config, around.identity),
                new ClusterIdentity(cluster, LinkTls.insecure(), bus(cluster))),
            this::role);
    parts().startCore().onFailure(around.broken).onSuccess(core -> control.execute(this::follow));
  }

  /** A cluster whose port counts as open, since the simulation has no Vert.x. */
  private @Nullable BusCluster bus(ClusterConfig cluster) {
    if (!cluster.opensBus()) {
      return null;
    }
    BusCluster made = new BusCluster(around.identity.node(), new BusRegistrations());
    made.setNodeInfo(new NodeInfo(cluster.bind(), cluster.ports().bus(), null), Promise.promise());
    return made;
  }

  private void follow() {
    parts().role.start().onFailure(around.broken);
  }

  private InstanceWiring parts() {
    return Objects.requireNonNull(parts);
  }

  public boolean isStarted() {
    return parts != null;
  }

  public DataPlane plane() {
    return parts().plane;
  }

  /** As they are declared; null on a worker. */
  public @Nullable ServeControl serve() {
    return serve;
  }

  /** All nodes, as far as this one was told. */
  public MemberList members() {
    return Objects.requireNonNull(parts().side).members;
  }

  /** Everything of the node that lives as long as its process. */
  public Object whole() {
    return parts();
  }

  /** What is hosted here. */
  public List<Found> hosted() {
    return parts().host.replicas.inventory();
  }

  public boolean isWanted(DeploymentId id) {
    return parts().host.deployments.isWanted(id);
  }

  public DeploymentRouter router(DeploymentId id) {
    return parts().host.deployments.router(id);
  }

  /** What a build that is here was made of; null when there is none. */
  public @Nullable ApplicationConfig build(String application, String build) {
    return parts().host.builds.config(application, build);
  }

  /** SIGTERM, without what waits for clients. */
  public Future<Void> leave() {
    parts().role.drains();
    return parts().role.withdraw();
  }

  public Future<Void> stop() {
    return parts().stopOthers();
  }

  /** The role as it ships, but for the code of a worker. */
  private NodeRole role(
      InstanceRuntime.InstanceContext on,
      Function<NodeRole, InstanceRuntime> host,
      @Nullable ClusterMembershipClient side) {
    ClusterMembershipClient there = Objects.requireNonNull(side);
    return serve == null
        ? new WorkerRole(on, host, there, around.offLoop, () -> {}) {
          @Override
          public Future<BuildCache.BuildInputs> elsewhere(String application, String build) {
            return around.code.apply(application, build);
          }
        }
        : new ControlRole(
            new LocalController.ControllerRoleParts(on, host, serve, announced -> {}, () -> {}),
            there);
  }
}
