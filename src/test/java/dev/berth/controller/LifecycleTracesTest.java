package dev.berth.controller;

import static dev.berth.controller.DrivenController.settings;
import static dev.berth.controller.DrivenController.surge;
import static dev.berth.controller.DrivenController.target;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.AnnounceReplica;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.fakes.Rollouts;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What seeds of the lifecycle's simulation found, each trace made as short as it gets. A seed is
 * another run as soon as the simulation draws otherwise; these are not.
 *
 * <pre>
 *   zero replicas prove a version      1000180 1000820 1001350 1004028 1219
 *   what failed, scaled to zero        1000353 1001484 1080
 *   what served is forgotten           1000267 1001743 1003510 779, and 1003990 without a restart
 *   found, and not claimed yet         1001408 1002998 1003266
 *   a failure before the inventory     1004737 1003453 1004207 1594 165
 *   crashes from outside on trial      1002736
 *   what makes up for it ails          1004042
 *   starts that hang, and then fail    13002550 13002939, the model's
 * </pre>
 */
class LifecycleTracesTest {
  private static final DeploymentId FRONT = new DeploymentId("app", "front");
  private static final DeploymentId MODEL = new DeploymentId("app", "model");
  private static final Settings NO_SURGE = surge(0);
  private static final boolean PROVEN = true;
  private static final boolean UNPROVEN = false;

  private final DrivenController it = new DrivenController();

  private static DeploymentTarget of(DeploymentId id, String code, int replicas, Settings rollout) {
    return target(id, code, "", settings(id.name(), replicas, rollout));
  }

  private static DeploymentTarget of(String code, int replicas) {
    return of(FRONT, code, replicas, Rollouts.DEFAULTS);
  }

  private static DeploymentTarget live(String live, int replicas) {
    return target(FRONT, "v1", live, settings("front", replicas, Rollouts.DEFAULTS));
  }

  private void scale(int replicas) {
    it.send(new ControllerEvent.Scaled(FRONT, replicas));
  }

  private void scaled(int replicas) {
    scale(replicas);
    it.finish();
  }

  /** What has begun to start of a version fails, until nothing of it is started in five minutes. */
  private int failStarts(String code) {
    int failed = 0;
    for (int second = 0; second < 300; second++) {
      List<String> starting =
          it.hosted.values().stream()
              .filter(each -> !each.runs && !each.stopping)
              .filter(each -> each.target.version().code().equals(code))
              .map(each -> each.id)
              .toList();
      starting.forEach(id -> it.fail(id, "no model"));
      failed += starting.size();
      it.runAll();
      it.stopAll();
      it.advance(Duration.ofSeconds(1));
    }
    return failed;
  }

  /** Another controller is told what is declared, then what is there, then reads the code. */
  private void restart() {
    it.restart();
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    it.tellInventory();
  }

  private boolean lastAnnouncedProven() {
    List<Announce> all = it.asked(Announce.class);
    return all.get(all.size() - 1).proven();
  }

  private Set<String> lastAnnouncedRan() {
    List<Announce> all = it.asked(Announce.class);
    return all.get(all.size() - 1).ran();
  }

  private void assertIs(String state, String fleet) {
    assertThat(it.state(FRONT)).isEqualTo(state);
    assertThat(it.fleet()).isEqualTo(fleet);
  }

  private void assertRuns(boolean proven) {
    assertThat(it.controller.applications()).hasToString("{app=RUNNING}");
    assertThat(lastAnnouncedProven()).isEqualTo(proven);
  }

  // --- zero replicas prove a version ---

  @Test
  void aVersionThatNeverStartsIsNotProvenByNoneOfItAndGivesWayToTheLastThatRan() {
    it.serve("app", of("v1", 2));
    it.serve("app", of("v2", 0));
    it.advance(Duration.ofMinutes(2)); // longer than any trial

    assertThat(it.state(FRONT)).startsWith("HEALTHY");
    assertRuns(UNPROVEN);
    assertThat(it.asked(DiscardBuild.class)).isEmpty();

    scale(2);
    assertThat(failStarts("v2")).isLessThanOrEqualTo(6);
    assertIs("DEPLOY_FAILED REPLICA_STARTUP_FAILED", "v1 RUNNING x2");
    assertThat(it.routable(FRONT)).hasSize(2);
  }

  @Test
  void aRolloutThatIsScaledToZeroIsAsUnprovenAfterARestart() {
    it.serve("app", of("v1", 1));
    it.declare("app", of("v2", 1));
    restart();
    scaled(0);
    it.advance(Duration.ofMinutes(2));
    assertThat(it.state(FRONT)).startsWith("HEALTHY");
    restart();
    scaled(0);

    scale(1);
    failStarts("v2");
    assertIs("DEPLOY_FAILED REPLICA_STARTUP_FAILED", "v1 RUNNING x1");
  }

  @Test
  void aVersionAtZeroThatRunsAfterAllIsOnTrialAndThenKept() {
    it.serve("app", of("v1", 1));
    it.serve("app", of("v2", 0));
    scaled(1);
    assertRuns(PROVEN);
    assertThat(it.asked(DiscardBuild.class)).isEmpty(); // on trial

    it.advance(Duration.ofMinutes(1));
    assertThat(it.asked(DiscardBuild.class)).extracting(DiscardBuild::build).contains("build-v1");
    assertThat(it.complete.get(FRONT).version().code()).isEqualTo("v2");
  }

  @Test
  void aFirstVersionAtZeroThatNeverStartsFailsToDeploy() {
    it.declare("app", of("v1", 0));
    assertThat(it.state(FRONT)).startsWith("HEALTHY");
    assertThat(lastAnnouncedProven()).isFalse();
    scale(1);
    assertThat(failStarts("v1")).isEqualTo(3);
    assertThat(it.state(FRONT)).isEqualTo("DEPLOY_FAILED REPLICA_STARTUP_FAILED");
  }

  @Test
  void aDeploymentThatNeverHadAReplicaDoesNotKeepTheOthersFromBeingProven() {
    it.serve("app", of("v1", 1), of(MODEL, "v1", 0, NO_SURGE));
    assertThat(lastAnnouncedProven()).isTrue();
    assertThat(lastAnnouncedRan()).containsExactly("front");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aDeploymentAtZeroInPlaceOfOneThatRanKeepsItsApplicationFromBeingProven(boolean longAgo) {
    if (longAgo) {
      it.ran = Set.of("front", "model"); // in an earlier process
    } else {
      it.serve("app", of("v1", 1), of(MODEL, "v1", 1, NO_SURGE));
    }
    it.serve("app", of("v2", 1), of(MODEL, "v2", 0, NO_SURGE));
    assertRuns(UNPROVEN);
    assertThat(lastAnnouncedRan()).containsExactlyInAnyOrder("front", "model"); // it still has
    it.send(new ControllerEvent.Scaled(MODEL, 1));
    it.finish();
    assertRuns(PROVEN);
  }

  @Test
  void aProvenVersionIsProvenAtZero() {
    it.serve("app", of("v1", 1));
    scaled(0);
    assertRuns(PROVEN);
    restart();
    scaled(0);
    assertRuns(PROVEN);
  }

  // --- what failed, scaled to zero ---

  @Test
  void whatFailedIsUnprovenAtZeroAndWhatItsCodeHasNoMoreGoes() {
    it.serve("app", of("v1", 1), of(MODEL, "v1", 1, Rollouts.DEFAULTS));
    it.declare("app", of("v2", 1));
    failStarts("v2");
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x2"); // one may still call the other
    assertThat(it.controller.applications()).hasToString("{app=DEPLOY_FAILED}");

    scaled(0);
    assertThat(it.hosted).isEmpty();
    assertThat(it.controller.applications()).hasToString("{app=RUNNING}");
    assertThat(it.controller.details("app").deployments()).hasSize(1);
    assertThat(it.available(FRONT)).isTrue();
    assertThat(it.asked(ControllerAction.RouteTo.class)).hasSize(1); // it holds

    scale(1);
    assertThat(failStarts("v2")).isEqualTo(3);
    assertThat(it.controller.applications()).hasToString("{app=DEPLOY_FAILED}");
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x1");
  }

  // --- what served is forgotten ---

  @Test
  void whatServedBeforeARolloutWithoutSurgeIsKnownToAControllerThatFindsNoneOfIt() {
    it.serve("app", of(FRONT, "v1", 1, NO_SURGE));
    it.declare("app", of(FRONT, "v2", 1, NO_SURGE));
    it.stopAll();
    assertThat(it.fleet()).isEqualTo("v2 STARTING x1");

    restart();
    assertThat(failStarts("v2")).isEqualTo(3);
    assertIs("DEPLOY_FAILED REPLICA_STARTUP_FAILED", "v1 RUNNING x1");
    assertThat(it.routable(FRONT)).hasSize(1);
    assertThat(it.asked(DiscardBuild.class)).isEmpty();
  }

  @Test
  void soItIsWhenNothingAtAllIsFound() {
    it.serve("app", of(FRONT, "v1", 1, NO_SURGE));
    it.hosted.clear(); // with the loop that ran them
    it.code.put("app", new BuiltApplication("build-v2", "front", List.of(of("v2", 1)), null, null));
    restart();
    failStarts("v2");
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x1");
  }

  @Test
  void whatIsFoundBesideTheWantedVersionMakesUpForItThoughItWasNeverComplete() {
    it.declare("app", of(FRONT, "v1", 2, NO_SURGE));
    it.run("f1"); // f2 is slow
    it.restart();
    it.declare("app", of(FRONT, "v2", 2, Rollouts.of(1.0, 0, 20)));
    it.tellInventory();
    failStarts("v2");
    assertIs("DEPLOY_FAILED REPLICA_STARTUP_FAILED", "v1 RUNNING x2");
  }

  @Test
  void soDoesWhatRanWithoutARestart() { // 1003990
    it.declare("app", of(FRONT, "v1", 2, NO_SURGE));
    it.run("f1");
    it.declare("app", of(FRONT, "v2", 2, Rollouts.of(1.0, 0, 20)));
    failStarts("v2");
    assertIs("DEPLOY_FAILED REPLICA_STARTUP_FAILED", "v1 RUNNING x2");
  }

  @Test
  void nothingIsRememberedOfADeploymentThatIsGone() {
    it.serve("app", of("v1", 1), of(MODEL, "v1", 1, NO_SURGE));
    assertThat(it.complete).containsOnlyKeys(FRONT, MODEL);
    it.serve("app", of("v1", 1));
    assertThat(it.complete).containsOnlyKeys(FRONT);
    it.send(new ControllerEvent.Withdrawn("app"));
    assertThat(it.complete).isEmpty(); // before its code may be discarded
    it.finish();
    assertThat(it.controller.applications()).isEmpty();
  }

  @Test
  void whatIsRememberedOfAnApplicationThatIsNotDeclaredAnyMoreGoes() {
    it.serve("app", of("v1", 1));
    it.hosted.clear();
    it.restart();
    it.tellInventory();
    it.advance(Duration.ofSeconds(10));
    assertThat(it.complete).isEmpty();
    assertThat(it.asked(DiscardBuild.class)).extracting(DiscardBuild::build).contains("build-v1");
    assertThat(it.controller.applications()).isEmpty();
  }

  @Test
  void whatIsToldAfterTheWaitIsKnownAsWell() {
    it.serve("app", of(FRONT, "v1", 1, NO_SURGE));
    it.hosted.clear();
    it.restart();
    it.declare("app", of(FRONT, "v2", 1, NO_SURGE), of(MODEL, "v2", 1, NO_SURGE));
    it.complete.put(MODEL, of(MODEL, "v1", 1, NO_SURGE));
    it.complete.put(
        new DeploymentId("app", "gone"), of(new DeploymentId("app", "gone"), "v1", 1, NO_SURGE));
    it.advance(Duration.ofSeconds(11));
    it.tellInventory();
    assertThat(it.complete).containsOnlyKeys(FRONT, MODEL);
    failStarts("v2");
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x2");
  }

  // --- a restart during a reconfigure ---

  @Test
  void aConfigurationThatIsRefusedAfterARestartIsNotTakenForGood() {
    it.serve("app", live("good", 1));
    it.declare("app", live("bad", 1));
    assertThat(it.fleet()).isEqualTo("v1bad UPDATING x1");
    it.log.clear();

    restart();
    assertThat(it.asked(ReconfigureReplica.class)) // who was asked before may have answered
        .extracting(each -> each.epoch().term() + " " + each.target().version().live())
        .containsExactly("2 bad");
    assertThat(it.state(FRONT)).startsWith("UPDATING");
    it.refuse("f1", "no such key");
    failStarts("v1");
    assertThat(it.state(FRONT)).isEqualTo("DEPLOY_FAILED REPLICA_STARTUP_FAILED");
    assertThat(it.asked(Announce.class)).noneMatch(Announce::proven);
    assertThat(it.complete.get(FRONT).version().live()).isEqualTo("good");
  }

  @Test
  void aConfigurationThatIsTakenAfterARestartIs() {
    it.serve("app", live("good", 1));
    it.declare("app", live("better", 1));
    restart();
    it.reconfigured("f1");
    it.advance(Duration.ofMinutes(1));
    assertThat(it.state(FRONT)).startsWith("HEALTHY");
    assertThat(it.complete.get(FRONT).version().live()).isEqualTo("better");
    assertThat(it.fleet()).isEqualTo("v1better RUNNING x1");
  }

  @Test
  void aReplicaThatRefusedAConfigurationIsReplacedAfterARestartThoughItIsOfTheWantedOne() {
    it.serve("app", live("good", 1));
    it.declare("app", live("bad", 1));
    it.refuse("f1", "no such key"); // nobody knows what it runs with
    it.restart();
    it.declare("app", live("good", 1));
    it.tellInventory();
    it.finish();
    assertThat(it.hosted).hasSize(1).doesNotContainKey("f1");
    assertThat(it.state(FRONT)).startsWith("HEALTHY");
  }

  @Test
  void aReplicaThatIsGivenAConfigurationWhileItStartsIsCurrentWhenItHasTakenIt() {
    it.declare("app", live("good", 1));
    it.declare("app", live("better", 1));
    it.hosted.get("f1").next = live("better", 1);
    restart();
    it.run("f1");
    assertThat(it.state(FRONT)).startsWith("UPDATING");
    it.reconfigured("f1");
    assertThat(it.state(FRONT)).startsWith("HEALTHY");
  }

  @Test
  void aReplicaThatDrainsIsOfTheVersionThatItRan() {
    it.serve("app", live("good", 1));
    it.declare("app", live("better", 1));
    scale(0);
    it.log.clear();
    restart();
    assertThat(it.asked(AnnounceReplica.class))
        .extracting(each -> each.phase() + " " + each.version().live())
        .contains("RECOVERING good", "DRAINING good");
  }

  @Test
  void theCodeOfAConfigurationThatWasUnderWayGoesWhenNothingUsesIt() {
    it.serve("app", live("good", 1));
    DeploymentTarget next = live("better", 1);
    it.declare("app", new DeploymentTarget(FRONT, "of-it", next.version(), next.settings()));
    it.restart();
    it.declare("app", of("v2", 1));
    it.tellInventory();
    it.finish();
    it.advance(Duration.ofMinutes(1));
    assertThat(it.asked(DiscardBuild.class))
        .filteredOn(each -> each.epoch().term() == 2)
        .extracting(DiscardBuild::build)
        .containsExactlyInAnyOrder("build-v1", "of-it");
  }

  // --- found, and not claimed yet ---

  @Test
  void aReplicaThatBecomesSickBeforeItIsClaimedIsSickThen() {
    it.serve("app", of("v1", 3));
    it.restart();
    it.tellInventory();
    it.sick("f1");
    it.well("f2"); // it always was
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    assertThat(it.routable(FRONT)).containsExactly("f2", "f3");
    it.finish();
    assertThat(it.hosted).hasSize(3).doesNotContainKey("f1");
  }

  @Test
  void theLastThatIsHeardOfAFoundReplicaCounts() {
    it.declare("app", of("v1", 3));
    it.run("f1", "f2");
    it.restart();
    it.tellInventory();
    it.sick("f1");
    it.well("f1");
    it.run("f3"); // it was starting
    it.hosted.remove("f2");
    it.send(new ControllerEvent.ReplicaDraining("f2"));
    it.send(new ControllerEvent.ReplicaStopped("f2"));
    assertThat(it.asked(ControllerAction.StopReplica.class)).isEmpty(); // it is no stranger
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    assertThat(it.routable(FRONT)).containsExactly("f1", "f3");
  }

  @Test
  void anAnswerToAReconfigureThatComesBeforeItIsClaimedIsNotLost() {
    it.serve("app", live("good", 2));
    it.declare("app", live("bad", 2));
    it.builds = false;
    it.restart();
    it.tellInventory();
    it.refuse("f1", "no such key");
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    assertThat(it.routable(FRONT)).containsExactly("f2");
  }

  // --- a failure before the inventory ---

  @Test
  void aFailureThatOvertakesTheInventoryWhichNamesItCounts() {
    it.declare("app", of("v1", 1));
    ControllerEvent.Inventory before = it.inventory();
    it.restart();
    it.log.clear();
    it.fail("f1", "no model");
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    it.send(before);
    assertThat(it.asked(StartReplica.class)).hasSize(1);
    it.finish();
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x1");
  }

  // --- crashes from outside on trial ---

  @Test
  void aGoodVersionThatIsCrashedOnItsTrialIsGivenUpAndDeployedAgainItRuns() {
    it.serve("app", of("v1", 1));
    it.declare("app", of("v2", 1));
    for (int crash = 0; crash < 3; crash++) {
      it.finish();
      assertThat(it.fleet()).isEqualTo("v2 RUNNING x1");
      it.die(it.hosted.keySet().iterator().next());
      it.advance(Duration.ofSeconds(5));
    }
    it.advance(Duration.ofMinutes(5));
    it.finish();
    assertIs("DEPLOY_FAILED HEALTH_CHECK_FAILED", "v1 RUNNING x1");

    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    it.finish();
    assertThat(it.fleet()).isEqualTo("v2 RUNNING x1");
    assertThat(it.asked(Announce.class))
        .extracting(each -> each.revision() + " " + each.status())
        .endsWith("2 DEPLOY_FAILED", "2 DEPLOYING", "2 RUNNING");
    it.advance(Duration.ofMinutes(1));
    assertThat(it.complete.get(FRONT).version().code()).isEqualTo("v2");
  }

  // --- what makes up for it ails ---

  @Test
  void whatWasCompleteMakesUpForAFailureThoughItAilsAndNotWhatNeverWas() {
    it.serve("app", of("v1", 2));
    it.declare("app", of("v2", 2));
    it.run("f3"); // never complete
    it.stopAll();
    it.log.clear();
    it.declare("app", of("v3", 2));
    it.sick("f1");
    it.sick("f2");
    failStarts("v3");
    it.finish();
    assertThat(it.state(FRONT)).isEqualTo("DEPLOY_FAILED REPLICA_STARTUP_FAILED");
    assertThat(it.asked(StartReplica.class))
        .extracting(each -> each.target().version().code())
        .contains("v1")
        .doesNotContain("v2");
    assertThat(it.complete.get(FRONT).version().code()).isEqualTo("v1");
  }

  // --- starts that hang, and then fail ---

  @Test
  void aVersionWhoseStartsHangBeforeTheyFailIsGivenUpAfterAsManyHoweverLongThatTakes() {
    it.serve("app", of(FRONT, "v1", 3, NO_SURGE));
    it.declare("app", of(FRONT, "v2", 3, Rollouts.of(0.2, 0, 20)));
    it.stopAll();
    it.log.clear();
    Duration hangs = Duration.ofMinutes(15);

    for (int start = 1; start <= 3; start++) {
      it.advance(hangs); // told again meanwhile, and nothing else is started beside it
      assertThat(it.state(FRONT)).as("start %d", start).startsWith("UPDATING");
      assertThat(it.fleet()).isEqualTo("v1 RUNNING x2, v2 STARTING x1");
      it.fail(
          it.asked(StartReplica.class).get(it.asked(StartReplica.class).size() - 1).replicaId(),
          "it hung");
    }
    it.advance(hangs);
    it.finish();
    assertIs("DEPLOY_FAILED REPLICA_STARTUP_FAILED", "v1 RUNNING x3");
  }
}
