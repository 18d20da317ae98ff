package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.fakes.Rollouts;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Each rule of Ray Serve's deployment state, for an application of one deployment; a test says what
 * Ray does where Berth does another thing.
 */
class ReconcilerRulesTest {
  private static final DeploymentId MODEL = new DeploymentId("app", "model");

  private final DrivenController it = new DrivenController();
  private Settings rollout = Rollouts.DEFAULTS;
  private Map<String, Object> userConfig = Map.of();
  private int queue = 100;
  private int grace = 20;

  /** Deploys code "v1", … with the settings of the moment. */
  private ReconcilerRulesTest deploy(String code, int replicas) {
    return deploy(code, "", replicas);
  }

  private ReconcilerRulesTest deploy(String code, String live, int replicas) {
    Settings settings =
        DrivenController.with(
            DrivenController.settings("model", replicas, rollout),
            userConfig,
            queue,
            rollout,
            grace);
    it.declare("app", DrivenController.target(MODEL, code, live, settings));
    return this;
  }

  /** Version 1 with another user_config, as "v1b". */
  private ReconcilerRulesTest reconfigure(int replicas) {
    userConfig = Map.of("a", 1);
    return deploy("v1", "b", replicas);
  }

  private ReconcilerRulesTest healthy(String code, int replicas) {
    deploy(code, replicas);
    it.finish();
    return is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  private ReconcilerRulesTest surge(double percent) {
    rollout = DrivenController.surge(percent);
    return this;
  }

  private ReconcilerRulesTest is(String status, String trigger) {
    assertThat(it.state(MODEL)).isEqualTo(status + " " + trigger);
    return this;
  }

  private ReconcilerRulesTest fleet(String expected) {
    assertThat(it.fleet()).isEqualTo(expected);
    return this;
  }

  private ReconcilerRulesTest scale(int replicas) {
    it.send(new ControllerEvent.Scaled(MODEL, replicas));
    return this;
  }

  /** Every start of the code fails, until nothing is started any more or so many have. */
  private int failStarts(String code, int most) {
    int failures = 0;
    for (int round = 0; round < 100 && failures < most; round++) {
      for (DrivenController.Hosted each : List.copyOf(it.hosted.values())) {
        if (!each.runs
            && !each.stopping
            && each.target.version().code().equals(code)
            && failures < most) {
          it.fail(each.id, "no model");
          failures++;
        }
      }
      it.advance(Duration.ofSeconds(64));
    }
    return failures;
  }

  private String newest() {
    return it.hosted.keySet().stream().reduce((a, b) -> b).orElseThrow();
  }

  private List<String> routable() {
    return it.routable(MODEL);
  }

  /** Requests may go to these, in order. */
  private ReconcilerRulesTest routesTo(String... replicas) {
    assertThat(routable()).containsExactly(replicas);
    return this;
  }

  private ReconcilerRulesTest run(String... replicas) {
    it.run(replicas);
    return this;
  }

  private ReconcilerRulesTest die(String replica) {
    it.die(replica);
    return this;
  }

  /** Starts run, stops end, configurations are taken, until nothing is asked for. */
  private ReconcilerRulesTest finish() {
    it.finish();
    return this;
  }

  /** The only one, which failed. */
  private ReconcilerRulesTest startsAgainAfter(long seconds) {
    if (seconds > 0) {
      fleet("");
      it.advance(Duration.ofSeconds(seconds).minusMillis(1));
      fleet("");
      it.advance(Duration.ofMillis(1));
    }
    return fleet("v1 STARTING x1");
  }

  private ReconcilerRulesTest pass(long seconds) {
    it.advance(Duration.ofSeconds(seconds));
    return this;
  }

  // --- start-up ---

  @Test
  void aFirstDeploymentIsUpdatingUntilAllOfItsReplicasRun() {
    deploy("v1", 2).is("UPDATING", "CONFIG_UPDATE_STARTED");
    run("m1").is("UPDATING", "CONFIG_UPDATE_STARTED");
    run("m2").is("HEALTHY", "CONFIG_UPDATE_COMPLETED").fleet("v1 RUNNING x2");
  }

  @Test
  void threeFailedStartsPerReplicaBeforeAnyHasRunAreDeployFailedWithTheCause() {
    deploy("v1", 2);
    assertThat(failStarts("v1", 100)).isEqualTo(6);
    is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED").fleet("");
    assertThat(it.details(MODEL).message()).contains("6 failures").contains("no model");
  }

  @Test
  void atMostMaxConstructorRetryCountFailedStartsTwentyByDefault() {
    deploy("v1", 10);
    assertThat(failStarts("v1", 100)).isEqualTo(20);
    rollout = Rollouts.of(0.2, 20, 2);
    deploy("v2", 10);
    assertThat(failStarts("v2", 2)).isEqualTo(2);
    is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED");
  }

  @Test
  void whatFailedToDeployAndHasNothingThatServesIsNotAvailable() {
    deploy("v1", 1);
    assertThat(it.available(MODEL)).isTrue();
    failStarts("v1", 2);
    assertThat(it.available(MODEL)).isTrue();
    failStarts("v1", 1);
    assertThat(it.available(MODEL)).isFalse();
  }

  /** Ray: only after the threshold. */
  @Test
  void startsThatFailAreSpacedByABackOff() {
    deploy("v1", 1);
    it.fail("m1", "no model");
    startsAgainAfter(1);
    it.fail("m2", "no model");
    startsAgainAfter(2);
  }

  @Test
  void onceOneHasRunTheOthersAreStartedForEver() {
    deploy("v1", 2).run("m1");
    assertThat(failStarts("v1", 30)).isEqualTo(30);
    is("UPDATING", "CONFIG_UPDATE_STARTED");
    it.runAll();
    is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  @Test
  void aFailureNowAndThenDoesNotKeepADeploymentFromItsNumber() {
    deploy("v1", 2);
    it.fail("m1", "once");
    run("m2").pass(1).run("m3").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  @Test
  void deployedAgainAVersionThatFailedIsTriedAnew() {
    deploy("v1", 1);
    failStarts("v1", 3);
    deploy("v1", 1).is("UPDATING", "CONFIG_UPDATE_STARTED");
    it.runAll();
    is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
    assertThat(it.available(MODEL)).isTrue();
  }

  // --- health ---

  @Test
  void anUnhealthyReplicaIsReplacedAndTheDeploymentUnhealthyMeanwhile() {
    healthy("v1", 2);
    it.sick("m1");
    is("UNHEALTHY", "HEALTH_CHECK_FAILED").fleet("v1 RUNNING x2, v1 STARTING x1");
    routesTo("m2");
    finish().is("HEALTHY", "UNSPECIFIED").fleet("v1 RUNNING x2");
  }

  /** Ray: all are stopped at once. */
  @Test
  void manyThatAreUnhealthyAtOnceAreReplacedOneForOne() {
    healthy("v1", 4);
    List.of("m1", "m2", "m3").forEach(it::sick);
    fleet("v1 RUNNING x4, v1 STARTING x1");
    assertThat(routable()).hasSize(4); // one of four could not carry the load
    run("m5").fleet("v1 RUNNING x4, v1 STOPPING x1");
    pass(64).finish().fleet("v1 RUNNING x4").is("HEALTHY", "UNSPECIFIED");
  }

  /** Ray: it is stopped at once, and nothing serves. */
  @Test
  void theOnlyReplicaServesOnThoughUnhealthyUntilAnotherRuns() {
    healthy("v1", 1);
    it.sick("m1");
    fleet("v1 RUNNING x1, v1 STARTING x1").routesTo("m1");
    run("m2").routesTo("m2");
    assertThat(it.stopping()).containsExactly("m1");
  }

  @Test
  void aReplicaThatDiedIsReplacedAtOnce() {
    healthy("v1", 2).die("m1");
    is("UNHEALTHY", "HEALTH_CHECK_FAILED").fleet("v1 RUNNING x1, v1 STARTING x1");
    routesTo("m2");
  }

  @Test
  void aReplicaThatIsWellAgainIsKept() {
    healthy("v1", 1);
    it.sick("m1");
    it.well("m1");
    finish().is("HEALTHY", "UNSPECIFIED").fleet("v1 RUNNING x1").routesTo("m1");
  }

  @Test
  void aNewVersionsReplicaThatFailsDuringTheUpdateIsDeployFailedUntilItIsWell() {
    healthy("v1", 2).deploy("v2", 2).run("m3").die("m3");
    is("DEPLOY_FAILED", "HEALTH_CHECK_FAILED");
    pass(1).finish().is("HEALTHY", "UNSPECIFIED").fleet("v2 RUNNING x2");
  }

  @Test
  void anOldVersionsReplicaThatFailsDuringTheUpdateChangesNoState() {
    healthy("v1", 2).deploy("v2", 2).die("m1");
    is("UPDATING", "CONFIG_UPDATE_STARTED");
  }

  @Test
  void whileItScalesAFailureIsUnhealthyAndNotDeployFailed() {
    healthy("v1", 2).scale(3).is("UPSCALING", "CONFIG_UPDATE_STARTED");
    die("m1").is("UNHEALTHY", "HEALTH_CHECK_FAILED");
  }

  @Test
  void aCrashLoopOfAVersionThatHasRunIsRetriedForEverWithLongerWaits() {
    healthy("v1", 1);
    it.advance(Duration.ofHours(1));
    int starts = 0;
    for (long seconds : new long[] {0, 1, 2, 4, 8, 16, 32, 64, 64, 64}) {
      List.copyOf(it.hosted.keySet()).forEach(it::die);
      startsAgainAfter(seconds).is("UNHEALTHY", "HEALTH_CHECK_FAILED");
      it.runAll();
      starts++;
    }
    assertThat(starts).isEqualTo(10);
    pass(60);
    List.copyOf(it.hosted.keySet()).forEach(it::die);
    fleet("v1 STARTING x1"); // it ran for a minute: this is a first failure
  }

  // --- rolling updates ---

  /** Ray: stopped first: nothing serves until the new one runs. */
  @Test
  void aSingleReplicaIsReplacedWithoutAnOutage() {
    healthy("v1", 1).deploy("v2", 1).fleet("v1 RUNNING x1, v2 STARTING x1");
    run("m2").fleet("v1 STOPPING x1, v2 RUNNING x1").routesTo("m2");
    is("UPDATING", "CONFIG_UPDATE_STARTED");
    it.stopAll();
    is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  @Test
  void withoutSurgeOldReplicasAreStoppedFirstAFifthAtATime() {
    surge(0).healthy("v1", 10).deploy("v2", 10);
    fleet("v1 RUNNING x8, v1 STOPPING x2, v2 STARTING x2");
    it.stopAll();
    fleet("v1 RUNNING x8, v2 STARTING x2");
    run("m11");
    fleet("v1 RUNNING x7, v1 STOPPING x1, v2 RUNNING x1, v2 STARTING x2");
    finish().fleet("v2 RUNNING x10").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  @Test
  void withoutSurgeAndOneReplicaThereIsAnOutage() {
    surge(0).healthy("v1", 1).deploy("v2", 1);
    fleet("v1 STOPPING x1, v2 STARTING x1").routesTo();
  }

  @Test
  void rollingUpdatePercentageSetsHowManyAreReplacedAtATime() {
    rollout = Rollouts.of(0.5, 0, 20);
    healthy("v1", 10).deploy("v2", 10);
    fleet("v1 RUNNING x5, v1 STOPPING x5, v2 STARTING x5");
  }

  @Test
  void maxSurgePercentOfTheNumberAreStartedFirstRoundedUp() {
    surge(25).healthy("v1", 5).deploy("v2", 5);
    fleet("v1 RUNNING x5, v2 STARTING x2");
    run("m6").fleet("v1 RUNNING x4, v1 STOPPING x1, v2 RUNNING x1, v2 STARTING x2");
    finish().fleet("v2 RUNNING x5").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  /** Ray: 0. */
  @Test
  void theDefaultSurgeIsAFifthAtLeastOne() {
    healthy("v1", 10).deploy("v2", 10).fleet("v1 RUNNING x10, v2 STARTING x2");
  }

  @Test
  void oldReplicasGoOnlyForWhatRunsBeyondTheNumber() {
    surge(100).healthy("v1", 4).deploy("v2", 4);
    fleet("v1 RUNNING x4, v2 STARTING x4");
    die("m1").run("m5").fleet("v1 RUNNING x3, v2 RUNNING x1, v2 STARTING x3");
    run("m6").fleet("v1 RUNNING x2, v1 STOPPING x1, v2 RUNNING x2, v2 STARTING x2");
  }

  @Test
  void oldReplicasThatStillStartAreStoppedFirstWithoutGrace() {
    deploy("v1", 2).run("m1").deploy("v2", 2);
    assertThat(it.stopping()).containsExactly("m2");
    assertThat(it.hosted.get("m2").grace).isZero();
    fleet("v1 RUNNING x1, v1 STOPPING x1, v2 STARTING x2");
  }

  @Test
  void aReplacementStartsWithoutWaitingForTheDrainOfTheOldOne() {
    healthy("v1", 3).deploy("v2", 3);
    it.runAll(); // nothing has stopped yet
    fleet("v1 STOPPING x3, v2 RUNNING x3");
  }

  @Test
  void aNewVersionAndFewerReplicasTheScalingIsDoneFirst() {
    healthy("v1", 4).deploy("v2", 2).fleet("v1 RUNNING x2, v1 STOPPING x2");
    it.stopAll();
    fleet("v1 RUNNING x2, v2 STARTING x1");
    finish().fleet("v2 RUNNING x2").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  @Test
  void aNewVersionAndMoreReplicasTheNewOnesAreOfIt() {
    healthy("v1", 2).deploy("v2", 4).fleet("v1 RUNNING x2, v2 STARTING x3");
    finish().fleet("v2 RUNNING x4");
  }

  @Test
  void anotherVersionBeforeTheRolloutIsOverTheNewestIsRolledOut() {
    healthy("v1", 2).deploy("v2", 2).run("m3");
    deploy("v3", 2).is("UPDATING", "CONFIG_UPDATE_STARTED");
    finish().fleet("v3 RUNNING x2").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  // --- a rollout that fails ---

  /** Ray: only with RAY_SERVE_STOP_FAILED_ROLLING_UPDATES. */
  @Test
  void aNewVersionThatDoesNotStartFreezesTheRolloutAndTheOldOneServesOn() {
    healthy("v1", 2).deploy("v2", 2);
    assertThat(failStarts("v2", 100)).isEqualTo(3); // for the one it may surge by
    is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED").fleet("v1 RUNNING x2");
    assertThat(it.details(MODEL).message()).contains("frozen").contains("no model");
    routesTo("m1", "m2");
    assertThat(it.available(MODEL)).isTrue();
  }

  /** Ray: only with RAY_SERVE_STOP_FAILED_ROLLING_UPDATES. */
  @Test
  void aNewVersionThatDoesNotStayHealthyFreezesItToo() {
    healthy("v1", 2).deploy("v2", 2);
    for (int i = 0; i < 6; i++) {
      pass(64);
      String newest = newest();
      run(newest).die(newest);
    }
    is("DEPLOY_FAILED", "HEALTH_CHECK_FAILED");
    assertThat(it.details(MODEL).message()).contains("did not stay healthy");
    pass(64).finish();
    fleet("v1 RUNNING x2").is("DEPLOY_FAILED", "HEALTH_CHECK_FAILED");
  }

  /** Ray: its replicas are started again and again. */
  @Test
  void aVersionThatFailsSoonAfterAllOfItRanFreezesItTooAndTheOldOneIsBack() {
    healthy("v1", 3).deploy("v2", 3).finish();
    is("HEALTHY", "CONFIG_UPDATE_COMPLETED").fleet("v2 RUNNING x3");
    pass(30);
    List.copyOf(it.hosted.keySet()).forEach(it::sick);
    is("DEPLOY_FAILED", "HEALTH_CHECK_FAILED");
    assertThat(routable()).hasSize(3); // until others serve
    for (int i = 0; i < 3; i++) {
      pass(64).finish();
      assertThat(routable()).hasSize(3);
    }
    fleet("v1 RUNNING x3").is("DEPLOY_FAILED", "HEALTH_CHECK_FAILED");
  }

  @Test
  void aVersionThatStayedWellForItsTrialIsWhatTheNextOneFallsBackOn() {
    healthy("v1", 2).deploy("v2", 2).finish().pass(60).deploy("v3", 2);
    failStarts("v3", 100);
    die(routable().get(0)).pass(64).finish();
    fleet("v2 RUNNING x2").is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED");
  }

  /** Ray: it is left lacking. */
  @Test
  void whatAFrozenRolloutLacksIsMadeUpForByTheVersionBefore() {
    healthy("v1", 2).deploy("v2", 2);
    failStarts("v2", 6);
    die("m1").pass(120).fleet("v1 RUNNING x1, v1 STARTING x1");
    it.runAll();
    fleet("v1 RUNNING x2").is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED");
  }

  @Test
  void aFrozenVersionsReplicasThatRunServeOnToo() {
    healthy("v1", 4).deploy("v2", 4).run("m5");
    it.stopAll();
    failStarts("v2", 12);
    fleet("v1 RUNNING x3, v2 RUNNING x1");
  }

  @Test
  void theNextDeployEndsTheFreeze() {
    healthy("v1", 1).deploy("v2", 1);
    failStarts("v2", 3);
    deploy("v3", 1).is("UPDATING", "CONFIG_UPDATE_STARTED");
    finish().fleet("v3 RUNNING x1").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  @Test
  void backToTheVersionBeforeNothingIsRestarted() {
    healthy("v1", 1).deploy("v2", 1);
    failStarts("v2", 3);
    deploy("v1", 1).is("HEALTHY", "CONFIG_UPDATE_COMPLETED").fleet("v1 RUNNING x1");
    routesTo("m1");
  }

  // --- what changes ---

  @Test
  void deployedAgainUnchangedNothingHappens() {
    healthy("v1", 2);
    it.log.clear();
    deploy("v1", 2);
    assertThat(it.asked(StartReplica.class)).isEmpty();
    assertThat(it.asked(StopReplica.class)).isEmpty();
    assertThat(it.announced(MODEL)).isEmpty();
  }

  @Test
  void anotherUserConfigIsGivenToRunningReplicasAFifthAtATime() {
    healthy("v1", 10);
    reconfigure(10).is("UPDATING", "CONFIG_UPDATE_STARTED");
    fleet("v1 RUNNING x8, v1b UPDATING x2");
    it.reconfigured("m1");
    fleet("v1 RUNNING x7, v1b RUNNING x1, v1b UPDATING x2");
    finish().fleet("v1b RUNNING x10").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
    assertThat(it.asked(StartReplica.class)).hasSize(10);
  }

  /** Ray: what failed is stopped, and counts as one of the fifth. */
  @Test
  void untilWhatFailedIsMadeUpForNoOtherIsReconfigured() {
    healthy("v1", 10);
    reconfigure(10).fleet("v1 RUNNING x8, v1b UPDATING x2");
    it.sick("m10");
    it.reconfigured("m1");
    fleet("v1 RUNNING x8, v1b RUNNING x1, v1b STARTING x1, v1b UPDATING x1");
    it.run("m11");
    it.stopAll();
    fleet("v1 RUNNING x6, v1b RUNNING x2, v1b UPDATING x2");
    die("m2").pass(64).fleet("v1 RUNNING x6, v1b RUNNING x2, v1b STARTING x1, v1b UPDATING x1");
  }

  /** Ray: they are not routable. */
  @Test
  void replicasTakeRequestsWhileTheyAreReconfigured() {
    healthy("v1", 1);
    reconfigure(1).fleet("v1b UPDATING x1").routesTo("m1");
  }

  /** Ray: at the pace of a rollout. */
  @Test
  void otherLiveSettingsAreGivenToAllAtOnce() {
    healthy("v1", 10).deploy("v1", "b", 10).fleet("v1b UPDATING x10");
    finish().fleet("v1b RUNNING x10").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  @Test
  void aReplicaThatStillStartsIsReconfiguredWhenItRuns() {
    deploy("v1", 1).deploy("v1", "b", 1).fleet("v1 STARTING x1");
    run("m1").fleet("v1b UPDATING x1");
    it.reconfigured("m1");
    is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  @Test
  void aReplicaThatDoesNotTakeItsConfigurationIsReplaced() {
    healthy("v1", 2);
    reconfigure(2).fleet("v1 RUNNING x1, v1b UPDATING x1");
    it.refuse("m1", "bad value");
    routesTo("m2").fleet("v1 RUNNING x2, v1b STARTING x1");
    pass(1).finish();
    fleet("v1b RUNNING x2").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  /** Ray: it is tried for ever. */
  @Test
  void aConfigurationThatIsNotTakenFreezesTheRolloutAndTheOneBeforeServesOn() {
    healthy("v1", 1);
    reconfigure(1);
    it.refuse("m1", "bad value");
    routesTo("m1");
    for (int i = 0; i < 2; i++) {
      pass(4);
      it.fail(newest(), "bad value");
    }
    is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED");
    pass(8).finish();
    fleet("v1 RUNNING x1").is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED");
    routesTo("m4");
  }

  @Test
  void maxQueuedRequestsAndThePaceOfUpdatesTouchNoReplica() {
    healthy("v1", 1);
    it.log.clear();
    queue = 7;
    deploy("v1", 1);
    assertThat(it.announced(MODEL))
        .containsExactly("UPDATING CONFIG_UPDATE_STARTED", "HEALTHY CONFIG_UPDATE_COMPLETED");
    assertThat(it.asked(Configure.class)).hasSize(1);
    assertThat(it.asked(StartReplica.class)).isEmpty();
    assertThat(it.asked(ReconfigureReplica.class)).isEmpty();
  }

  // --- scaling ---

  @Test
  void moreReplicasUpscalingThenHealthy() {
    healthy("v1", 1).scale(3).is("UPSCALING", "CONFIG_UPDATE_STARTED");
    fleet("v1 RUNNING x1, v1 STARTING x2");
    finish().is("HEALTHY", "UPSCALE_COMPLETED").fleet("v1 RUNNING x3");
  }

  @Test
  void fewerReplicasDownscalingUntilTheyHaveStoppedThenHealthy() {
    healthy("v1", 3).scale(1).is("DOWNSCALING", "CONFIG_UPDATE_STARTED");
    fleet("v1 RUNNING x1, v1 STOPPING x2");
    finish().is("HEALTHY", "DOWNSCALE_COMPLETED");
  }

  @Test
  void anotherNumberInTheConfigurationIsScalingToo() {
    healthy("v1", 1).deploy("v1", 2).is("UPSCALING", "CONFIG_UPDATE_STARTED");
    finish().deploy("v1", 1).is("DOWNSCALING", "CONFIG_UPDATE_STARTED");
  }

  @Test
  void anotherNumberWhileItIsUpdatingLeavesItUpdating() {
    deploy("v1", 1).scale(2).is("UPDATING", "CONFIG_UPDATE_STARTED");
    finish().is("HEALTHY", "CONFIG_UPDATE_COMPLETED").fleet("v1 RUNNING x2");
  }

  @Test
  void anotherVersionWhileItScalesMakesItUpdating() {
    healthy("v1", 1).scale(2).deploy("v2", 2);
    is("UPDATING", "CONFIG_UPDATE_STARTED");
  }

  @Test
  void upAndDownAgainBeforeItIsDone() {
    healthy("v1", 2).scale(4).scale(1).is("DOWNSCALING", "CONFIG_UPDATE_STARTED");
    finish().is("HEALTHY", "DOWNSCALE_COMPLETED").fleet("v1 RUNNING x1");
  }

  /** Ray: what is sick is stopped at once. */
  @Test
  void fewerWhileSickOnesAreReplacedAtMostOneMoreThanWantedIsThere() {
    healthy("v1", 4).scale(6);
    List.of("m1", "m2").forEach(it::sick);
    fleet("v1 RUNNING x4, v1 STARTING x3").scale(4);
    fleet("v1 RUNNING x4, v1 STARTING x1, v1 STOPPING x2");
  }

  /** Ray: the newest are. */
  @Test
  void fewerDuringAnUpdateThoseOfTheVersionBeforeAreStoppedFirst() {
    healthy("v1", 4).deploy("v2", 4);
    it.run("m5");
    it.stopAll();
    scale(1);
    fleet("v1 RUNNING x1, v1 STOPPING x2, v2 RUNNING x1, v2 STOPPING x1");
  }

  @Test
  void replicasThatDoNotRunYetAreStoppedFirst() {
    healthy("v1", 2).scale(4).scale(2);
    assertThat(it.stopping()).containsExactlyInAnyOrder("m3", "m4");
    routesTo("m1", "m2");
  }

  /** Ray: regardless of what they do. */
  @Test
  void ofThoseThatRunTheLeastBusyAreStoppedFirst() {
    healthy("v1", 3);
    it.ongoing.putAll(Map.of("m1", 2, "m2", 0, "m3", 5));
    scale(2);
    assertThat(it.stopping()).containsExactly("m2");
  }

  @Test
  void thenTheNewestAndThoseOfWhichSomethingIsKnownLast() {
    healthy("v1", 3).scale(2);
    assertThat(it.stopping()).containsExactly("m3");
    it.stopAll();
    it.ongoing.put("m1", 9);
    scale(1);
    assertThat(it.stopping()).containsExactly("m1");
  }

  @Test
  void withNoReplicasWantedItIsHealthyAndItsCallersMayWait() {
    healthy("v1", 2).scale(0).finish();
    is("HEALTHY", "DOWNSCALE_COMPLETED").fleet("");
    assertThat(it.available(MODEL)).isTrue();
    scale(1).fleet("v1 STARTING x1").is("UPSCALING", "CONFIG_UPDATE_STARTED");
    finish().is("HEALTHY", "UPSCALE_COMPLETED");
  }

  // --- stopping ---

  @Test
  void aReplicaThatIsToStopLeavesTheRoutersAtOnceAndHasItsGrace() {
    grace = 7;
    healthy("v1", 2).scale(1).routesTo("m1");
    assertThat(it.hosted.get("m2").grace).isEqualTo(Duration.ofSeconds(7));
  }

  @Test
  void deletedItIsUpdatingDeletingUntilItsLastReplicaHasStopped() {
    healthy("v1", 2);
    it.send(new ControllerEvent.Withdrawn("app"));
    is("UPDATING", "DELETING").fleet("v1 STOPPING x2");
    assertThat(it.available(MODEL)).isFalse();
    it.stopAll();
    assertThat(it.controller.applications()).isEmpty();
  }

  @Test
  void deletedWhileItStartsNothingOfItIsLeft() {
    deploy("v1", 1);
    it.send(new ControllerEvent.Withdrawn("app"));
    fleet("v1 STOPPING x1");
    it.send(new ControllerEvent.ReplicaRunning(DrivenController.info(it.hosted.get("m1"))));
    assertThat(it.asked(StopReplica.class)).hasSize(2);
    it.stopAll();
    assertThat(it.controller.applications()).isEmpty();
  }

  @Test
  void deployedAgainWhileItIsDeletedItComesBack() {
    healthy("v1", 1);
    it.send(new ControllerEvent.Withdrawn("app"));
    deploy("v1", 1).fleet("v1 STARTING x1, v1 STOPPING x1");
    finish().is("HEALTHY", "CONFIG_UPDATE_COMPLETED").fleet("v1 RUNNING x1");
    assertThat(it.available(MODEL)).isTrue();
  }

  // --- recovery ---

  @Test
  void aControllerThatStartsAnewFindsItsReplicasAndRestartsNone() {
    healthy("v1", 2);
    it.restart();
    it.log.clear();
    deploy("v1", 2);
    it.tellInventory();
    assertThat(it.asked(StartReplica.class)).isEmpty();
    assertThat(it.asked(StopReplica.class)).isEmpty();
    is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
    assertThat(it.asked(ControllerAction.AnnounceReplica.class))
        .extracting(each -> each.replicaId() + " " + each.phase())
        .containsExactly("m1 RECOVERING", "m1 RUNNING", "m2 RECOVERING", "m2 RUNNING");
    routesTo("m1", "m2");
  }

  @Test
  void nothingIsPublishedUntilItHasHeardOfItsReplicasAtMostTenSeconds() {
    healthy("v1", 1);
    it.restart();
    it.log.clear();
    deploy("v1", 1);
    it.advance(Duration.ofMillis(9_999));
    assertThat(it.asked(ControllerAction.Publish.class)).isEmpty();
    assertThat(it.asked(StartReplica.class)).isEmpty();
    it.advance(Duration.ofMillis(1));
    assertThat(it.asked(StartReplica.class)).hasSize(1);
  }

  @Test
  void foundInTheMiddleOfARollingUpdateItGoesOn() {
    healthy("v1", 2).deploy("v2", 2).run("m3");
    it.restart();
    deploy("v2", 2);
    it.tellInventory();
    finish().fleet("v2 RUNNING x2").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
  }

  @Test
  void aRolloutThatFailsAfterARestartIsFrozenByWhatWasFound() {
    healthy("v1", 1).deploy("v2", 1);
    it.restart();
    deploy("v2", 1);
    it.tellInventory();
    failStarts("v2", 3);
    is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED").fleet("v1 RUNNING x1");
  }
}
