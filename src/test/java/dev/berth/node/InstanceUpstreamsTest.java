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
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.ControllerEvent.ReconfigureFailed;
import dev.berth.controller.ControllerEvent.ReplicaDraining;
import dev.berth.controller.ControllerEvent.ReplicaFailed;
import dev.berth.controller.ControllerEvent.ReplicaHealth;
import dev.berth.controller.ControllerEvent.ReplicaReconfigured;
import dev.berth.controller.ControllerEvent.ReplicaStopped;
import dev.berth.controller.ControllerEvent.ReplicaWaits;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import dev.berth.controller.Epoch;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.QueueExecutor;
import dev.berth.fakes.RecordingBus;
import dev.berth.protocol.port.UpstreamContext;
import dev.berth.protocol.port.UpstreamGate;
import dev.berth.replica.Replica;
import dev.berth.view.ReplicaPhase;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The replicas of upstreams on an instance: one for a key, with the settings of its entry. */
class InstanceUpstreamsTest {
  private static final Epoch EPOCH = new Epoch(0, 1, "n1");
  private static final String KEY = "http://10.0.0.7:8000";
  private static final Duration GRACE = Duration.ofSeconds(20);

  private final ManualClock clock = new ManualClock();
  private final QueueExecutor tasks = new QueueExecutor();
  private final List<ControllerEvent> told = new ArrayList<>();
  private final List<Map<String, Object>> configs = new ArrayList<>(); // given to hooks
  private final AtomicLong counter = new AtomicLong();
  private UpstreamGate gate;
  private boolean fails; // the hook
  private int starts;

  private final DataPlane plane =
      new PlaneBuilder("n1", clock, new RecordingBus())
          .loop(tasks, () -> true)
          .handlers(PlaneBuilder.handlers(PlaneBuilder.hooks(tasks)))
          .plane();
  private final BuildCache builds =
      new BuildCache(
          PlaneBuilder.hooks(tasks), tasks, (application, revision) -> null, told::add, it -> {});
  private final InstanceReplicas replicas =
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

  private LoadedApplication code() {
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
  private DeploymentTarget target(int slots, int... ports) {
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

  /** What the controller was told since the last look, but for health. */
  private List<ControllerEvent> events() {
    tasks.runAll();
    List<ControllerEvent> taken =
        told.stream().filter(event -> !(event instanceof ReplicaHealth)).toList();
    told.clear();
    return taken;
  }

  private void start(String id, DeploymentTarget target) {
    replicas.start(new StartReplica(EPOCH, EPOCH.node(), target, id, KEY));
  }

  private Replica running(DeploymentTarget target) {
    start("r1", target);
    assertThat(events()).hasSize(1);
    return plane.host.replicas().get(0);
  }

  private void stop(String id) {
    replicas.stop(new StopReplica(EPOCH, EPOCH.node(), id, GRACE, "for the test"));
  }

  private void reconfigure(DeploymentTarget target) {
    replicas.reconfigure(new ReconfigureReplica(EPOCH, EPOCH.node(), "r1", target));
  }

  @Test
  void replicaHasTheSlotsAndTheSettingsOfItsEntry() {
    Replica replica = running(target(3, 8000, 8001));

    assertThat(replica.slots().maxOngoing()).isEqualTo(3);
    assertThat(configs)
        .singleElement()
        .satisfies(
            config ->
                assertThat(config)
                    .containsEntry("url", KEY)
                    .containsEntry("max_ongoing_requests", 3)
                    .containsKeys("orphan_s", "cancel_grace_s"));
    assertThat(replicas.inventory())
        .singleElement()
        .extracting(Found::upstream, Found::waits)
        .containsExactly(KEY, "");
  }

  @Test
  void changedEntryIsAppliedInPlaceAlsoWhileTheUpstreamIsClosed() {
    Replica replica = running(target(3, 8000));
    gate.close("connection refused");
    assertThat(events()).containsExactly(new ReplicaWaits("r1", "closed: connection refused"));

    DeploymentTarget next = target(5, 8000);
    reconfigure(next);

    assertThat(events()).containsExactly(new ReplicaReconfigured("r1", next.version()));
    assertThat(configs.get(1)).containsEntry("max_ongoing_requests", 5);
    assertThat(replica.slots().maxOngoing()).isZero();
    assertThat(replicas.inventory())
        .singleElement()
        .satisfies(
            found -> assertThat(found.info().maxOngoing()).isEqualTo(5),
            found -> assertThat(found.waits()).isEqualTo("closed: connection refused"));
    gate.open();
    assertThat(replica.slots().maxOngoing()).isEqualTo(5);
    assertThat(starts).isOne();
  }

  @Test
  void hookRunsOnlyForAChangeOfItsOwnEntry() {
    running(target(3, 8000, 8001));
    DeploymentTarget more = target(3, 8000, 8001, 8002);
    reconfigure(more);

    assertThat(events()).containsExactly(new ReplicaReconfigured("r1", more.version()));
    assertThat(configs).hasSize(1);
  }

  @Test
  void oldSettingsThatReturnAfterARefusedChangeAreAppliedAgain() {
    DeploymentTarget first = target(3, 8000);
    running(first);
    fails = true;
    DeploymentTarget second = target(5, 8000);
    reconfigure(second);
    assertThat(events())
        .containsExactly(
            new ReconfigureFailed(
                "r1", second.version(), "IllegalStateException: key.yaml: missing"));
    fails = false;

    reconfigure(first);

    assertThat(events()).containsExactly(new ReplicaReconfigured("r1", first.version()));
    assertThat(configs)
        .extracting(each -> each.get("max_ongoing_requests"))
        .containsExactly(3, 5, 3);
  }

  @Test
  void targetWithoutTheEntryIsRefused() {
    start("r1", target(3, 9000));

    assertThat(events())
        .singleElement()
        .isInstanceOfSatisfying(
            ReplicaFailed.class,
            failed -> assertThat(failed.reason()).contains("upstream: " + KEY));
    assertThat(plane.host.replicas()).isEmpty();
  }

  /** Whatever the controller knows, two ledgers of one key would grant twice its maximum. */
  @Test
  void secondReplicaOfAKeyIsRejectedUntilTheFirstHasEnded() {
    Replica first = running(target(3, 8000));
    first.slots().tryAcquire();
    stop("r1");
    events();

    start("r2", target(3, 8000));
    assertThat(events())
        .containsExactly(
            new ReplicaFailed("r2", "upstream " + KEY + ": represented by replica r1"));
    first.slots().complete();
    assertThat(events()).containsExactly(new ReplicaStopped("r1"));
    start("r3", target(3, 8000));
    assertThat(events()).hasSize(1);
    assertThat(starts).isEqualTo(2);
  }

  @Test
  void killedReplicaEndsOnceItsSlotsAreFree() {
    DeploymentTarget target = target(3, 8000);
    Replica replica = running(target);
    replica.slots().tryAcquire();

    assertThat(replicas.kill(target.id(), "r1")).isTrue();

    assertThat(events()).containsExactly(new ReplicaDraining("r1"));
    assertThat(replicas.inventory())
        .singleElement()
        .extracting(Found::phase)
        .isEqualTo(ReplicaPhase.DRAINING);
    start("r2", target);
    assertThat(events()).singleElement().isInstanceOf(ReplicaFailed.class);
    replica.slots().complete();
    assertThat(events()).containsExactly(new ReplicaStopped("r1"));
    assertThat(replicas.inventory()).isEmpty();
  }

  @Test
  void replicaKilledAtTheEndOfItsGraceEndsOnceItsSlotsAreFree() {
    Replica replica = running(target(3, 8000));
    replica.slots().tryAcquire();
    stop("r1");
    assertThat(events()).containsExactly(new ReplicaDraining("r1"));

    for (int tick = 0; tick < 300; tick++) {
      clock.advance(Duration.ofMillis(100));
      plane.replicas(0).tick();
      assertThat(events()).isEmpty();
    }
    replica.slots().complete();
    assertThat(events()).containsExactly(new ReplicaStopped("r1"));
  }

  @Test
  void endOfTheInstanceWaitsForNoSlotOfAKilledReplica() {
    Replica replica = running(target(3, 8000));
    replica.slots().tryAcquire();
    replicas.drainStarts();
    replicas.stopAll();
    Future<Void> emptied = replicas.emptied();
    events();
    assertThat(emptied.isComplete()).isFalse();

    replica.kill();
    tasks.runAll();

    assertThat(emptied.isComplete()).isTrue();
  }
}
