package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.controller.ControllerAction.GrantUpstreams;
import dev.berth.controller.ControllerAction.ShareUpstream;
import dev.berth.controller.DrivenController.Hosted;
import dev.berth.desired.NodeRegistry;
import dev.berth.view.DeploymentStatus;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Replicas of upstreams with one replica per node or per address, and moves of owners. */
class UpstreamPlacesTest {
  private static final DeploymentId MODELS = new DeploymentId("app", "models");
  private static final String KEY = "http://127.0.0.1:8000";
  private static final String NAMED = "http://models:8000";

  private final DrivenController it = new DrivenController();
  private NodeRegistry registry = NodeRegistry.NONE;
  private int done; // actions of the log that were carried out

  private static DeploymentTarget target(int version, Map<String, ?> more) {
    String url = more.containsKey("resolve") ? NAMED : KEY;
    Map<String, Object> entry = new HashMap<>(Map.of("url", url, "max_ongoing_requests", 4));
    entry.putAll(more);
    return new DeploymentTarget(
        MODELS,
        "b1",
        new DeploymentVersion("proxy", "" + version),
        DeploymentConfig.withReplicas(DeploymentConfig.of("models"), 1)
            .with(DeploymentConfig.UPSTREAMS, List.of(UpstreamOptions.fromUserConfig(entry))));
  }

  private static DeploymentTarget local(int version) {
    return target(version, Map.of("local", true));
  }

  private void cluster(String... nodes) {
    it.inCluster = true;
    it.send(new ControllerEvent.UpstreamsGranted(registry.upstreamGrants()));
    it.join(nodes);
  }

  /** Commits grants, applies shares, and lets replicas start. */
  private void settle() {
    it.runAll();
    while (done < it.log.size()) {
      ControllerAction action = it.log.get(done++);
      if (action instanceof GrantUpstreams change) {
        registry = registry.withGrants(change.grants(), change.ended(), change.limits());
        it.send(new ControllerEvent.UpstreamsGranted(registry.upstreamGrants()));
      } else if (action instanceof ShareUpstream of && it.hosted.containsKey(of.replicaId())) {
        report(of.replicaId(), of.share());
      }
      it.runAll();
    }
  }

  private void report(String replicaId, UpstreamShare share) {
    boolean drains = it.hosted.get(replicaId).stopping;
    it.send(new ControllerEvent.UpstreamReport(replicaId, share, 0, drains));
  }

  private List<String> hosted() {
    return it.hosted.values().stream().map(UpstreamPlacesTest::text).toList();
  }

  private static String text(Hosted each) {
    String key = each.upstream.replace(KEY, "key").replace(NAMED, "m");
    return "%s, %s%s".formatted(key, each.node, each.stopping ? ", drains" : "");
  }

  private Stream<String> grants() {
    return registry.upstreamGrants().stream()
        .map(each -> each.upstream().replace(KEY, "key") + " " + each.maximum());
  }

  @Test
  void localUpstreamHasAReplicaWithTheWholeMaximumOnEachNode() {
    cluster("n1", "n2~2", "n3~3");
    it.declare("app", local(1));
    settle();

    assertThat(hosted()).containsOnly("key on n1, n1", "key on n2, n2~2", "key on n3, n3~3");
    assertThat(grants()).containsExactly("key on n1 4", "key on n2 4", "key on n3 4");
    assertThat(it.state(MODELS)).startsWith("HEALTHY");
    assertThat(it.details(MODELS).targetReplicas()).isEqualTo(3);
  }

  @Test
  void joiningNodeGetsOneReplicaAndLeavingNodeDrains() {
    cluster("n1", "n2~2");
    it.declare("app", local(1));
    settle();
    it.join("n4~4");
    settle();
    assertThat(hosted()).contains("key on n4, n4~4").hasSize(3);

    it.send(new ControllerEvent.NodeLeaving("n2~2"));
    settle();
    assertThat(hosted()).contains("key on n2, n2~2, drains").hasSize(3);
    it.stopAll();
    settle();
    assertThat(hosted()).containsOnly("key on n1, n1", "key on n4, n4~4");
    assertThat(it.details(MODELS).targetReplicas()).isEqualTo(2);
  }

  @Test
  void cordonedAndSuspectedNodesKeepTheirLocalUpstream() {
    cluster("n1", "n2~2");
    it.declare("app", local(1));
    settle();

    it.send(new ControllerEvent.NodeCordoned("n1", true));
    it.send(new ControllerEvent.NodeSuspected("n2~2", true));
    settle();

    assertThat(hosted()).containsOnly("key on n1, n1", "key on n2, n2~2");
  }

  @Test
  void nodeThatReturnsAsAnotherProcessWaitsForItsEarlierSlots() {
    cluster("n1", "n2~2");
    it.declare("app", local(1));
    settle();

    it.lose("n2~2");
    it.join("n2~3");
    settle();
    assertThat(hosted()).containsOnly("key on n1, n1", "key on n2, n2~3");
    assertThat(grants()).containsOnly("key on n1 4", "key on n2 4");
    assertThat(registry.upstreamGrants())
        .extracting(UpstreamGrant::node)
        .containsOnly("n1", "n2~2");
  }

  @Test
  void oneReplicaEndsBeforeItsLocalSuccessorsStart() {
    cluster("n1", "n2~2");
    it.declare("app", target(1, Map.of()));
    settle();
    it.declare("app", local(2));
    settle();

    assertThat(hosted()).containsExactly("key, n2~2, drains");
    it.stopAll();
    settle();
    assertThat(hosted()).containsOnly("key on n1, n1", "key on n2, n2~2");
    it.declare("app", target(3, Map.of()));
    settle();
    assertThat(hosted()).containsOnly("key on n1, n1, drains", "key on n2, n2~2, drains");
    it.stopAll();
    settle();
    assertThat(hosted()).hasSize(1).allMatch(each -> each.startsWith("key, "));
  }

  @Test
  void localChangesNothingWithoutACluster() {
    it.serve("app", local(1));

    assertThat(hosted()).containsExactly("key, n1");
  }

  // --- addresses ---

  private static DeploymentTarget byAddress(int version) {
    return target(version, Map.of("resolve", "addresses"));
  }

  private void answer(String... addresses) {
    it.send(new ControllerEvent.UpstreamResolved("models", List.of(addresses), ""));
    it.finish();
  }

  /** Answers each of the next look-ups, 5 s apart. */
  private void answerNext(String... addresses) {
    long before = lookUps();
    it.advance(Duration.ofSeconds(5));
    assertThat(lookUps()).isEqualTo(before + 1);
    answer(addresses);
  }

  private long lookUps() {
    return it.log.stream().filter(ControllerAction.ResolveUpstream.class::isInstance).count();
  }

  @Test
  void eachAddressHasAReplicaFromItsFirstAnswerUntilThreeLackIt() {
    it.serve("app", byAddress(1));
    assertThat(hosted()).isEmpty();
    assertThat(it.details(MODELS).message()).contains("addresses are not known yet");
    assertThat(it.details(MODELS).status()).isEqualTo(DeploymentStatus.UPDATING);

    answer("10.0.0.2", "10.0.0.1");
    assertThat(hosted()).containsExactly("m at 10.0.0.1, n1", "m at 10.0.0.2, n1");
    assertThat(it.details(MODELS).status()).isEqualTo(DeploymentStatus.HEALTHY);
    answerNext("10.0.0.1", "10.0.0.3");
    assertThat(hosted()).hasSize(3);
    answerNext("10.0.0.1");
    answerNext("10.0.0.1", "10.0.0.3");
    assertThat(hosted()).containsExactly("m at 10.0.0.1, n1", "m at 10.0.0.3, n1");
  }

  @Test
  void failedLookUpChangesNothing() {
    it.serve("app", byAddress(1));
    answer("10.0.0.1");
    for (int i = 0; i < 5; i++) {
      it.advance(Duration.ofSeconds(5));
      it.send(new ControllerEvent.UpstreamResolved("models", List.of(), "no answer"));
    }
    assertThat(hosted()).containsExactly("m at 10.0.0.1, n1");
    assertThat(it.details(MODELS).message()).contains(NAMED + ": not resolved: no answer");
    assertThat(it.details(MODELS).status()).isEqualTo(DeploymentStatus.HEALTHY);
    answerNext("10.0.0.1");
    assertThat(it.details(MODELS).message()).isEmpty();
  }

  @Test
  void nextControllerKeepsFoundAddressesUntilThreeAnswersLackThem() {
    it.serve("app", byAddress(1));
    answer("10.0.0.1", "10.0.0.2");

    it.restart();
    it.declare("app", byAddress(1));
    it.tellInventory();
    it.finish();
    assertThat(hosted()).hasSize(2);
    answer("10.0.0.2");
    answerNext("10.0.0.2");
    assertThat(hosted()).hasSize(2);
    answerNext("10.0.0.2");
    assertThat(hosted()).containsExactly("m at 10.0.0.2, n1");
  }

  @Test
  void atMostSixtyFourAddressesAreUsed() {
    it.serve("app", byAddress(1));
    answer(IntStream.range(100, 170).mapToObj(i -> "10.0.0." + i).toArray(String[]::new));

    assertThat(hosted()).hasSize(64).contains("m at 10.0.0.163, n1");
    assertThat(it.details(MODELS).message())
        .isEqualTo("upstream " + NAMED + ": 70 addresses, the first 64 of which are used");
    assertThat(it.details(MODELS).status()).isEqualTo(DeploymentStatus.HEALTHY);
  }

  @Test
  void namesAreLookedUpOnlyWhileADeploymentWantsThem() {
    it.serve("app", byAddress(1));
    it.advance(Duration.ofMinutes(1));
    assertThat(lookUps()).isOne(); // not answered yet
    answer("10.0.0.1");
    it.serve("app", target(2, Map.of()));
    it.advance(Duration.ofMinutes(1));
    assertThat(hosted()).containsExactly("key, n1");
    assertThat(lookUps()).isOne();
    it.serve("app", byAddress(3));
    assertThat(lookUps()).isEqualTo(2);
    it.send(new ControllerEvent.Withdrawn("app"));
    it.finish();
    it.advance(Duration.ofMinutes(1));
    assertThat(lookUps()).isEqualTo(2);
    assertThat(it.controller.nextWakeNanos()).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void eachAddressHasTheWholeMaximumInACluster() {
    cluster("n1", "n2~2", "n3~3");
    it.declare("app", byAddress(1));
    it.send(new ControllerEvent.UpstreamResolved("models", List.of("10.0.0.1", "10.0.0.2"), ""));
    settle();
    assertThat(hosted()).containsExactly("m at 10.0.0.1, n2~2", "m at 10.0.0.2, n3~3");
    assertThat(registry.upstreamGrants())
        .allSatisfy(each -> assertThat(each.maximum()).isEqualTo(4))
        .extracting(UpstreamGrant::upstream)
        .containsExactly(NAMED + " at 10.0.0.1", NAMED + " at 10.0.0.2");
  }

  // --- owners that do not reach their upstream ---

  private List<ControllerAction.ProbeUpstream> probes() {
    return it.asked(ControllerAction.ProbeUpstream.class);
  }

  private void closed(String replicaId, boolean unreachable) {
    String reason = "closed: connect: timed out";
    it.send(new ControllerEvent.ReplicaWaits(replicaId, reason, unreachable));
  }

  private void probed(String node, boolean reachable) {
    String owner = it.hosted.keySet().iterator().next();
    it.send(new ControllerEvent.UpstreamProbed(owner, node, reachable));
    settle();
  }

  private void serveOnSecondNode() {
    cluster("n1", "n2~2", "n3~3");
    it.declare("app", target(1, Map.of()));
    settle();
    assertThat(hosted()).containsExactly("key, n2~2");
  }

  @Test
  void unreachableUpstreamMovesToTheNodeThatReachesIt() {
    serveOnSecondNode();
    closed("m1", true);
    it.advance(Duration.ofMillis(9_900));
    assertThat(probes()).isEmpty();
    it.advance(Duration.ofMillis(100));
    assertThat(probes()).extracting(ControllerAction.ProbeUpstream::node).containsExactly("n1");
    it.advance(Duration.ofSeconds(6));
    assertThat(probes()).hasSize(1); // one at a time
    probed("n1", false);
    it.advance(Duration.ZERO);
    assertThat(probes()).last().extracting(ControllerAction.ProbeUpstream::node).isEqualTo("n3~3");
    probed("n1", true); // late
    assertThat(hosted()).containsExactly("key, n2~2");

    probed("n3~3", true);

    assertThat(hosted()).containsExactly("key, n2~2, drains", "key, n3~3");
    assertThat(it.asked(ControllerAction.StopReplica.class))
        .extracting(ControllerAction.StopReplica::reason)
        .containsExactly("its upstream is reachable from n3");
    report("m1", UpstreamShare.NONE);
    settle();
    assertThat(registry.upstreamGrants())
        .filteredOn(each -> each.maximum() > 0)
        .extracting(UpstreamGrant::node)
        .containsExactly("n3~3");
  }

  @Test
  void reachableUpstreamAndOneClosedForAnotherReasonStay() {
    serveOnSecondNode();
    closed("m1", false); // a Retry-After
    it.advance(Duration.ofMinutes(1));
    assertThat(probes()).isEmpty();
    closed("m1", true);
    it.advance(Duration.ofSeconds(10));
    it.send(new ControllerEvent.ReplicaWaits("m1", "", false));
    probed("n1", true);
    it.advance(Duration.ofMinutes(1));
    assertThat(probes()).hasSize(1);
    assertThat(hosted()).containsExactly("key, n2~2");
  }

  @Test
  void probesGoToEachOtherOpenNodeInTurnAtMostOneInFiveSeconds() {
    serveOnSecondNode();
    closed("m1", true);
    it.send(new ControllerEvent.NodeCordoned("n1", true));
    it.advance(Duration.ofSeconds(10));
    for (int i = 0; i < 4; i++) {
      probed("n3~3", false);
      it.advance(Duration.ofMillis(4_900));
      assertThat(probes()).hasSize(1 + i);
      it.advance(Duration.ofMillis(100));
    }
    assertThat(probes()).extracting(ControllerAction.ProbeUpstream::node).containsOnly("n3~3");
    it.advance(Duration.ofMinutes(1)); // its answer is lost
    assertThat(probes()).hasSize(6);
  }

  @Test
  void nextControllerLearnsFromTheInventoryThatAnUpstreamIsUnreachable() {
    serveOnSecondNode();
    it.reports.put(
        "m1", new ControllerEvent.UpstreamReport("m1", UpstreamShare.NONE, 0, false, true));
    it.restart(List.of("n1", "n2~2", "n3~3"));
    it.declare("app", target(1, Map.of()));
    cluster("n1", "n2~2", "n3~3");
    it.advance(Duration.ofSeconds(10));
    assertThat(probes()).hasSize(1);
  }

  @Test
  void noUpstreamMovesWithoutAClusterOrFromItsNode() {
    it.serve("app", target(1, Map.of()));
    closed("m1", true);
    it.advance(Duration.ofMinutes(1));
    assertThat(probes()).isEmpty();
    cluster("n1", "n2~2");
    it.declare("app", local(2));
    settle();
    it.hosted.keySet().forEach(id -> closed(id, true));
    it.advance(Duration.ofMinutes(1));
    assertThat(probes()).isEmpty();
  }
}
