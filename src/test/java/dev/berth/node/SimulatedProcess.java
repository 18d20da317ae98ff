package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.code.BuildCache;
import dev.berth.code.PolicyInvoker;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigReader;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.ServeConfig;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.Recovered;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.Epoch;
import dev.berth.controller.RoutingPublisher;
import dev.berth.desired.ServeControl;
import dev.berth.desired.SimulatedDisk;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.ingress.IngressRoute;
import dev.berth.node.traffic.EndpointRegistry;
import dev.berth.node.traffic.RouteRegistry;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.Replica;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.view.ExplanationConsumer;
import dev.berth.view.LogFeed;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The control side of one process, wired as the node wires it, but for its clock, its threads, its
 * disk and its controller, which are the simulation's. It hosts one instance, or several that share
 * its commands. The first one builds what is declared; each other one holds code of its own, which
 * it obtains from the first, as nodes of a cluster do.
 */
public final class SimulatedProcess {
  private static final int LOOPS = 2;
  private static final BusSender NOWHERE = (node, address, message) -> SendResult.SENT; // none
  private static final String FILE = "applications: []";
  private static final String OF_A_CLUSTER =
      FILE
          + "\nberth: {cluster: {name: c, node: n1, role: worker, bind: 127.0.0.1, insecure: true,"
          + " join: ['127.0.0.1:1']}}";

  /**
   * What is around it.
   *
   * @param control its control loop
   * @param serving the other loops
   * @param threads on which commands may wait
   * @param hooks runs user code, which may wait
   * @param tell the controller is told something by an instance
   * @param toRouters the controller's messages to routers
   * @param code reads on the first instance what another one asks for, after a while
   */
  public record Around(
      LongSupplier nanoClock,
      LoopExecutor control,
      Executor serving,
      Executor threads,
      HookThreads hooks,
      SplittableRandom random,
      BiConsumer<String, ControllerEvent> tell,
      BiConsumer<String, BusMessage> toRouters,
      Function<Supplier<BuildCache.@Nullable BuildInputs>, Future<BuildCache.BuildInputs>> code) {

    InstantSource wallClock() {
      return () -> Instant.ofEpochMilli(TimeUnit.NANOSECONDS.toMillis(nanoClock.getAsLong()));
    }
  }

  private final Around around;
  private final ServeControl serve;
  private final ServeConfig file;
  private final String first;
  private RoutingPublisher routing;
  private final List<Instance> instances = new ArrayList<>();

  /**
   * @param folder an empty directory
   * @param controls the controller's
   */
  public SimulatedProcess(
      Around around,
      List<String> nodes,
      SimulatedDisk disk,
      Path folder,
      ServeControl.ControllerOperations controls) {
    this.around = around;
    file = ConfigReader.read("file", folder, nodes.size() == 1 ? FILE : OF_A_CLUSTER);
    serve =
        new ServeControl(
            file,
            folder,
            disk.log(folder),
            around.threads,
            around.control,
            around.wallClock()::millis);
    serve.connect(controls);
    first = nodes.get(0);
    routing = publisher(0);
    nodes.forEach(node -> instances.add(new Instance(node)));
  }

  public ServeControl serve() {
    return serve;
  }

  public List<Instance> instances() {
    return instances;
  }

  /** Another instance joins. */
  public Instance join(String node) {
    Instance joined = new Instance(node);
    instances.add(joined);
    return joined;
  }

  /** The entry that is to run of a revision, as it was submitted. */
  public String entry(String application, long revision) {
    BuildCache.BuildInputs source = serve.find(application, revision);
    return source == null
        ? ""
        : new io.vertx.core.json.JsonObject(source.config().entry()).encode();
  }

  /** A controller of a term begins. */
  public void begins(long term) {
    routing = publisher(term);
    routing.greet(first);
  }

  private RoutingPublisher publisher(long term) {
    return new RoutingPublisher(term, id -> instances.get(0).isWanted(id), around.toRouters);
  }

  /** The controller received everything that is declared. */
  public void declared() {
    instances.get(0).builds.closeEarly();
  }

  /** A message of routers for the controller. */
  public void fromRouters(BusMessage message) {
    routing.on(message);
  }

  /** What is built elsewhere. */
  private final class Following implements BuildCache.BuildInputsLookup {
    @Override
    public BuildCache.@Nullable BuildInputs find(String application, long revision) {
      return null;
    }

    @Override
    public Future<BuildCache.BuildInputs> elsewhere(String application, String build) {
      return around.code.apply(
          () -> {
            ApplicationConfig config = instances.get(0).builds.config(application, build);
            return config == null ? null : new BuildCache.BuildInputs(config, file);
          });
    }
  }

  /** One instance. */
  public final class Instance {
    private final String node;
    private final DataPlane plane;
    private final BuildCache builds;
    private final InstanceRouters deployments;
    private final InstanceReplicas replicas;
    private final RouteRegistry routes;
    private final EpochGate gate;
    private final ControllerActionExecutor actions;

    private Instance(String node) {
      this.node = node;
      SplittableRandom random = around.random.split();
      LongSupplier clock = around.nanoClock;
      LongSupplier secrets = random.split()::nextLong;
      List<LoopDependencies> loops = new ArrayList<>();
      for (int index = 0; index < LOOPS; index++) {
        loops.add(
            new LoopDependencies(
                PlaneBuilder.loopOf(around.serving, () -> true),
                PlaneBuilder.NO_TIMER,
                new TickTimer(PlaneBuilder.NO_TIMER, clock),
                NOWHERE,
                clock,
                random.split()));
      }
      routes =
          new RouteRegistry(
              table -> {},
              "",
              around.control,
              (ingress, traffic) ->
                  new IngressRoute(
                      ingress.application(),
                      deployments().router(ingress),
                      deployments().settings(ingress).get(DeploymentConfig.BACKPRESSURE_CONFIG),
                      null),
              new EndpointRegistry(List.of(), id -> false, endpoint -> IngressRoute.nowhere(1)));
      plane =
          new DataPlane(
              new InstanceDependencies(
                  node,
                  random.nextLong(),
                  null,
                  loops,
                  NOWHERE,
                  clock,
                  around.wallClock(),
                  random.split(),
                  secrets),
              PlaneBuilder.handlers(around.hooks),
              ExplanationConsumer.NONE,
              PlaneBuilder.defaults());
      builds =
          new BuildCache(
              around.hooks,
              around.control,
              instances.isEmpty() ? serve : new Following(),
              event -> around.tell.accept(node, event),
              code -> deployments().forgetUnwanted(code));
      deployments =
          new InstanceRouters(
              plane.routers,
              new InstanceRankers(around.hooks, around.control, builds, clock),
              Duration.ofMinutes(1).toNanos(),
              shown -> () -> {});
      replicas =
          new InstanceReplicas(
              plane,
              deployments,
              builds,
              shown -> () -> {},
              around.control,
              new AtomicLong(random.nextLong())::incrementAndGet,
              event -> around.tell.accept(node, event));
      gate = new EpochGate();
      ControllerActionExecutor here =
          ControllerActionExecutor.ofInstance(
              gate, builds, replicas, deployments, routes, LogFeed.NONE);
      actions =
          ControllerActionExecutor.ofController(
                  gate,
                  new TransitionLog(),
                  new PolicyInvoker(
                      around.hooks,
                      around.control,
                      builds,
                      event -> around.tell.accept(node, event),
                      clock),
                  () -> routing,
                  serve,
                  here::accept)
              .on(Recovered.class, recovered -> builds.keepOnly(recovered.builds()));
    }

    private InstanceRouters deployments() {
      return deployments;
    }

    /** Its requests fail, or no more. */
    public void suspected(Replica replica, boolean suspect) {
      replicas.onSuspected(replica, suspect, suspect ? "nothing but failures" : "");
    }

    public String node() {
      return node;
    }

    /** Does what a controller wants. */
    public void apply(ControllerAction action) {
      actions.accept(action);
    }

    /** Another controller asks what is here: the one before it is heard no more. */
    public ControllerEvent.Inventory inventory(Epoch asking) {
      gate.admits(asking);
      return found();
    }

    private ControllerEvent.Inventory found() {
      return new ControllerEvent.Inventory(node, replicas.inventory(), replicas.complete());
    }

    /** Code that is held, {@code application/build}. */
    public List<String> builds() {
      return builds.names();
    }

    /** What makes up for a version of a deployment that failed; null when nothing was complete. */
    public @Nullable DeploymentTarget complete(DeploymentId id) {
      return replicas.complete().stream()
          .filter(each -> each.id().equals(id))
          .findFirst()
          .orElse(null);
    }

    /** What is here, but for what was told to stop before it ran. */
    public List<Found> hosted() {
      return replicas.inventory();
    }

    /** How many are here, in whatever state. */
    public int size() {
      return replicas.hosted.size();
    }

    public int ongoing(String replicaId) {
      return replicas.ongoing(replicaId);
    }

    public boolean kill(Found found) {
      return replicas.kill(found.target().id(), found.info().replicaId());
    }

    /** It ends, with all that it hosts. */
    public void dies() {
      hosted().forEach(this::kill);
      instances.remove(this);
    }

    /** Those that run. */
    public List<Replica> running() {
      return plane.host.replicas();
    }

    /** A deployment is gone, of another instance's controller too. */
    public void forget(DeploymentId id) {
      deployments.forget(id);
      replicas.forget(id);
    }

    public boolean isWanted(DeploymentId id) {
      return deployments.isWanted(id);
    }

    /** Routers that were made. */
    public int routers() {
      return deployments.routed.size();
    }

    /** Where an application answers; empty when it does not. */
    public String prefixOf(String application) {
      return routes.prefixOf(application);
    }

    /** Commands of earlier controllers. */
    public long refused() {
      return actions.gate().refused;
    }

    /** What a server does several times a second. */
    public void tick() {
      plane.host.tick();
      plane.host.sweep(0, 1, mismatch -> {});
      for (int loop = 0; loop < LOOPS; loop++) {
        plane.replicas(loop).tick();
      }
    }
  }
}
