package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.code.BuildCache;
import dev.berth.code.LoadedApplication;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.Remember;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Built;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.ControllerEvent.ReconfigureFailed;
import dev.berth.controller.ControllerEvent.ReplicaDraining;
import dev.berth.controller.ControllerEvent.ReplicaFailed;
import dev.berth.controller.ControllerEvent.ReplicaHealth;
import dev.berth.controller.ControllerEvent.ReplicaReconfigured;
import dev.berth.controller.ControllerEvent.ReplicaRunning;
import dev.berth.controller.ControllerEvent.ReplicaStopped;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.Epoch;
import dev.berth.fakes.Answering;
import dev.berth.fakes.LogLines;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.QueueExecutor;
import dev.berth.fakes.RecordingBus;
import dev.berth.replica.Replica;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.view.ReplicaPhase;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What an instance does with the commands for its replicas, and what it answers. */
class InstanceReplicasTest {
  private static final String ID = "a#front#1";
  private static final Epoch EPOCH = new Epoch(0, 1, "n1");
  private static final Duration GRACE = Duration.ofSeconds(20);

  private final ManualClock clock = new ManualClock();
  private final QueueExecutor control = new QueueExecutor();
  private final QueueExecutor offLoop = new QueueExecutor();
  private final QueueExecutor loopTasks = new QueueExecutor();
  private final List<ControllerEvent> told = new ArrayList<>();
  private final List<String> calls = new ArrayList<>(); // of hooks
  private final RecordingBus bus = new RecordingBus();
  private final AtomicLong counter = new AtomicLong();
  private String failing = ""; // the hook that throws
  private Runnable duringStart = () -> {};
  private Runnable duringCheck = () -> {};
  private int checks; // of health, begun
  private @Nullable Promise<BuildCache.BuildInputs> elsewhere; // that has the code

  private final DataPlane plane =
      new PlaneBuilder("n1", clock, bus)
          .loop(loopTasks, () -> true)
          .loop(loopTasks, () -> true)
          .loop(loopTasks, () -> true)
          .handlers(PlaneBuilder.handlers(PlaneBuilder.hooks(offLoop)))
          .plane();
  private final BuildCache builds =
      new BuildCache(PlaneBuilder.hooks(offLoop), control, sources(), told::add, gone -> {});
  private final InstanceRouters routers =
      new InstanceRouters(
          plane.routers,
          new InstanceRankers(PlaneBuilder.hooks(offLoop), control, builds, clock),
          Duration.ofMinutes(1).toNanos(),
          shown -> () -> {});
  private final InstanceReplicas replicas =
      new InstanceReplicas(
          plane, routers, builds, shown -> () -> {}, control, counter::incrementAndGet, told::add);

  private final DeploymentTarget first = target("max_ongoing_requests: 3, user_config: {k: 1}");
  private final DeploymentTarget second = target("max_ongoing_requests: 3, user_config: {k: 2}");

  /** Writes down what it is told. */
  private final class Hooked extends Answering {
    Hooked() {
      super("ok");
    }

    private void called(String hook) {
      calls.add(hook);
      if (failing.equals(hook)) {
        throw new IllegalStateException(hook + " fails");
      }
    }

    @Override
    public void start() {
      duringStart.run();
      called("start");
    }

    @Override
    public void checkHealth() {
      checks++;
      duringCheck.run();
    }

    @Override
    public void reconfigure(Map<String, Object> userConfig) {
      called("reconfigure" + userConfig);
    }

    @Override
    public void stop() {
      called("stop");
    }
  }

  private BuildCache.BuildInputsLookup sources() {
    return new BuildCache.BuildInputsLookup() {
      @Override
      public BuildCache.@Nullable BuildInputs find(String application, long revision) {
        return null;
      }

      @Override
      public Future<BuildCache.BuildInputs> elsewhere(String application, String build) {
        return elsewhere == null
            ? BuildCache.BuildInputsLookup.super.elsewhere(application, build)
            : elsewhere.future();
      }
    };
  }

  private LoadedApplication loaded(String ofDeployment) {
    ServeConfig file =
        ConfigReader.read(
            "test.yaml",
            Path.of("."),
            "applications: [{name: a, import_path: 'x.Y:z', deployments: [{name: front, "
                + ofDeployment
                + "}]}]");
    return LoadedApplication.of(
        file.applications().get(0),
        Application.of(Deployment.of("front", replica -> new Hooked())),
        file);
  }

  private DeploymentTarget target(String ofDeployment) {
    return loaded(ofDeployment).built().targets().get(0);
  }

  @BeforeEach
  void build() {
    LoadedApplication code = loaded("num_replicas: 1");
    BuildCache.LoadedRevision read = new BuildCache.LoadedRevision(code, code.built());
    builds.readEarly(new BuildCache.PendingLoad(code.config(), Future.succeededFuture(read)));
    builds.build(new Build(EPOCH, "a", 1));
    runAll();
    assertThat(take()).hasSize(1).first().isInstanceOf(Built.class);
  }

  private void runAll() {
    while (offLoop.runAll() + loopTasks.runAll() + control.runAll() > 0) {
      // What one ran may have queued on another.
    }
  }

  /** What the controller was told since the last look, but for the health of what began to run. */
  private List<ControllerEvent> take() {
    List<ControllerEvent> taken =
        told.stream().filter(event -> !(event instanceof ReplicaHealth)).toList();
    told.clear();
    return taken;
  }

  private void answers(ControllerEvent... expected) {
    runAll();
    assertThat(take()).containsExactly(expected);
  }

  private void start() {
    replicas.start(new StartReplica(EPOCH, EPOCH.node(), first, ID, ""));
  }

  private Replica running() {
    start();
    runAll();
    assertThat(take()).hasSize(1).first().isInstanceOf(ReplicaRunning.class);
    calls.clear();
    return plane.host.replicas().get(0);
  }

  private void stop(Duration grace) {
    replicas.stop(new StopReplica(EPOCH, EPOCH.node(), ID, grace, "for the test"));
  }

  private void reconfigure(DeploymentTarget target) {
    replicas.reconfigure(new ReconfigureReplica(EPOCH, EPOCH.node(), ID, target));
  }

  private Found found() {
    List<Found> inventory = replicas.inventory();
    assertThat(inventory).hasSize(1);
    return inventory.get(0);
  }

  /** As a controller that starts anew is told. */
  private void assertFound(
      ReplicaPhase phase,
      DeploymentTarget target,
      @Nullable DeploymentTarget next,
      boolean refused) {
    assertThat(found())
        .extracting(Found::phase, Found::target, Found::next, Found::refused)
        .containsExactly(phase, target, next, refused);
  }

  // --- start ---

  @Test
  void aStartGivenTwiceMakesOneReplicaAndIsAnsweredAgain() {
    start();
    start();
    assertThat(found().phase()).isEqualTo(ReplicaPhase.STARTING);
    runAll();
    List<ControllerEvent> once = take();
    assertThat(once).hasSize(1).first().isInstanceOf(ReplicaRunning.class);

    start();
    runAll();
    assertThat(take()).as("the same answer").isEqualTo(once);
    assertThat(calls).containsExactly("start", "reconfigure{k=1}");
    assertThat(plane.host.replicas()).hasSize(1);
  }

  @Test
  void aStartThatComesAfterTheEndOfItsReplicaStartsNothing() {
    running();
    stop(GRACE);
    runAll();
    take();
    calls.clear();

    start();
    runAll();

    assertThat(take()).containsExactly(new ReplicaStopped(ID));
    assertThat(calls).isEmpty();
  }

  @Test
  void aStartThatFailsIsToldWithItsReasonAndNotTriedAgain() {
    failing = "start";
    start();
    answers(new ReplicaFailed(ID, "IllegalStateException: start fails"));
    assertThat(calls).containsExactly("start", "stop");
    assertThat(replicas.hosted.size()).isZero();
    start();
    runAll();
    assertThat(calls).containsExactly("start", "stop");
  }

  /** Its start would be waited for as long as the instance lives. */
  @Test
  void aStartThatFailsAndFailsToSayWhyIsToldAllTheSame() {
    duringStart =
        () -> {
          throw new IllegalStateException() {
            @Override
            public String getMessage() {
              throw new UnsupportedOperationException();
            }
          };
        };
    start();
    runAll();
    assertThat(take())
        .singleElement()
        .isInstanceOfSatisfying(
            ReplicaFailed.class,
            failed -> assertThat(failed.reason()).contains("UnsupportedOperationException"));
    assertThat(replicas.hosted.size()).isZero();
  }

  /** Found by the second life of the lifecycle simulation: a line for each deployment that was. */
  @Test
  void startFailureOfADeletedDeploymentIsForgotten() {
    failing = "start";
    try (LogLines lines = new LogLines(InstanceReplicas.class, Level.ERROR)) {
      for (int life = 1; life <= 2; life++) {
        for (int start = 1; start <= 2; start++) {
          String id = "a#front#" + life + start;
          replicas.start(new StartReplica(EPOCH, EPOCH.node(), first, id, ""));
          runAll();
        }
        assertThat(lines.all()).as("once in a life").hasSize(life);
        replicas.forget(first.id());
      }
    }
  }

  @Test
  void replicasTakeTheLoopsInTurnAndOneThatIsSpreadTakesThemAllFromThereOn() {
    DeploymentTarget spread = target("berth: {spread: event_loops}");
    for (DeploymentTarget each : List.of(first, spread, spread, first)) {
      replicas.start(
          new StartReplica(EPOCH, EPOCH.node(), each, "a#front#" + replicas.hosted.size(), ""));
    }
    runAll();
    assertThat(replicas.inventory())
        .extracting(each -> each.info().address().loop())
        .containsExactly(0, 1, 2, 0);
    assertThat(calls).filteredOn("start"::equals).hasSize(1 + 3 + 3 + 1);
  }

  @Test
  void aStartOfAnUnknownBuildFails() {
    replicas.start(
        new StartReplica(
            EPOCH,
            EPOCH.node(),
            new DeploymentTarget(first.id(), "x", first.version(), first.settings()),
            ID,
            ""));
    assertThat(take()).containsExactly(new ReplicaFailed(ID, "build: x (expected: a known build)"));
  }

  /** Seed 40 of the cluster simulation: of a registration that was lost, under the next one. */
  @Test
  void whatWaitsForItsCodeStopsWithAllOthers() {
    elsewhere = Promise.promise();
    replicas.start(
        new StartReplica(
            EPOCH,
            EPOCH.node(),
            new DeploymentTarget(first.id(), "x", first.version(), first.settings()),
            ID,
            ""));
    replicas.stopAll();
    answers(new ReplicaStopped(ID));
    elsewhere.fail("the link broke");
    answers();
    start();
    answers(new ReplicaStopped(ID));
  }

  /** A controller that follows would else take it for a stranger once it runs. */
  @Test
  void inventoryNamesReplicasWhoseCodeIsFetched() {
    elsewhere = Promise.promise();
    DeploymentTarget built =
        new DeploymentTarget(first.id(), "x", first.version(), first.settings());
    replicas.start(new StartReplica(EPOCH, EPOCH.node(), built, ID, ""));
    assertFound(ReplicaPhase.STARTING, built, null, false);
    assertThat(found().info().address().node()).isEqualTo("n1");
    assertThat(found().info().maxOngoing()).isEqualTo(3);
    assertThat(found().startedMs()).isEqualTo(plane.ports.wallClock().millis());
    stop(GRACE);
    answers(new ReplicaStopped(ID));
    assertThat(replicas.inventory()).isEmpty();
  }

  /** The period is shifted by up to a tenth. */
  @Test
  void itsHealthIsCheckedInThePeriodOfItsDeploymentAndInAnotherWhenThatChanges() {
    replicas.start(
        new StartReplica(EPOCH, EPOCH.node(), target("health_check_period_s: 3"), ID, ""));
    runAll();
    assertThat(checksIn(Duration.ofMillis(2_600))).isZero();
    assertThat(checksIn(Duration.ofMillis(800))).isEqualTo(1);

    reconfigure(target("health_check_period_s: 100"));
    runAll();
    checksIn(Duration.ofMillis(3_400)); // the one that was planned
    assertThat(checksIn(Duration.ofSeconds(89))).isZero();
    reconfigure(target("health_check_period_s: 2"));
    runAll();
    assertThat(checksIn(Duration.ofMillis(1_700))).isZero();
    assertThat(checksIn(Duration.ofMillis(600))).as("at once, not after the 100 s").isEqualTo(1);
  }

  private int checksIn(Duration span) {
    int before = checks;
    for (long left = span.toMillis(); left > 0; left -= 100) {
      clock.advance(Duration.ofMillis(100));
      plane.host.tick();
      runAll();
    }
    return checks - before;
  }

  @Test
  void theTimesOfHealthChecksOutliveTheirReplica() {
    running();
    stop(GRACE);
    runAll();
    assertThat(routers.router(first.id()).healthCheckTimes.count()).isEqualTo(1);
    replicas.start(new StartReplica(EPOCH, EPOCH.node(), first, "app#model#later", ""));
    runAll();
    assertThat(routers.router(first.id()).healthCheckTimes.count()).isEqualTo(2);
  }

  @Test
  void aHealthCheckHasTheTimeThatItsDeploymentGivesIt() {
    replicas.start(
        new StartReplica(EPOCH, EPOCH.node(), target("health_check_timeout_s: 2"), ID, ""));
    runAll();
    Replica replica = plane.host.replicas().get(0);
    List<Long> failures = new ArrayList<>();
    duringCheck =
        () -> {
          for (int second = 0; second < 2; second++) {
            clock.advance(Duration.ofMillis(1_000));
            plane.host.tick();
            failures.add(replica.healthCheckFailures());
          }
        };
    checksIn(Duration.ofSeconds(11));
    assertThat(failures).containsExactly(0L, 1L);
  }

  @Test
  void aStartToldToStopBeforeItBeganRunsNoUserCode() {
    start();
    stop(GRACE);
    assertThat(take()).as("at once").containsExactly(new ReplicaStopped(ID));
    runAll();
    assertThat(calls).isEmpty();
    assertThat(take()).as("and no other answer").isEmpty();
    assertThat(replicas.hosted.size()).isZero();
  }

  @Test
  void aStartToldToStopWhileItsHookRunsIsInterruptedAndGoesNoFurther() {
    boolean[] interrupted = {false};
    duringStart =
        () -> {
          stop(GRACE);
          stop(GRACE);
          interrupted[0] = Thread.currentThread().isInterrupted();
        };
    start();
    runAll();
    assertThat(interrupted[0]).isTrue();
    assertThat(Thread.currentThread().isInterrupted()).as("its thread's next task").isFalse();
    assertThat(calls).containsExactly("start", "stop");
    assertThat(take()).containsExactly(new ReplicaStopped(ID));
    assertThat(replicas.hosted.size()).isZero();
    assertThat(plane.host.replicas()).isEmpty();
  }

  @Test
  void aStartThatTakesTooLongIsToldAtOnceAndKeepsItsCodeUntilItsHookEnds() {
    DeploymentTarget bounded = target("berth: {replica_start_timeout_s: 2}");
    List<ControllerEvent> duringTheHook = new ArrayList<>();
    duringStart =
        () -> {
          clock.advance(Duration.ofSeconds(3));
          plane.host.tick();
          loopTasks.runAll();
          builds.discard(new DiscardBuild(EPOCH, "a", bounded.build()));
          control.runAll();
          duringTheHook.addAll(take());
          assertThat(builds.names()).as("its code runs still").hasSize(1);
        };
    replicas.start(new StartReplica(EPOCH, EPOCH.node(), bounded, ID, ""));
    runAll();
    assertThat(duringTheHook).hasSize(1);
    assertThat(((ReplicaFailed) duringTheHook.get(0)).reason())
        .startsWith("TimeoutException: start: not done in 2.0 s (expected: completion within ")
        .contains("its handler: in start, at ");
    assertThat(take()).as("and no other answer").isEmpty();
    assertThat(calls).containsExactly("start", "stop");
    assertThat(builds.names()).isEmpty();
    assertThat(replicas.hosted.size()).isZero();
  }

  @Test
  void noCodeIsReadForAnApplicationWithTooManyLostThreads() {
    String lost = "threads lost to hooks that ignore interrupts: 8";
    BuildCache held =
        new BuildCache(
            new HookThreads() {
              @Override
              public Runnable run(String application, HookKind kind, Runnable task) {
                throw new AssertionError("a thread was asked for");
              }

              @Override
              public String blockedReason(String application) {
                return lost;
              }
            },
            control,
            (application, revision) ->
                new BuildCache.BuildInputs(
                    loaded("num_replicas: 1").config(),
                    ConfigReader.read("test.yaml", Path.of("."), "applications: []")),
            told::add,
            gone -> {});
    held.build(new Build(EPOCH, "a", 2));
    answers(new ControllerEvent.BuildFailed("a", 2, lost));
  }

  @Test
  void codeThatALaterControllerDoesNotKnowGoesWithItsLastReplica() {
    start();
    builds.keepOnly(Map.of("a", Set.of(first.build())));
    stop(GRACE); // before it ran: nobody is told of it
    builds.keepOnly(Map.of());
    assertThat(builds.names()).as("it may run yet").hasSize(1);
    runAll();
    assertThat(builds.names()).isEmpty();
  }

  // --- stop ---

  @Test
  void aStopGivenTwiceStopsOnceIsAnsweredOnceAndAgainWhenItIsOver() {
    Replica replica = running();
    assertThat(replica.slots().tryAcquire()).isTrue();
    stop(GRACE);
    stop(GRACE);
    answers(new ReplicaDraining(ID));
    assertThat(found().phase()).isEqualTo(ReplicaPhase.DRAINING);

    replica.slots().complete();
    runAll();

    assertThat(calls).containsExactly("stop");
    assertThat(take()).containsExactly(new ReplicaStopped(ID));
    stop(GRACE);
    answers(new ReplicaStopped(ID));
    assertThat(calls).containsExactly("stop");
    assertThat(replicas.ongoing(ID)).isEqualTo(-1);
  }

  @Test
  void aReplicaThatDiesIsToldOnceAndItsStopIsAnswered() {
    running();
    assertThat(replicas.kill(first.id(), ID)).isTrue();
    answers(new ReplicaStopped(ID));
    assertThat(replicas.kill(first.id(), ID)).as("again").isFalse();
    stop(GRACE);
    assertThat(take()).containsExactly(new ReplicaStopped(ID));
    assertThat(calls).containsExactly("stop");
  }

  // --- reconfigure ---

  @Test
  void aReconfigureGivenTwiceCallsTheHookOnceAndIsAnsweredAgain() {
    running();
    reconfigure(second);
    reconfigure(second);
    assertFound(ReplicaPhase.UPDATING, first, second, false);
    runAll();
    ReplicaReconfigured answer = new ReplicaReconfigured(ID, second.version());
    assertThat(take()).containsExactly(answer);
    reconfigure(second);
    answers(answer);
    assertThat(calls).containsExactly("reconfigure{k=2}");
    assertFound(ReplicaPhase.RUNNING, second, null, false);
  }

  @Test
  void theSlotsChangeLiveAndOnlyAnotherUserConfigCallsTheHook() {
    Replica replica = running();
    for (int slot = 0; slot < 3; slot++) {
      assertThat(replica.slots().tryAcquire()).isTrue();
    }
    assertThat(replica.slots().tryAcquire()).isFalse();
    DeploymentTarget wider =
        target("max_ongoing_requests: 4, health_check_period_s: 3, user_config: {k: 1}");

    reconfigure(wider);

    assertThat(replica.slots().tryAcquire()).as("a fourth one, at once").isTrue();
    assertThat(replica.slots().tryAcquire()).isFalse();
    answers(new ReplicaReconfigured(ID, wider.version()));
    assertThat(calls).as("its user_config is the same").isEmpty();
    reconfigure(first);
    runAll();
    assertThat(replica.slots().maxOngoing()).isEqualTo(3);
    assertThat(replica.slots().ongoing()).as("none is taken away").isEqualTo(4);
    assertThat(calls).isEmpty();
  }

  @Test
  void aHookThatFailsIsToldAndItsReplicaServesOn() {
    Replica replica = running();
    failing = "reconfigure{k=2}";
    reconfigure(second);
    answers(
        new ReconfigureFailed(
            ID, second.version(), "IllegalStateException: reconfigure{k=2} fails"));
    assertFound(ReplicaPhase.RUNNING, first, null, true);
    assertThat(replica.healthy()).isTrue();
    assertThat(replica.slots().tryAcquire()).isTrue();

    failing = "";
    reconfigure(second);
    runAll();
    assertThat(calls).as("it is asked again").hasSize(2);
    assertFound(ReplicaPhase.RUNNING, second, null, false);
    assertThat(take()).containsExactly(new ReplicaReconfigured(ID, second.version()));
  }

  @Test
  void ofTwoReconfiguresTheLaterOneIsAnswered() {
    running();
    DeploymentTarget third = target("max_ongoing_requests: 3, user_config: {k: 3}");
    reconfigure(second);
    reconfigure(third);
    runAll();
    assertThat(calls).containsExactly("reconfigure{k=2}", "reconfigure{k=3}");
    assertThat(take()).containsExactly(new ReplicaReconfigured(ID, third.version()));
    assertThat(found().target()).isEqualTo(third);
  }

  @Test
  void aReplicaThatStartsIsReconfiguredWhenItRuns() {
    start();
    DeploymentTarget next = target("max_ongoing_requests: 9, user_config: {k: 2}");
    reconfigure(next);
    assertThat(take()).isEmpty();
    runAll();
    assertThat(calls).containsExactly("start", "reconfigure{k=1}", "reconfigure{k=2}");
    List<ControllerEvent> answers = take();
    assertThat(answers).hasSize(2);
    assertThat(answers.get(0)).isInstanceOf(ReplicaRunning.class);
    assertThat(answers.get(1)).isEqualTo(new ReplicaReconfigured(ID, next.version()));
    assertThat(found().info().maxOngoing()).isEqualTo(9);
  }

  @Test
  void oneThatStopsOrIsNotThereCannotBeReconfigured() {
    DeploymentTarget next = target("max_ongoing_requests: 9");
    ReconfigureFailed answer = new ReconfigureFailed(ID, next.version(), "no such replica");
    reconfigure(next);
    assertThat(take()).containsExactly(answer);
    Replica replica = running();
    assertThat(replica.slots().tryAcquire()).isTrue();
    stop(GRACE);
    runAll();
    take();
    reconfigure(next);
    assertThat(take()).containsExactly(answer);
  }

  // --- what is left ---

  @Test
  void aThousandReplicasLeaveTheirPlacesToThoseThatFollow() {
    int highest = 0;
    for (int cycle = 0; cycle < 1_000; cycle++) {
      String id = "a#front#" + (100 + cycle);
      replicas.start(new StartReplica(EPOCH, EPOCH.node(), first, id, ""));
      runAll();
      highest = Math.max(highest, found().info().address().ordinal());
      replicas.stop(new StopReplica(EPOCH, EPOCH.node(), id, GRACE, "for the test"));
      runAll();
      clock.advance(Duration.ofSeconds(20));
      IntStream.range(0, plane.loops()).forEach(loop -> plane.replicas(loop).tick());
      plane.host.tick();
      plane.host.sweep(0, 1, mismatch -> {});
      runAll();
    }
    assertThat(replicas.hosted.size()).isZero();
    long remembered = LedgerLimits.DEFAULTS.rememberNanos() / Duration.ofSeconds(20).toNanos();
    assertThat(highest).isLessThanOrEqualTo((int) remembered + 1);
    assertThat(calls).hasSize(3_000);
  }

  @Test
  void whatWasCompleteIsKeptForALaterControllerUntilNothingIs() {
    DeploymentTarget second = target("num_replicas: 1, user_config: {k: 2}");
    replicas.remember(new Remember(EPOCH, first.id(), first));
    replicas.remember(new Remember(EPOCH, first.id(), second));
    assertThat(replicas.complete()).containsExactly(second);
    replicas.remember(new Remember(EPOCH, first.id(), null));
    assertThat(replicas.complete()).isEmpty();
  }
}
