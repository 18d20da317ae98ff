package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.NodeGone;
import dev.berth.controller.ControllerAction.Recovered;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerEvent.NodeCordoned;
import dev.berth.controller.ControllerEvent.NodeJoined;
import dev.berth.controller.ControllerEvent.NodeLeaving;
import dev.berth.controller.ControllerEvent.NodeLeft;
import dev.berth.controller.ControllerEvent.NodeLost;
import dev.berth.controller.ControllerEvent.NodeSuspected;
import dev.berth.fakes.Rollouts;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.NodeFigures;
import dev.berth.view.ReplicaDetails;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which instance hosts what, as instances come, tell, and go. */
class NodesTest {
  private static final DeploymentId MODEL = DrivenController.MODEL;
  private static final DeploymentId OTHER = new DeploymentId("other", "z");

  private final DrivenController it = new DrivenController();

  private static DeploymentTarget target(
      DeploymentId id, String code, int replicas, @Nullable Integer most, double surge) {
    Settings rollout = Rollouts.of(0.2, surge, 20);
    Settings settings = DrivenController.settings(id.name(), replicas, rollout);
    return DrivenController.target(
        id, code, "", settings.put(DeploymentConfig.MAX_REPLICAS_PER_NODE, most));
  }

  private static DeploymentTarget model(int replicas) {
    return target(MODEL, "v1", replicas, null, 20);
  }

  private static DeploymentTarget atMost(int most, int replicas) {
    return target(MODEL, "v1", replicas, most, 20);
  }

  private NodesTest spread(String expected) {
    assertThat(it.spread()).isEqualTo(expected);
    return this;
  }

  private NodesTest is(String status) {
    assertThat(it.details(MODEL).status()).hasToString(status);
    return this;
  }

  private String message() {
    return it.details(MODEL).message();
  }

  private List<String> starts(int from) {
    return it.log.subList(from, it.log.size()).stream()
        .filter(StartReplica.class::isInstance)
        .map(each -> ((StartReplica) each).node())
        .toList();
  }

  // --- where they start ---

  @Test
  void withoutAClusterEverythingIsHere() {
    it.serve("app", model(3));
    spread("n1 x3");
    assertThat(it.details(MODEL).replicas()).extracting(ReplicaDetails::node).containsOnly("n1");
  }

  @Test
  void replicasAreSpreadOverInstances() {
    it.join("n1", "n2", "n3");
    it.serve("app", model(5));
    spread("n1 x2, n2 x2, n3 x1");
    it.serve("other", target(OTHER, "v1", 1, null, 20));
    spread("n1 x2, n2 x2, n3 x2"); // where the fewest of all are
  }

  @Test
  void amongEqualsTheyAreGivenInTurn() {
    it.join("n1", "n2", "n3");
    for (String application : List.of("a", "b", "c", "d")) {
      it.serve(application, target(new DeploymentId(application, "z"), "v1", 1, null, 20));
    }
    assertThat(starts(0)).containsExactly("n1", "n2", "n3", "n1");
  }

  @Test
  void ofInstancesWithEquallyManyAnotherZoneComesFirst() {
    it.joinIn("a", "n1");
    it.joinIn("a", "n2");
    it.joinIn("b", "n3");
    it.joinIn("b", "n4");
    it.serve("app", model(3));
    assertThat(starts(0).subList(0, 2)).containsExactly("n1", "n3");
    it.serve("app", model(2));
    assertThat(it.routable(MODEL)).hasSize(2);
  }

  @Test
  void noMoreThanItsBoundStartOnOneAndTheOthersWaitForRoom() {
    it.join("n1", "n2");
    it.serve("app", atMost(2, 6));
    spread("n1 x2, n2 x2").is("UPDATING");
    assertThat(message()).isEqualTo("no node has capacity: max_replicas_per_node 2 on 2 nodes");
    assertThat(it.controller.nextWakeNanos()).as("no time brings one").isEqualTo(Long.MAX_VALUE);

    it.join("n3");
    it.finish();
    spread("n1 x2, n2 x2, n3 x2").is("HEALTHY");
    assertThat(message()).isEmpty();
  }

  /** A disk that is full fails no version that another instance can start. */
  @Test
  void whereAStartFailedTheNextIsElsewhereForAWhile() {
    it.join("n1", "n2", "n3");
    it.declare("app", model(1));
    it.fail(only(), "no space left");
    it.advance(Duration.ofSeconds(10));
    assertThat(starts(0)).containsExactly("n1", "n2");
    it.fail(only(), "no space left");
    it.advance(Duration.ofSeconds(10));
    it.finish();
    spread("n3 x1").is("HEALTHY");
    it.send(new ControllerEvent.Scaled(MODEL, 2));
    it.finish();
    spread("n3 x2");
    it.advance(Duration.ofSeconds(60));
    it.send(new ControllerEvent.Scaled(MODEL, 4));
    it.finish();
    spread("n1 x1, n2 x1, n3 x2");
  }

  @Test
  void fullNodeIsPassedOverForOneThatFailedLately() {
    it.join("n1", "n2");
    it.declare("app", atMost(1, 1));
    it.fail(only(), "no space left"); // on n1
    it.advance(Duration.ofSeconds(10));
    it.finish();
    spread("n2 x1");
    it.send(new ControllerEvent.Scaled(MODEL, 2));
    it.finish();
    spread("n1 x1, n2 x1");
  }

  private String only() {
    return it.details(MODEL).replicas().get(0).replicaId();
  }

  @Test
  void whoHasNotToldWhatItHostsOrIsNotToGetAnyIsPassedOver() {
    it.join("n1", "n2", "n3");
    it.send(new NodeJoined("n4", null));
    it.send(new NodeCordoned("n1", true));
    it.send(new NodeSuspected("n2", true));
    it.serve("app", model(2));
    spread("n3 x2");

    it.send(new NodeCordoned("n3", true));
    it.send(new ControllerEvent.Scaled(MODEL, 5));
    spread("n3 x2");
    assertThat(message()).isEqualTo("no node accepts replicas: 4 are cordoned, leaving or silent");

    it.send(it.inventory("n4"));
    spread("n3 x2, n4 x3");
    it.finish();
    it.send(new NodeSuspected("n2", false));
    it.send(new NodeCordoned("n1", false));
    it.send(new ControllerEvent.Scaled(MODEL, 7));
    spread("n1 x1, n2 x1, n3 x2, n4 x3");
  }

  @Test
  void fewerAreTakenFromWhereTheMostAre() {
    it.join("n1", "n2");
    it.serve("app", model(4));
    it.join("n3");
    it.send(new ControllerEvent.Scaled(MODEL, 5));
    it.finish();
    spread("n1 x2, n2 x2, n3 x1");
    it.ongoing.put("m5", 0); // the least busy, on n3
    it.send(new ControllerEvent.Scaled(MODEL, 3));
    spread("n1 x1, n2 x1, n3 x1");
  }

  // --- without room for more than are wanted ---

  @Test
  void aRolloutWithoutRoomForASurgeStopsOneFirst() {
    it.join("n1", "n2");
    it.serve("app", atMost(1, 2));
    it.declare("app", target(MODEL, "v2", 2, 1, 100));
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x1, v1 STOPPING x1");
    it.stopAll();
    assertThat(it.fleet()).as("not before it is gone").isEqualTo("v1 RUNNING x1, v2 STARTING x1");
    it.finish();
    assertThat(it.fleet()).isEqualTo("v2 RUNNING x2");
    spread("n1 x1, n2 x1");
  }

  @Test
  void aSickOneWithoutRoomForItsSuccessorGoesFirstOneAtATime() {
    it.join("n1", "n2");
    it.serve("app", atMost(1, 2));
    it.sick("m1");
    it.sick("m2");
    assertThat(it.stopping()).containsExactly("m1");
    it.stopAll();
    it.advance(Duration.ofSeconds(2)); // the second failure is waited for
    assertThat(it.fleet()).isEqualTo("v1 RUNNING x1, v1 STARTING x1");
    it.finish();
    assertThat(it.hosted.keySet()).containsExactlyInAnyOrder("m3", "m4");
  }

  @Test
  void whereNothingMayStartNothingIsStoppedForIt() {
    it.join("n1", "n2");
    it.serve("app", model(3));
    it.send(new NodeCordoned("n1", true));
    it.send(new NodeCordoned("n2", true));
    it.sick("m1");
    it.declare("app", target(MODEL, "v2", 3, null, 100));
    assertThat(it.stopping()).isEmpty();
    it.send(new NodeCordoned("n2", false));
    it.finish();
    assertThat(it.fleet()).isEqualTo("v2 RUNNING x3");
    spread("n2 x3");
  }

  // --- lost ---

  @Test
  void whatALostInstanceHostedIsReplacedAtOnceAndNoVersionIsBlamed() {
    it.join("n1", "n2", "n3");
    it.serve("app", model(3));
    int before = it.log.size();
    it.lose("n2");

    assertThat(it.routable(MODEL)).as("published").containsExactly("m1", "m3");
    assertThat(it.asked(NodeGone.class)).containsExactly(new NodeGone("n2"));
    assertThat(starts(before)).as("without a wait").containsExactly("n1");
    is("UNHEALTHY");
    assertThat(message()).isEqualTo("node n2 was lost");
    assertThat(it.details(MODEL).dead())
        .extracting(ReplicaDetails::replicaId, ReplicaDetails::node, ReplicaDetails::reason)
        .containsExactly(tuple("m2", "n2", "node n2 was lost"));
    it.finish();
    is("HEALTHY").spread("n1 x2, n3 x1");

    for (int times = 0; times < 10; times++) {
      it.join("n4");
      it.send(new ControllerEvent.Scaled(MODEL, 4 + times));
      it.finish();
      it.lose("n4");
      it.finish();
      is("HEALTHY");
    }
  }

  @Test
  void aVersionIsNotBlamedForAnInstanceThatIsLostWhileItIsRolledOut() {
    it.join("n1", "n2");
    it.declare("app", model(2));
    it.run("m1");
    it.lose("n2");
    is("UPDATING");
    it.finish();
    is("HEALTHY").spread("n1 x2");
  }

  @Test
  void whatALostInstanceSaysLaterChangesNothing() {
    it.join("n1", "n2");
    it.serve("app", model(2));
    ControllerEvent.ReplicaRunning late =
        new ControllerEvent.ReplicaRunning(DrivenController.info(it.hosted.get("m2")));
    ControllerEvent.Inventory inventory = it.inventory("n2");
    it.lose("n2");
    it.finish();
    String before = it.controller.details(null, null, it.now).toString();
    for (ControllerEvent each :
        List.of(
            late,
            inventory,
            new ControllerEvent.ReplicaStopped("m2"),
            new ControllerEvent.ReplicaHealth("m2", false, "x"),
            new NodeLost("n2"),
            new NodeLeft("n2"),
            new NodeCordoned("n2", true))) {
      assertThat(it.send(each)).as("%s", each).isEmpty();
    }
    assertThat(it.controller.details(null, null, it.now)).hasToString(before);

    it.send(new NodeJoined("n2", null)); // as another number, and what ran before drains there
    it.send(inventory);
    assertThat(it.stopping()).as("nothing that is wanted").isEmpty();
    assertThat(it.asked(StopReplica.class))
        .extracting(StopReplica::node, StopReplica::replicaId)
        .containsExactly(tuple("n2", "m2"));
  }

  // --- left ---

  @Test
  void elsewhereReplicasStartBeforeThoseOfAnInstanceThatLeavesStop() {
    it.join("n1", "n2");
    it.serve("app", model(4));
    it.send(new NodeLeaving("n2"));
    spread("n1 x3, n2 x2").is("HEALTHY");
    assertThat(it.stopping()).isEmpty();
    it.runAll();
    assertThat(it.routable(MODEL)).hasSizeGreaterThanOrEqualTo(4);
    it.finish();
    spread("n1 x4").is("HEALTHY");

    it.send(new NodeLeft("n2"));
    spread("n1 x4").is("HEALTHY");
    it.join("n2");
    it.send(new ControllerEvent.Scaled(MODEL, 6));
    spread("n1 x4, n2 x2");
  }

  @Test
  void alsoWhereARolloutWouldStopOldOnesFirst() {
    it.join("n1", "n2");
    it.serve("app", target(MODEL, "v1", 2, null, 0));
    it.send(new NodeLeaving("n2"));
    spread("n1 x2, n2 x1");
    assertThat(it.stopping()).isEmpty();
    it.finish();
    spread("n1 x2").is("HEALTHY");
  }

  @Test
  void withoutRoomElsewhereTheyServeUntilTheInstanceIsGone() {
    it.join("n1", "n2");
    it.serve("app", atMost(1, 2));
    it.send(new NodeLeaving("n2"));
    spread("n1 x1, n2 x1").is("HEALTHY");
    assertThat(message()).isEqualTo("no node has capacity: max_replicas_per_node 1 on 1 node");
    assertThat(it.stopping()).isEmpty();

    it.lose("n2");
    assertThat(it.routable(MODEL)).containsExactly("m1");
    is("UNHEALTHY");
    assertThat(message()).contains("; no node has capacity");
    it.join("n3");
    it.finish();
    spread("n1 x1, n3 x1").is("HEALTHY");
  }

  @Test
  void oneThatIsToStayAfterAllKeepsWhatItHas() {
    it.join("n1", "n2");
    it.serve("app", atMost(1, 2));
    it.send(new NodeLeaving("n2"));
    it.send(new NodeCordoned("n2", false));
    it.join("n3");
    spread("n1 x1, n2 x1").is("HEALTHY");
    assertThat(message()).isEmpty();
  }

  @Test
  void whatStartsOnAnInstanceThatLeavesIsStartedElsewhere() {
    it.join("n1", "n2");
    it.declare("app", model(2));
    it.send(new NodeLeaving("n2"));
    spread("n1 x2");
    assertThat(it.stopping()).containsExactly("m2");
  }

  // --- told again ---

  @Test
  void whatAnInstanceDoesNotNameWhenItIsBackIsGoneAndWhatItWasToldToStartItIsToldAgain() {
    it.join("n1", "n2");
    it.serve("app", model(2));
    it.send(new ControllerEvent.Scaled(MODEL, 4));
    it.hosted.remove("m2"); // it died, and nobody heard
    it.hosted.remove("m4"); // the command was lost
    int before = it.log.size();
    it.send(it.inventory("n2"));

    assertThat(it.log.subList(before, it.log.size()))
        .filteredOn(StartReplica.class::isInstance)
        .extracting(each -> ((StartReplica) each).replicaId())
        .containsExactlyInAnyOrder("m4", "m5");
    assertThat(it.routable(MODEL)).containsExactly("m1");
    assertThat(it.details(MODEL).dead())
        .extracting(ReplicaDetails::reason)
        .containsExactly("it ended");
    it.finish();
    is("HEALTHY").spread("n1 x2, n2 x2");
  }

  @Test
  void whatWasNotHeardWhileItWasAwayIsTakenOver() {
    it.join("n1", "n2");
    it.declare("app", model(2));
    it.run("m1");
    it.hosted.get("m2").runs = true; // said, and not heard
    it.send(it.inventory("n2"));
    assertThat(it.routable(MODEL)).containsExactly("m1", "m2");

    Settings other =
        DrivenController.with(model(2).settings(), Map.of("a", 1), 100, Rollouts.DEFAULTS, 20);
    it.declare("app", DrivenController.target(MODEL, "v1", "b", other));
    it.hosted.values().stream().filter(each -> each.next != null).forEach(this::takesUnheard);
    it.send(it.inventory("n1"));
    it.send(it.inventory("n2"));
    it.hosted.values().stream().filter(each -> each.next != null).forEach(this::takesUnheard);
    it.send(it.inventory("n1"));
    it.send(it.inventory("n2"));
    is("HEALTHY");

    it.send(new ControllerEvent.Scaled(MODEL, 1));
    DrivenController.Hosted victim = it.hosted.get(it.stopping().get(0));
    victim.stopping = false; // the command was lost
    it.send(it.inventory(victim.node));
    assertThat(it.stopping()).as("told again").containsExactly(victim.id);
    assertThat(it.details(MODEL).replicas()).hasSize(2);
    it.stopAll();
    assertThat(it.details(MODEL).replicas()).hasSize(1);
  }

  private void takesUnheard(DrivenController.Hosted each) {
    each.target = each.next;
    each.next = null;
  }

  @Test
  void whatItHostsAndNobodyKnowsIsStopped() {
    it.join("n1", "n2");
    it.serve("app", model(2));
    it.hosted.put("x", new DrivenController.Hosted("x", "n2", model(2)));
    it.hosted.get("x").runs = true;
    it.send(it.inventory("n2"));
    assertThat(it.stopping()).containsExactly("x");
    spread("n1 x1, n2 x1");
  }

  // --- a controller that follows ---

  private void follow(String... nodes) {
    it.restart(List.of(nodes));
    for (String node : nodes) {
      it.send(new NodeJoined(node, null));
    }
    it.log.clear();
  }

  @Test
  void itWaitsForEachInstanceAndNoTimeEndsThat() {
    it.join("n1", "n2", "n3");
    it.serve("app", model(3));
    follow("n1", "n2", "n3");
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    it.tellInventory();
    it.advance(Duration.ofMinutes(10));
    it.send(it.inventory("n1")); // its link broke meanwhile
    it.send(it.inventory("n3"));
    assertThat(it.asked(StartReplica.class)).isEmpty();
    assertThat(it.asked(StopReplica.class)).isEmpty();
    assertThat(it.asked(ControllerAction.Publish.class)).isEmpty();
    assertThat(it.asked(Recovered.class)).isEmpty();

    it.lose("n2");
    assertThat(it.asked(Recovered.class)).hasSize(1);
    assertThat(starts(0)).containsExactly("n1");
    it.finish();
    spread("n1 x2, n3 x1").is("HEALTHY");
  }

  /**
   * Seed 280823012 of the simulation of lifecycles: a worker alone runs what is declared no more.
   */
  @Test
  void recoveryEndsWithTheBuildsThatAnyInventoryNamed() {
    it.join("n1", "n2");
    it.serve("app", target(MODEL, "v1", 2, null, 20));
    it.serve("other", target(OTHER, "v1", 2, null, 20));
    it.complete.clear();
    it.hosted.values().removeIf(each -> each.node.equals("n1"));
    it.hosted.values().forEach(each -> each.next = target(each.target.id(), "v2", 2, null, 20));
    it.builds = false;
    follow("n1", "n2");
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    it.tellInventory();
    assertThat(it.asked(Recovered.class)).isEmpty();
    it.send(it.inventory("n2"));
    Set<String> both = Set.of("build-v1", "build-v2");
    assertThat(it.asked(Recovered.class))
        .containsExactly(new Recovered(Map.of("app", both, "other", both)));
  }

  /** Seed 293000288 of the simulation of lifecycles: the node is lost before anybody claims it. */
  @Test
  void codeOfALostNodeIsDiscardedWhenNobodyClaimsItsApplication() {
    it.join("n1", "n2");
    it.serve("other", target(OTHER, "v1", 2, null, 20));
    it.complete.clear();
    it.hosted.values().removeIf(each -> each.node.equals("n1"));
    it.builds = false;
    follow("n1", "n2");
    it.tellInventory();
    it.send(it.inventory("n2"));
    assertThat(it.asked(Recovered.class))
        .containsExactly(new Recovered(Map.of("other", Set.of("build-v1"))));
    it.send(new NodeLost("n2"));
    it.advance(Duration.ofNanos(ControllerRecovery.MAX_NANOS));
    assertThat(it.asked(DiscardBuild.class))
        .extracting(DiscardBuild::application, DiscardBuild::build)
        .containsExactly(tuple("other", "build-v1"));
  }

  /** Seeds 91100293 and 91202362 of the cluster simulation. */
  @Test
  void strangerOfANodeWithInventoryIsStoppedDuringRecovery() {
    it.join("n1", "n2", "n3");
    it.serve("app", model(3));
    follow("n1", "n2", "n3");
    it.hosted.put("x", new DrivenController.Hosted("x", "n2", model(3)));
    it.run("x");
    assertThat(it.stopping()).as("its inventory may name it").isEmpty();
    DrivenController.Hosted late = it.hosted.remove("x");
    it.send(it.inventory("n2"));
    it.hosted.put("x", late);
    it.run("x");
    assertThat(it.stopping()).containsExactly("x");
  }

  /** Seed 294000467 of the simulation of lifecycles: a link that breaks amid the wait. */
  @Test
  void inventoryThatIsSentAgainStopsNothingThatMayYetBeClaimed() {
    it.join("n1", "n2");
    it.serve("app", model(2));
    follow("n1", "n2");
    it.tellInventory();
    it.send(it.inventory("n2"));

    it.send(it.inventory("n1"));
    it.send(it.inventory("n2"));

    assertThat(it.stopping()).isEmpty();
  }

  @Test
  void whoNeverCameToItIsWaitedForUntilItIsLost() {
    it.join("n1", "n2");
    it.serve("app", model(2));
    it.restart(List.of("n1", "n2"));
    it.send(new NodeJoined("n1", null));
    it.log.clear();
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    it.send(it.inventory("n1"));
    it.advance(Duration.ofMinutes(1));
    assertThat(it.asked(Recovered.class)).isEmpty();

    it.send(new ControllerEvent.NodeLost("n2"));
    assertThat(it.asked(Recovered.class)).hasSize(1);
  }

  @Test
  void itTakesWhatRunsWhereItRuns() {
    it.join("n1", "n2");
    it.serve("app", model(4));
    follow("n1", "n2");
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    it.tellInventory();
    it.hosted.remove("m2"); // it dies before the second time
    it.send(it.inventory("n2"));
    assertThat(starts(0)).containsExactly("n2");
    assertThat(it.asked(StopReplica.class)).isEmpty();
    assertThat(it.details(MODEL).replicas())
        .extracting(ReplicaDetails::node)
        .containsExactlyInAnyOrder("n1", "n1", "n2", "n2");
  }

  @Test
  void ofAnApplicationThatIsGoneItStopsWhatItFindsOnEveryInstance() {
    it.join("n1", "n2");
    it.serve("app", model(2));
    follow("n1", "n2");
    it.tellInventory();
    it.advance(Duration.ofNanos(ControllerRecovery.MAX_NANOS * 2));
    assertThat(it.stopping()).isEmpty();
    it.send(it.inventory("n2"));
    it.advance(Duration.ofNanos(ControllerRecovery.MAX_NANOS));
    assertThat(it.stopping()).containsExactlyInAnyOrder("m1", "m2");
  }

  // --- load ---

  private void load(String node, double load, long sequence) {
    HandleMetricReport report = new HandleMetricReport(MODEL, 0, 1, 0, load, 0, false, List.of());
    it.apply(
        it.controller.on(
            new HandleMetricBatch(
                node, 1, sequence, List.of(report), List.of(), List.of(), NodeFigures.NONE),
            it.now));
  }

  @Test
  void theLoadOfALostInstanceIsUnknownForALookBackWindowAndThenNone() {
    String keys =
        "min_replicas: 1, max_replicas: 8, target_ongoing_requests: 1, look_back_period_s: 20,"
            + " upscale_delay_s: 0, downscale_delay_s: 0";
    it.join("n1", "n2");
    it.serve("app", DrivenController.autoscaled(MODEL, 1, keys));
    long sequence = 0;
    for (int i = 0; i < 90; i++) {
      it.advance(Duration.ofSeconds(1));
      load("n1", 2, ++sequence);
      load("n2", 4, sequence);
      it.finish();
    }
    assertThat(it.wanted(MODEL)).isEqualTo(6);
    it.lose("n2");
    it.finish();
    for (int i = 0; i < 19; i++) {
      it.advance(Duration.ofSeconds(1));
      load("n1", 2, ++sequence);
      load("n2", 9, sequence); // late
    }
    assertThat(it.wanted(MODEL)).as("nobody knows where its callers went").isEqualTo(6);
    for (int i = 0; i < 60; i++) {
      it.advance(Duration.ofSeconds(1));
      load("n1", 2, ++sequence);
      it.finish();
    }
    assertThat(it.wanted(MODEL)).isEqualTo(2);
  }

  /** A control node that was killed, or a worker that died while there was no controller. */
  @Test
  void nodeLostBeforeItJoinedIsUnknownForOneLookBackWindow() {
    String keys =
        "min_replicas: 1, max_replicas: 8, target_ongoing_requests: 1, look_back_period_s: 20,"
            + " upscale_delay_s: 0, downscale_delay_s: 0, initial_replicas: 4";
    it.join("n1", "n2");
    it.serve("app", DrivenController.autoscaled(MODEL, 1, keys));
    it.restart(List.of("n1", "n2", "gone"));
    it.join("n1", "n2");
    it.send(new ControllerEvent.Declared(it.application("app", "/")));
    long sequence = 0;
    for (int i = 0; i < 45; i++) {
      it.advance(Duration.ofSeconds(1));
      load("n1", 1, ++sequence);
      load("n2", 0, sequence);
    }
    it.send(new ControllerEvent.NodeLost("gone"));
    it.finish();
    for (int i = 0; i < 60; i++) {
      assertThat(it.wanted(MODEL)).as("%d s after the loss", i).isEqualTo(i < 20 ? 4 : 1);
      it.advance(Duration.ofSeconds(1));
      load("n1", 1, ++sequence);
      load("n2", 0, sequence);
      it.finish();
    }
    assertThat(it.controller.autoscaling(MODEL, it.now).inputs().unknown()).isZero();
  }

  @Test
  void anInstanceThatJoinedIsUnknownUntilItHasSaidWhatItKnows() {
    String keys =
        "min_replicas: 1, max_replicas: 8, target_ongoing_requests: 1, look_back_period_s: 5,"
            + " upscale_delay_s: 0, downscale_delay_s: 0, initial_replicas: 4";
    it.join("n1", "n2");
    it.serve("app", DrivenController.autoscaled(MODEL, 1, keys));
    for (int i = 1; i < 30; i++) {
      it.advance(Duration.ofSeconds(1));
      load("n1", 1, i);
    }
    assertThat(it.wanted(MODEL)).isEqualTo(4);
    for (int i = 30; i < 60; i++) {
      it.advance(Duration.ofSeconds(1));
      load("n1", 1, i);
      load("n2", 0, i);
      it.finish();
    }
    assertThat(it.wanted(MODEL)).isEqualTo(1);
    it.send(new NodeLeft("n2"));
    it.advance(Duration.ofSeconds(60));
    assertThat(it.controller.autoscaling(MODEL, it.now).inputs().unknown()).as("n1").isEqualTo(1);
  }
}
