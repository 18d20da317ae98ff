package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.controller.ControllerAction.GrantUpstreams;
import dev.berth.controller.ControllerAction.ShareUpstream;
import dev.berth.controller.DrivenController.Hosted;
import dev.berth.desired.NodeRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Replicas of upstreams with one replica per node. */
class UpstreamPlacesTest {
  private static final DeploymentId MODELS = new DeploymentId("app", "models");
  private static final String KEY = "http://127.0.0.1:8000";

  private final DrivenController it = new DrivenController();
  private NodeRegistry registry = NodeRegistry.NONE;
  private int done; // actions of the log that were carried out

  private static DeploymentTarget target(int version, Map<String, ?> more) {
    Map<String, Object> entry = new HashMap<>(Map.of("url", KEY, "max_ongoing_requests", 4));
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
    it.send(new ControllerEvent.UpstreamsGranted(registry.granted()));
    it.join(nodes);
  }

  /** Commits grants, applies shares, and lets replicas start. */
  private void settle() {
    it.runAll();
    while (done < it.log.size()) {
      ControllerAction action = it.log.get(done++);
      if (action instanceof GrantUpstreams change) {
        registry = registry.granting(change.grants(), change.ended(), change.limits());
        it.send(new ControllerEvent.UpstreamsGranted(registry.granted()));
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
    String key = each.upstream.replace(KEY, "key");
    return "%s, %s%s".formatted(key, each.node, each.stopping ? ", drains" : "");
  }

  private Stream<String> grants() {
    return registry.granted().stream()
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
  void joiningNodeGetsAReplicaAndALeavingOneDrains() {
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
    assertThat(registry.granted()).extracting(UpstreamGrant::node).containsOnly("n1", "n2~2");
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
}
