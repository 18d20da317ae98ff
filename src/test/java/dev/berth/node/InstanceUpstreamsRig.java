package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.code.BuildCache;
import dev.berth.code.LoadedApplication;
import dev.berth.config.ConfigReader;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.ServeConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.ReplicaHealth;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import dev.berth.controller.Epoch;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.ManualTimer;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.QueueExecutor;
import dev.berth.fakes.RecordingBus;
import dev.berth.protocol.port.TickTimer;
import dev.berth.protocol.port.UpstreamContext;
import dev.berth.protocol.port.UpstreamGate;
import dev.berth.replica.Replica;
import dev.berth.upstream.OwnerLease;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;

/** An instance with replicas of upstreams, on one thread and a manual clock. */
abstract class InstanceUpstreamsRig {
  static final Epoch EPOCH = new Epoch(0, 1, "n1");
  static final String KEY = "http://10.0.0.7:8000";
  static final Duration GRACE = Duration.ofSeconds(20);

  final ManualTimer timer = new ManualTimer(new ManualClock());
  final ManualClock clock = timer.clock;
  final QueueExecutor tasks = new QueueExecutor();
  final List<ControllerEvent> told = new ArrayList<>();
  final List<Map<String, Object>> configs = new ArrayList<>(); // given to hooks
  final AtomicLong counter = new AtomicLong();
  UpstreamGate gate;
  boolean fails; // the hook
  int starts;

  final DataPlane plane =
      new PlaneBuilder("n1", clock, new RecordingBus())
          .loop(tasks, () -> true)
          .handlers(PlaneBuilder.handlers(PlaneBuilder.hooks(tasks)))
          .plane();
  final BuildCache builds =
      new BuildCache(
          PlaneBuilder.hooks(tasks), tasks, (application, revision) -> null, told::add, it -> {});
  final OwnerLease lease = new OwnerLease(clock);
  final InstanceReplicas replicas;

  InstanceUpstreamsRig(boolean clustered) {
    replicas =
        new InstanceReplicas(
            plane,
            new InstanceRouters(
                plane.routers,
                new InstanceRankers(PlaneBuilder.hooks(tasks), tasks, builds, clock),
                Duration.ofMinutes(1).toNanos(),
                shown -> () -> {}),
            builds,
            shown -> () -> {},
            tasks,
            counter::incrementAndGet,
            told::add);
    if (clustered) {
      TickTimer ticks = new TickTimer(timer, clock);
      replicas.shareBy(new LocalShares(lease, ticks, tasks, told::add));
    }
  }

  private final class Upstream implements AsyncHandler {
    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      return Future.succeededFuture(Response.text("ok"));
    }

    @Override
    public void reconfigure(Map<String, Object> userConfig) {
      configs.add(userConfig);
      if (fails) {
        throw new IllegalStateException("key.yaml: missing");
      }
    }
  }

  LoadedApplication code() {
    ServeConfig file =
        ConfigReader.read(
            "test.yaml",
            Path.of("."),
            "applications: [{name: a, import_path: 'x.Y:z', deployments: [{name: front}]}]");
    return LoadedApplication.of(
        file.applications().get(0),
        Application.of(
            Deployment.of(
                "front",
                context -> {
                  gate = ((UpstreamContext) context).gate();
                  starts++;
                  return new Upstream();
                })),
        file);
  }

  /** Upstreams on these ports, each of so many slots. */
  DeploymentTarget target(int slots, int... ports) {
    DeploymentTarget any = code().built().targets().get(0);
    List<Settings> entries =
        IntStream.of(ports)
            .mapToObj(
                port ->
                    UpstreamOptions.fromUserConfig(
                        Map.of("url", "http://10.0.0.7:" + port, "max_ongoing_requests", slots)))
            .toList();
    return new DeploymentTarget(
        any.id(),
        any.build(),
        new DeploymentVersion("proxy", slots + "x" + ports.length),
        any.settings().with(DeploymentConfig.UPSTREAMS, entries));
  }

  @BeforeEach
  void build() {
    LoadedApplication code = code();
    BuildCache.LoadedRevision read = new BuildCache.LoadedRevision(code, code.built());
    builds.readEarly(new BuildCache.PendingLoad(code.config(), Future.succeededFuture(read)));
    builds.build(new Build(EPOCH, "a", 1));
    events();
  }

  /** Returns the events since the last call, without those of health. */
  List<ControllerEvent> events() {
    tasks.runAll();
    List<ControllerEvent> taken =
        told.stream().filter(event -> !(event instanceof ReplicaHealth)).toList();
    told.clear();
    return taken;
  }

  void start(String id, DeploymentTarget target) {
    replicas.start(new StartReplica(EPOCH, EPOCH.node(), target, id, KEY));
  }

  Replica running(DeploymentTarget target) {
    start("r1", target);
    assertThat(events()).hasSize(1);
    return plane.host.replicas().get(0);
  }

  void stop(String id) {
    replicas.stop(new StopReplica(EPOCH, EPOCH.node(), id, GRACE, "for the test"));
  }

  void reconfigure(DeploymentTarget target) {
    replicas.reconfigure(new ReconfigureReplica(EPOCH, EPOCH.node(), "r1", target));
  }
}
