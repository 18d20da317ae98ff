package dev.berth.controller;

import static dev.berth.controller.DrivenController.settings;
import static dev.berth.controller.DrivenController.target;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.Yaml;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.Forget;
import dev.berth.controller.ControllerAction.Publish;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerAction.Unroute;
import dev.berth.fakes.Rollouts;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Events in, actions out: applications, their code, their routes and their end. */
class ControllerTest {
  private static final Epoch EPOCH = new Epoch(0, 1, DrivenController.NODE);
  private static final DeploymentId FRONT = new DeploymentId("app", "front");
  private static final DeploymentId MODEL = new DeploymentId("app", "model");
  private static final DeploymentId OTHER = new DeploymentId("app", "other");

  private final DrivenController it = new DrivenController();

  private static DeploymentTarget of(DeploymentId id, String code, int replicas) {
    return target(id, code, "", settings(id.name(), replicas, Rollouts.DEFAULTS));
  }

  private List<String> statuses() {
    return it.asked(Announce.class).stream()
        .map(each -> each.revision() + " " + each.status())
        .toList();
  }

  /** What operators see of the first deployment. */
  private DeploymentDetails front() {
    return it.controller.details("app").deployments().get(0);
  }

  private void runs(int replicas) {
    it.declare("app", of(FRONT, "v1", replicas));
    it.runAll();
  }

  // --- declaring ---

  @Test
  void unchangedApplicationKeepsItsOverview() {
    it.declare("app", of(FRONT, "v1", 1));
    it.finish();
    ApplicationDetails before = it.controller.overview(it.now).applications().get(0);
    it.report(List.of(), List.of());
    assertThat(it.controller.overview(it.now).applications().get(0)).isSameAs(before);
  }

  @Test
  void whatIsDeclaredIsBuiltThenConfiguredThenStartedAndRunsWhenAllOfItDoes() {
    it.builds = false;
    it.declare("app", of(FRONT, "v1", 1), of(MODEL, "v1", 2));
    assertThat(it.log)
        .containsExactly(
            new Build(EPOCH, "app", 1),
            new Announce(
                "app", 1, dev.berth.view.ApplicationStatus.DEPLOYING, "", false, Set.of()));
    it.log.clear();
    it.send(new ControllerEvent.Built("app", 1, it.code.get("app")));
    assertThat(it.log.get(0)).isEqualTo(new ControllerAction.Configure(EPOCH, of(FRONT, "v1", 1)));
    assertThat(it.asked(StartReplica.class))
        .extracting(StartReplica::replicaId)
        .containsExactly("f1", "m2", "m3");
    it.run("m2", "f1");
    assertThat(statuses()).isEmpty();
    it.run("m3");
    assertThat(statuses()).containsExactly("1 RUNNING");
    assertThat(it.controller.details("app").config()).isEqualTo("{}");
  }

  @Test
  void aStartThatWaitsForAThreadIsSaidByItsReplicaAndItsDeployment() {
    it.declare("app", of(FRONT, "v1", 2));
    it.send(new ControllerEvent.ReplicaWaits("f1", "waits for a start thread since noon"));
    DeploymentDetails details = front();
    assertThat(details.message()).isEqualTo("f1 waits for a start thread since noon");
    assertThat(details.replicas().get(0).reason()).isEqualTo("waits for a start thread since noon");
    assertThat(details.replicas().get(1).reason()).isEmpty();
    it.send(new ControllerEvent.ReplicaWaits("f1", ""));
    assertThat(front().message()).isEmpty();
    it.send(new ControllerEvent.ReplicaWaits("f2", "waits"));
    it.run("f1", "f2");
    it.send(new ControllerEvent.ReplicaWaits("f2", "waits, of earlier"));
    assertThat(front().message()).isEmpty();
  }

  @Test
  void codeThatCannotBeBuiltFailsItsApplicationAndWhatRanBeforeServesOn() {
    it.serve("app", of(FRONT, "v1", 1));
    it.builds = false;
    it.declare("app", of(FRONT, "v2", 1));
    it.send(new ControllerEvent.BuildFailed("app", 2, "import_path: no such class"));
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x1");
    assertThat(it.routable(FRONT)).containsExactly("f1");
    assertThat(statuses())
        .containsExactly("1 DEPLOYING", "1 RUNNING", "2 DEPLOYING", "2 DEPLOY_FAILED");
    assertThat(it.controller.details("app").message()).isEqualTo("import_path: no such class");
    it.die("f1");
    it.finish();
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x1"); // kept true, though not the newest
  }

  @Test
  void aBuildOfAnEarlierRevisionIsNotUsedAndDiscardedOnceTheNewestIsThere() {
    it.builds = false;
    it.declare("app", of(FRONT, "v1", 1));
    it.declare("app", of(FRONT, "v2", 1));
    BuiltApplication old =
        new BuiltApplication("build-v1", "front", List.of(of(FRONT, "v1", 1)), null, null);
    it.send(new ControllerEvent.Built("app", 1, old));
    assertThat(it.hosted).isEmpty();
    assertThat(it.asked(DiscardBuild.class)).isEmpty(); // the newest may turn out to be the same
    it.send(new ControllerEvent.Built("app", 2, it.code.get("app")));
    assertThat(it.asked(DiscardBuild.class))
        .containsExactly(new DiscardBuild(EPOCH, "app", "build-v1"));
    assertThat(it.fleet()).isEqualTo("v2 STARTING x1");
  }

  @Test
  void aFailureOfAnEarlierRevisionIsNobodysConcern() {
    it.builds = false;
    it.declare("app", of(FRONT, "v1", 1));
    it.declare("app", of(FRONT, "v2", 1));
    assertThat(it.send(new ControllerEvent.BuildFailed("app", 1, "no"))).isEmpty();
  }

  @Test
  void theSameCodeBuiltAgainChangesNothing() {
    it.serve("app", of(FRONT, "v1", 2));
    it.log.clear();
    it.builds = false;
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    assertThat(it.log).containsExactly(new Build(EPOCH, "app", 1));
    assertThat(it.send(new ControllerEvent.Built("app", 1, it.code.get("app")))).isEmpty();
  }

  @Test
  void aRevisionThatComesLateIsNotTakenForTheNewest() {
    it.declare("app", of(FRONT, "v1", 1));
    DeclaredApplication old = it.application("app", "/");
    it.declare("app", of(FRONT, "v1", 1));
    assertThat(it.send(new ControllerEvent.Declared(old))).isEmpty();
  }

  @Test
  void aBuildIsKeptWhileItsVersionMakesUpForOneThatFailed() {
    it.serve("app", of(FRONT, "v1", 1));
    it.declare("app", of(FRONT, "v2", 1));
    it.send(new ControllerEvent.ReplicaStopped("f1"));
    it.hosted.remove("f1"); // none of v1 is left
    assertThat(it.asked(DiscardBuild.class)).isEmpty();
    it.advance(Duration.ofSeconds(64));
    it.finish();
    assertThat(it.fleet()).isEqualTo("v2 RUNNING x1");
    assertThat(it.asked(DiscardBuild.class)).isEmpty(); // v2 is on trial
    it.advance(Duration.ofSeconds(60));
    assertThat(it.asked(DiscardBuild.class))
        .containsExactly(new DiscardBuild(EPOCH, "app", "build-v1"));
  }

  @Test
  void aScaleSurvivesTheNextBuild() {
    it.declare("app", of(FRONT, "v1", 1));
    it.send(new ControllerEvent.Scaled(FRONT, 3));
    it.builds = true;
    it.send(
        new ControllerEvent.Declared(
            new DeclaredApplication(
                "app", 1, "/", "{}", true, 0, null, Map.of("front", 3), Map.of(), Set.of(), null)));
    it.finish();
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x3");
  }

  // --- routes ---

  @Test
  void anApplicationIsReachableWhenItsIngressFirstRuns() {
    it.declare("app", of(FRONT, "v1", 2), of(MODEL, "v1", 1));
    it.run("m3");
    assertThat(it.asked(RouteTo.class)).isEmpty();
    it.run("f1");
    assertThat(it.asked(RouteTo.class))
        .containsExactly(new RouteTo(EPOCH, "app", "/", FRONT, null));
    it.run("f2");
    assertThat(it.asked(RouteTo.class)).hasSize(1);
  }

  @Test
  void anIngressWithoutReplicasIsReachableSoThatItsCallersWait() {
    it.declare("app", of(FRONT, "v1", 0));
    assertThat(it.asked(RouteTo.class))
        .containsExactly(new RouteTo(EPOCH, "app", "/", FRONT, null));
    assertThat(it.available(FRONT)).isTrue();
  }

  @Test
  void anotherPrefixIsTakenAtOnce() {
    it.serve("app", of(FRONT, "v1", 1));
    it.revision++;
    it.send(new ControllerEvent.Declared(it.application("app", "/new")));
    assertThat(it.asked(RouteTo.class))
        .containsExactly(
            new RouteTo(EPOCH, "app", "/", FRONT, null),
            new RouteTo(EPOCH, "app", "/new", FRONT, null));
  }

  @Test
  void anotherIngressIsReachedWhenItRunsAndTheOldOneGoesLast() {
    it.serve("app", of(FRONT, "v1", 1));
    it.log.clear();
    it.declare("app", of(OTHER, "v2", 1));
    assertThat(it.asked(RouteTo.class)).isEmpty();
    assertThat(it.routable(FRONT)).containsExactly("f1");
    it.run("o2");
    List<ControllerAction> order =
        it.log.stream()
            .filter(each -> each instanceof RouteTo || each instanceof StopReplica)
            .toList();
    assertThat(order).hasSize(2);
    assertThat(order.get(0)).isEqualTo(new RouteTo(EPOCH, "app", "/", OTHER, null));
    assertThat(it.stopping()).containsExactly("f1");
  }

  private static Settings traffic(String sides) {
    String text =
        "applications: [{name: app, import_path: a.B, berth: {traffic: [" + sides + "]}}]";
    return Yaml.read(text).applications().get(0).get(ApplicationConfig.BERTH);
  }

  private void declare(Settings traffic, DeploymentTarget... targets) {
    it.revision++;
    String ingress = targets[0].id().name();
    it.code.put(
        "app", new BuiltApplication(targets[0].build(), ingress, List.of(targets), null, traffic));
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
  }

  @Test
  void aRouteCarriesItsTrafficAndOtherWeightsTouchNoReplica() {
    Settings whole = traffic("{deployment: front, weight: 1}");
    Settings halves = traffic("{deployment: front, weight: 1}, {deployment: model, weight: 1}");
    declare(whole, of(FRONT, "v1", 1), of(MODEL, "v1", 1));
    it.finish();
    assertThat(it.asked(RouteTo.class))
        .containsExactly(new RouteTo(EPOCH, "app", "/", FRONT, whole));
    it.log.clear();
    declare(halves, of(FRONT, "v1", 1), of(MODEL, "v1", 1));
    assertThat(it.asked(RouteTo.class))
        .containsExactly(new RouteTo(EPOCH, "app", "/", FRONT, halves));
    declare(halves, of(FRONT, "v1", 1), of(MODEL, "v1", 1));
    assertThat(it.asked(RouteTo.class)).hasSize(1);
    assertThat(it.asked(StartReplica.class)).isEmpty();
    assertThat(it.asked(StopReplica.class)).isEmpty();
    assertThat(it.asked(ReconfigureReplica.class)).isEmpty();
    declare(whole, of(OTHER, "v2", 1));
    assertThat(it.asked(RouteTo.class)).as("not while its new ingress is not there").hasSize(1);
    it.run("o3");
    assertThat(it.asked(RouteTo.class))
        .last()
        .isEqualTo(new RouteTo(EPOCH, "app", "/", OTHER, whole));
  }

  // --- what the code has no more, and the end ---

  @Test
  void aDeploymentThatIsNoLongerPartStaysUntilWhatMayCallItIsGone() {
    it.serve("app", of(FRONT, "v1", 1), of(MODEL, "v1", 1));
    it.declare("app", of(FRONT, "v2", 1));
    it.run("f3"); // the old front still drains
    assertThat(it.stopping()).containsExactly("f1");
    assertThat(it.routable(MODEL)).containsExactly("m2");
    it.die("f1");
    assertThat(it.stopping()).isEmpty(); // the old front may be wanted back: the new is on trial
    it.advance(Duration.ofSeconds(60));
    assertThat(it.stopping()).containsExactly("m2");
    assertThat(it.available(MODEL)).isFalse();
    it.die("m2");
    assertThat(it.asked(Forget.class)).containsExactly(new Forget(EPOCH, MODEL));
    assertThat(it.controller.details("app").deployments()).hasSize(1);
  }

  @Test
  void aDroppedDeploymentStaysWhileDeploysFailAndIsDeletedAfterTheTrialOfTheNext() {
    it.serve("app", of(FRONT, "v1", 1), of(MODEL, "v1", 1));
    it.builds = false;
    it.declare("app", of(FRONT, "v2", 1));
    it.send(new ControllerEvent.BuildFailed("app", 2, "deployments[0].name: model"));
    it.advance(Duration.ofSeconds(60));
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x2");
    it.builds = true;
    it.serve("app", of(FRONT, "v2", 1));
    assertThat(it.fleet()).as("on trial").isEqualTo("v1 RUNNING x1, v2 RUNNING x1");
    it.advance(Duration.ofSeconds(60));
    it.finish();
    assertThat(it.fleet()).isEqualTo("v2 RUNNING x1");
    assertThat(it.controller.details("app").deployments()).hasSize(1);
  }

  @Test
  void anApplicationIsUnroutedThenItsIngressDrainsThenTheOthers() {
    it.serve("app", of(FRONT, "v1", 1), of(MODEL, "v1", 1));
    it.log.clear();
    it.send(new ControllerEvent.Withdrawn("app"));
    assertThat(it.log.get(0)).isEqualTo(new Unroute(EPOCH, "app"));
    assertThat(it.stopping()).containsExactly("f1");
    assertThat(it.routable(MODEL)).containsExactly("m2"); // the front may still call it
    it.die("f1");
    assertThat(it.stopping()).containsExactly("m2");
    it.die("m2");
    assertThat(it.asked(Forget.class)).extracting(Forget::deployment).containsExactly(FRONT, MODEL);
    assertThat(it.asked(DiscardBuild.class))
        .containsExactly(new DiscardBuild(EPOCH, "app", "build-v1"));
    assertThat(statuses()).containsExactly("1 DELETING", "1 NOT_STARTED");
    assertThat(it.controller.details("app")).isNull();
    assertThat(it.controller.nextWakeNanos()).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void aBuildThatEndsAfterItsApplicationIsDiscarded() {
    it.builds = false;
    it.declare("app", of(FRONT, "v1", 1));
    it.send(new ControllerEvent.Withdrawn("app"));
    assertThat(it.send(new ControllerEvent.Built("app", 1, it.code.get("app"))))
        .containsExactly(new DiscardBuild(EPOCH, "app", "build-v1"));
  }

  @Test
  void withdrawnTwiceItIsWithdrawnOnce() {
    it.serve("app", of(FRONT, "v1", 1));
    it.send(new ControllerEvent.Withdrawn("app"));
    assertThat(it.send(new ControllerEvent.Withdrawn("app"))).isEmpty();
  }

  // --- states ---

  @Test
  void anApplicationsStateIsTheWorstOfItsDeployments() {
    it.serve("app", of(FRONT, "v1", 1), of(MODEL, "v1", 2));
    it.sick("m2");
    assertThat(it.controller.applications()).hasToString("{app=UNHEALTHY}");
    assertThat(it.controller.details("app").message())
        .isEqualTo("deployment model: a replica failed and is replaced: three checks failed");
    it.finish();
    assertThat(it.controller.applications()).hasToString("{app=RUNNING}");
    it.send(new ControllerEvent.Scaled(MODEL, 3));
    assertThat(it.controller.applications()).hasToString("{app=DEPLOYING}");
    it.finish();
    assertThat(it.controller.applications()).hasToString("{app=RUNNING}");
  }

  @Test
  void eachStateIsAnnouncedOnce() {
    it.serve("app", of(FRONT, "v1", 2));
    it.send(new ControllerEvent.Scaled(FRONT, 1));
    it.finish();
    it.send(new ControllerEvent.Withdrawn("app"));
    it.finish();
    assertThat(it.announced(FRONT))
        .containsExactly(
            "UPDATING CONFIG_UPDATE_STARTED",
            "HEALTHY CONFIG_UPDATE_COMPLETED",
            "DOWNSCALING CONFIG_UPDATE_STARTED",
            "HEALTHY DOWNSCALE_COMPLETED",
            "UPDATING DELETING");
    assertThat(
            it.asked(ControllerAction.AnnounceReplica.class).stream()
                .filter(each -> each.replicaId().equals("f2"))
                .map(each -> each.phase() + " " + each.reason()))
        .containsExactly(
            "STARTING ", "RUNNING ", "STOPPING fewer are wanted", "STOPPED fewer are wanted");
  }

  @Test
  void aStoppedReplicaOfTheOldVersionNamesTheRollout() {
    runs(1);
    it.declare("app", of(FRONT, "v2", 1));
    it.run("f2");
    assertThat(
            it.asked(ControllerAction.AnnounceReplica.class).stream()
                .filter(each -> each.replicaId().equals("f1"))
                .map(each -> each.phase() + " " + each.reason()))
        .containsExactly("STARTING ", "RUNNING ", "STOPPING another version is wanted");
  }

  @Test
  void theLastTenReplicasThatEndedByThemselvesAreRemembered() {
    it.declare("app", of(FRONT, "v1", 1));
    for (int i = 1; i <= 12; i++) {
      it.run("f" + i);
      it.die("f" + i);
      it.advance(Duration.ofSeconds(64));
    }
    it.run("f13");
    it.send(new ControllerEvent.Scaled(FRONT, 0));
    it.die("f13"); // told to
    ApplicationDetails details = it.controller.details("app");
    assertThat(details.deployments().get(0).dead())
        .hasSize(10)
        .allSatisfy(each -> assertThat(each.reason()).isEqualTo("it ended"))
        .extracting(ReplicaDetails::replicaId)
        .startsWith("f12", "f11")
        .endsWith("f3");
  }

  // --- snapshots ---

  @Test
  void snapshotsCarryItsTermRiseAndAreMadeOnlyWhenSomethingChanged() {
    runs(2);
    it.run("f2");
    it.send(new ControllerEvent.ReplicaHealth("f2", true, ""));
    assertThat(it.asked(Publish.class))
        .extracting(each -> each.snapshot().version().toString())
        .containsExactly(
            "SnapshotVersion[term=1, counter=1]",
            "SnapshotVersion[term=1, counter=2]",
            "SnapshotVersion[term=1, counter=3]");
  }

  @Test
  void aDrainingReplicaIsStillPublishedForHeldLeasesButNotRoutable() {
    runs(2);
    it.send(new ControllerEvent.ReplicaDraining("f1")); // nobody told it to
    assertThat(it.routable(FRONT)).containsExactly("f2");
    assertThat(it.routes.get(FRONT).replicas()).hasSize(2);
    assertThat(it.fleet()).contains("v1 STARTING x1"); // it is replaced
  }

  @Test
  void aReplicaThatWasToldToStopDrainsOnceItSaysSo() {
    runs(2);
    it.send(new ControllerEvent.Scaled(FRONT, 1));
    String told = it.hosted.values().stream().filter(each -> each.stopping).findAny().get().id;
    it.send(new ControllerEvent.ReplicaDraining(told));
    assertThat(front().replicas())
        .filteredOn(replica -> replica.replicaId().equals(told))
        .singleElement()
        .returns(ReplicaPhase.DRAINING, ReplicaDetails::phase);
  }

  @Test
  void whereAllLookUnhealthyNoneIsTakenOut() {
    runs(2);
    it.sick("f1");
    it.hosted.remove("f1"); // told to stop, and has
    it.send(new ControllerEvent.ReplicaStopped("f1"));
    it.sick("f2");
    assertThat(it.routable(FRONT)).containsExactly("f2");
  }

  @Test
  void aSuspectIsLeftAloneForAWhileAndNotReplaced() {
    runs(2);
    it.suspect("f1");
    assertThat(it.routable(FRONT)).containsExactly("f2");
    assertThat(it.hosted).hasSize(2);
    assertThat(it.state(FRONT)).startsWith("HEALTHY");
    assertThat(reasonOfTheFirst()).isEqualTo("nothing but failures");
    it.advance(Duration.ofMillis(9_999));
    assertThat(it.routable(FRONT)).containsExactly("f2");
    it.advance(Duration.ofMillis(1));
    assertThat(it.routable(FRONT)).containsExactly("f1", "f2");
  }

  @Test
  void ofASickReplicaThatIsASuspectTooItsSicknessIsSaid() {
    runs(2);
    it.sick("f1");
    String before = reasonOfTheFirst();
    it.suspect("f1");
    assertThat(reasonOfTheFirst()).isEqualTo(before).isEqualTo("three checks failed");
  }

  private String reasonOfTheFirst() {
    return front().replicas().get(0).reason();
  }

  @Test
  void aSuspectThatFailsAgainSoonIsLeftAloneForLongerAtMostFiveMinutes() {
    runs(2);
    for (long seconds = 10; seconds <= 320; seconds += 10) {
      it.suspect("f1");
      it.advance(Duration.ofSeconds(Math.min(300, seconds)).minusMillis(1));
      assertThat(it.routable(FRONT)).as("after %s s", seconds).containsExactly("f2");
      it.advance(Duration.ofMillis(1));
      assertThat(it.routable(FRONT)).as("after %s s", seconds).containsExactly("f1", "f2");
    }
    it.advance(Duration.ofSeconds(300)); // long enough without
    it.suspect("f1");
    it.advance(Duration.ofSeconds(10));
    assertThat(it.routable(FRONT)).containsExactly("f1", "f2");
  }

  @Test
  void aSuspectThatAnswersWellAgainIsBackAtOnce() {
    runs(2);
    it.suspect("f1");
    it.send(new ControllerEvent.ReplicaSuspect("f1", false, ""));
    assertThat(it.routable(FRONT)).containsExactly("f1", "f2");
  }

  @Test
  void ifMostAreSuspectsNoneIsTakenOut() {
    runs(3);
    it.suspect("f1");
    assertThat(it.routable(FRONT)).containsExactly("f2", "f3");
    it.suspect("f2");
    assertThat(it.routable(FRONT)).containsExactly("f1", "f2", "f3");
  }

  // --- events that come twice, late or not at all ---

  @Test
  void aReplicaThatNobodyKnowsIsStopped() {
    it.declare("app", of(FRONT, "v1", 1));
    var stranger = new DrivenController.Hosted("x9", DrivenController.NODE, of(FRONT, "v1", 1));
    it.hosted.put("x9", stranger);
    it.run("x9");
    assertThat(it.stopping()).containsExactly("x9");
  }

  @Test
  void whatIsSaidOfAnUnknownReplicaChangesNothing() {
    DeploymentVersion version = new DeploymentVersion("v1", "");
    assertThat(it.send(new ControllerEvent.ReplicaFailed("x", "no"))).isEmpty();
    assertThat(it.send(new ControllerEvent.ReplicaStopped("x"))).isEmpty();
    assertThat(it.send(new ControllerEvent.ReplicaDraining("x"))).isEmpty();
    assertThat(it.send(new ControllerEvent.ReplicaHealth("x", false, "no"))).isEmpty();
    assertThat(it.send(new ControllerEvent.ReplicaSuspect("x", true, "no"))).isEmpty();
    assertThat(it.send(new ControllerEvent.ReplicaReconfigured("x", version))).isEmpty();
    assertThat(it.send(new ControllerEvent.ReconfigureFailed("x", version, "no"))).isEmpty();
    assertThat(it.send(new ControllerEvent.Withdrawn("x"))).isEmpty();
    assertThat(it.send(new ControllerEvent.Scaled(MODEL, 3))).isEmpty();
    assertThat(it.send(new ControllerEvent.BuildFailed("x", 1, "no"))).isEmpty();
  }

  @Test
  void aCommandThatNothingIsHeardOfIsGivenAgain() {
    it.declare("app", of(FRONT, "v1", 1));
    it.advance(Duration.ofSeconds(60));
    assertThat(it.asked(StartReplica.class))
        .hasSize(2)
        .containsOnly(it.asked(StartReplica.class).get(0));
    it.run("f1");
    it.declare("app", target(FRONT, "v1", "b", settings("front", 1, Rollouts.DEFAULTS)));
    it.advance(Duration.ofSeconds(60));
    assertThat(it.asked(ReconfigureReplica.class)).hasSize(2);
    it.reconfigured("f1");
    it.send(new ControllerEvent.Withdrawn("app"));
    it.advance(Duration.ofSeconds(79)); // the grace and the bound
    assertThat(it.asked(StopReplica.class)).hasSize(1);
    it.advance(Duration.ofSeconds(1));
    assertThat(it.asked(StopReplica.class)).hasSize(2);
  }

  // --- recovery ---

  @Test
  void whatRunsIsPublishedAndLeftAloneUntilItsCodeIsKnown() {
    it.serve("app", of(FRONT, "v1", 1));
    it.restart();
    it.log.clear();
    it.builds = false;
    it.tellInventory();
    assertThat(it.asked(Publish.class)).isEmpty(); // it may be nobody's
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    assertThat(it.routable(FRONT)).containsExactly("f1");
    it.advance(Duration.ofSeconds(30));
    it.send(new ControllerEvent.Built("app", 1, it.code.get("app")));
    assertThat(it.asked(StartReplica.class)).isEmpty();
    assertThat(it.stopping()).isEmpty();
    assertThat(it.state(FRONT)).isEqualTo("HEALTHY CONFIG_UPDATE_COMPLETED");
    assertThat(it.asked(RouteTo.class)).hasSize(1);
    assertThat(it.asked(Publish.class)).hasSize(1);
  }

  @Test
  void replicasOfAnApplicationThatNobodyDeclaredAreStopped() {
    it.serve("app", of(FRONT, "v1", 1));
    it.restart();
    it.tellInventory();
    assertThat(it.stopping()).isEmpty(); // it may yet be declared
    it.advance(Duration.ofSeconds(10));
    assertThat(it.stopping()).containsExactly("f1");
    it.stopAll();
    assertThat(it.controller.applications()).isEmpty();
  }

  @Test
  void replicasOfADeploymentThatTheCodeHasNoMoreAreDrainedAfterTheRollout() {
    it.serve("app", of(FRONT, "v1", 1), of(MODEL, "v1", 1));
    it.restart();
    it.declare("app", of(FRONT, "v2", 1));
    it.tellInventory();
    assertThat(it.stopping()).isEmpty();
    it.finish();
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x1, v2 RUNNING x1"); // v2 is on trial
    it.advance(Duration.ofSeconds(60));
    it.finish();
    assertThat(it.fleet()).isEqualTo("v2 RUNNING x1");
  }

  private DeclaredApplication failed() {
    var why = new DeclaredApplication.FailedRevision("no model; revision 1 serves", "/", 1);
    return new DeclaredApplication(
        "app", it.revision, "/new", "{}", true, 0, 1L, Map.of(), Map.of(), Set.of(), why);
  }

  @Test
  void inPlaceOfARevisionThatFailedTheOneBeforeStartsAndItsFailureIsSaid() {
    it.revision = 2;
    it.code.put(
        "app", new BuiltApplication("build-v1", "front", List.of(of(FRONT, "v1", 1)), null, null));

    it.send(new ControllerEvent.Declared(failed()));
    assertThat(statuses()).containsExactly("2 DEPLOYING");
    it.finish();

    assertThat(it.fleet()).isEqualTo("v1 RUNNING x1");
    assertThat(statuses()).containsExactly("2 DEPLOYING", "2 DEPLOY_FAILED");
    assertThat(it.controller.details("app").message()).isEqualTo("no model; revision 1 serves");
    assertThat(it.controller.details("app").routePrefix()).isEqualTo("/new");
    assertThat(it.asked(RouteTo.class)).extracting(RouteTo::prefix).containsExactly("/");
    it.declare("app", of(FRONT, "v1", 1)); // a rollback
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x1");
    assertThat(statuses()).endsWith("3 DEPLOYING", "3 RUNNING");
  }

  @Test
  void aControllerThatStartsAnewDoesNotTryWhatFailedAgain() {
    it.serve("app", of(FRONT, "v1", 2));
    DeploymentTarget bad = of(FRONT, "v2", 2);
    it.declare("app", bad);
    while (it.state(FRONT).startsWith("UPDATING")) {
      it.hosted.values().stream()
          .filter(each -> each.target.equals(bad) && !each.runs)
          .map(each -> each.id)
          .toList()
          .forEach(id -> it.fail(id, "no model"));
      it.advance(Duration.ofSeconds(10));
    }
    it.finish();
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x2");
    it.restart();
    it.log.clear();
    it.code.put(
        "app", new BuiltApplication("build-v1", "front", List.of(of(FRONT, "v1", 2)), null, null));

    it.send(new ControllerEvent.Declared(failed()));
    it.tellInventory();
    it.advance(Duration.ofMinutes(5));

    assertThat(it.asked(StartReplica.class)).isEmpty();
    assertThat(it.stopping()).isEmpty();
    assertThat(it.routable(FRONT)).hasSize(2);
    assertThat(statuses()).endsWith("2 DEPLOY_FAILED");
  }

  @Test
  void ifItsCodeCannotBeBuiltAnyMoreWhatRunsServesOn() {
    it.serve("app", of(FRONT, "v1", 2));
    it.restart();
    it.log.clear();
    it.builds = false;
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    it.tellInventory();
    it.send(new ControllerEvent.BuildFailed("app", 1, "import_path: gone"));
    assertThat(it.routable(FRONT)).containsExactly("f1", "f2");
    assertThat(it.stopping()).isEmpty();
    assertThat(it.controller.applications()).hasToString("{app=DEPLOY_FAILED}");
  }

  /** Seed 7002305 of the simulation of lifecycles. */
  @Test
  void whatRunsServesOnWhenItsCodeIsKnownToFailBeforeAllIsFound() {
    it.serve("app", of(FRONT, "v1", 2));
    it.restart();
    it.controller.recover(List.of("n2"), it.now);
    it.log.clear();
    it.builds = false;
    ControllerEvent.Inventory all = it.inventory();
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    it.send(new ControllerEvent.Inventory("n2", all.replicas().subList(0, 1), List.of()));
    it.send(new ControllerEvent.BuildFailed("app", 1, "import_path: gone"));
    it.send(new ControllerEvent.Inventory("n1", all.replicas().subList(1, 2), all.complete()));
    assertThat(it.stopping()).as("both").isEmpty();
    assertThat(it.routable(FRONT)).containsExactly("f1", "f2");
    it.die("f1");
    it.advance(Duration.ofSeconds(10));
    assertThat(it.fleet()).as("it is made up for").isEqualTo("v1 RUNNING x1, v1 STARTING x1");
  }

  @Test
  void whatHappensToReplicasWhileTheirCodeIsReadIsNotLost() {
    it.declare("app", of(FRONT, "v1", 3));
    it.run("f1", "f2");
    it.restart();
    it.builds = false;
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    it.tellInventory();
    it.run("f3"); // it was starting
    it.die("f1");
    assertThat(it.stopping()).isEmpty();
    assertThat(it.routable(FRONT)).containsExactly("f2", "f3");
    it.send(new ControllerEvent.Built("app", 1, it.code.get("app")));
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x2, v1 STARTING x1");
    assertThat(it.routable(FRONT)).containsExactly("f2", "f3");
  }

  @Test
  void aReplicaThatRunsBeforeItsInstanceToldOfItIsKept() {
    it.declare("app", of(FRONT, "v1", 1));
    it.restart();
    it.run("f1");
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    assertThat(it.stopping()).isEmpty();
    it.tellInventory();
    assertThat(it.routable(FRONT)).containsExactly("f1");
  }

  @Test
  void anInventoryThatComesLateBringsNoDeadReplicaBack() {
    it.serve("app", of(FRONT, "v1", 1));
    DrivenController.Hosted first = it.hosted.get("f1");
    it.restart();
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    it.tellInventory();
    it.die("f1");
    it.finish();
    assertThat(it.hosted).hasSize(1);
    it.hosted.put("f1", first);
    it.tellInventory();
    it.hosted.remove("f1");
    assertThat(it.routable(FRONT)).hasSize(1).doesNotContain("f1");
  }

  /** Also by the inventory that names it, if its death overtakes that. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aReplicaThatDiedBeforeAnybodyClaimedItIsNotBroughtBack(boolean overtakes) {
    it.serve("app", of(FRONT, "v1", 1));
    ControllerEvent.Inventory found = it.inventory();
    ControllerEvent died = new ControllerEvent.ReplicaStopped("f1");
    ControllerEvent declared = new ControllerEvent.Declared(it.application("app", "/"));
    it.restart();
    it.hosted.remove("f1");
    (overtakes ? List.of(died, declared, found) : List.of(found, died, declared)).forEach(it::send);
    assertThat(it.routable(FRONT)).isEmpty();
    assertThat(it.fleet()).isEqualTo("v1 STARTING x1");
  }

  // --- cost ---

  @Test
  void anEventLooksAtItsOwnDeploymentAndAtNoOther() {
    for (int i = 0; i < 200; i++) {
      it.declare("app" + i, of(new DeploymentId("app" + i, "front"), "v1", 2));
    }
    it.runAll();
    it.lookedAt.clear();
    it.send(new ControllerEvent.Scaled(new DeploymentId("app7", "front"), 3));
    assertThat(it.lookedAt)
        .hasSize(2)
        .allMatch(id -> it.hosted.get(id).target.id().application().equals("app7"));
  }

  @Test
  void epochsAreOrderedByTermThenByNode() {
    assertThat(
            List.of(new Epoch(0, 2, "a"), new Epoch(0, 1, "b"), new Epoch(0, 1, "a")).stream()
                .sorted())
        .containsExactly(new Epoch(0, 1, "a"), new Epoch(0, 1, "b"), new Epoch(0, 2, "a"));
  }
}
