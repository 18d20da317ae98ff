package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.controller.ControllerAction.GrantUpstreams;
import dev.berth.controller.ControllerAction.ProbeOwner;
import dev.berth.controller.ControllerAction.ShareUpstream;
import dev.berth.controller.ControllerEvent.UpstreamReport;
import dev.berth.controller.DrivenController.Hosted;
import dev.berth.desired.NodeRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The sum of an upstream's shares, whichever nodes own it. */
class UpstreamSharesTest {
  private static final DeploymentId MODELS = new DeploymentId("app", "models");
  private static final String KEY = "http://a";

  private final DrivenController it = new DrivenController();
  private NodeRegistry registry = NodeRegistry.NONE;
  private final Map<String, UpstreamShare> shares = new HashMap<>(); // as owners have them
  private int done; // actions of the log that were carried out

  @BeforeEach
  void formCluster() {
    it.inCluster = true;
    begin("n1", "n2~2", "n3~3");
  }

  /** Reports the log's grants, then the nodes. */
  private void begin(String... nodes) {
    it.send(new ControllerEvent.UpstreamsGranted(registry.upstreamGrants()));
    it.join(nodes);
  }

  private static DeploymentTarget target(int version, int maximum, int owners) {
    Map<String, Object> entry =
        Map.of("url", KEY, "max_ongoing_requests", maximum, "owners", owners, "orphan_s", 30);
    return new DeploymentTarget(
        MODELS,
        "b1",
        new DeploymentVersion("proxy", "" + version),
        DeploymentConfig.withReplicas(DeploymentConfig.of("models"), owners)
            .with(DeploymentConfig.UPSTREAMS, List.of(UpstreamOptions.fromUserConfig(entry))));
  }

  /** Commits proposed grants, applies shares, and lets replicas start and stop. */
  private void settle() {
    int turns = 0;
    while (done < it.log.size() || it.hosted.values().stream().anyMatch(each -> !each.runs)) {
      assertThat(++turns).isLessThan(5_000);
      it.runAll();
      it.hosted.values().stream()
          .filter(each -> each.next != null)
          .toList()
          .forEach(each -> it.reconfigured(each.id));
      carryOut();
    }
  }

  private void carryOut() {
    while (done < it.log.size()) {
      ControllerAction action = it.log.get(done++);
      assertThat(done).as("actions until %s", action).isLessThan(5_000);
      if (action instanceof GrantUpstreams change) {
        registry = registry.withGrants(change.grants(), change.ended(), change.limits());
        it.send(new ControllerEvent.UpstreamsGranted(registry.upstreamGrants()));
      } else if (action instanceof ShareUpstream share
          && it.hosted.containsKey(share.replicaId())) {
        assertThat(share.share().maximum()).isLessThanOrEqualTo(granted(share.replicaId()));
        shares.put(share.replicaId(), share.share());
        report(share.replicaId(), 0);
      }
    }
  }

  private int granted(String replicaId) {
    return registry.upstreamGrants().stream()
        .filter(each -> each.replicaId().equals(replicaId))
        .mapToInt(UpstreamGrant::maximum)
        .sum();
  }

  private void report(String replicaId, int ongoing) {
    Hosted hosted = it.hosted.get(replicaId);
    UpstreamShare share = shares.getOrDefault(replicaId, UpstreamShare.NONE);
    it.send(new UpstreamReport(replicaId, share, ongoing, hosted.stopping));
  }

  /** Returns the shares of hosted replicas, such as {@code "m1 n2 4"}. */
  private List<String> shares() {
    return it.hosted.values().stream()
        .map(
            each ->
                "%s %s %d%s"
                    .formatted(
                        each.id,
                        each.node.substring(0, 2),
                        shares.getOrDefault(each.id, UpstreamShare.NONE).maximum(),
                        each.stopping ? " drains" : ""))
        .collect(Collectors.toList());
  }

  private Map<String, Integer> grants() {
    Map<String, Integer> all = new TreeMap<>();
    registry.upstreamGrants().forEach(each -> all.put(each.replicaId(), each.maximum()));
    return all;
  }

  private void declare(int version, int maximum, int owners) {
    it.declare("app", target(version, maximum, owners));
    settle();
  }

  private void advance(Duration time) {
    it.advance(time);
    settle();
  }

  @Test
  void ownerOpensAfterTheCommitOfItsGrant() {
    it.declare("app", target(1, 4, 1));
    it.runAll();

    assertThat(it.log).filteredOn(ShareUpstream.class::isInstance).isEmpty();
    settle();
    assertThat(shares()).containsExactly("m1 n2 4");
    assertThat(grants()).containsExactly(Map.entry("m1", 4));
  }

  @Test
  void ownersOfPartsShareTheMaximum() {
    declare(1, 5, 3);

    assertThat(shares()).containsExactlyInAnyOrder("m1 n2 2", "m2 n3 2", "m3 n1 1");
  }

  @Test
  void raisedMaximumIsCommittedBeforeTheOwnerGrows() {
    declare(1, 4, 1);

    declare(2, 6, 1);

    assertThat(shares()).containsExactly("m1 n2 6");
    assertThat(grants()).containsExactly(Map.entry("m1", 6));
  }

  @Test
  void loweredMaximumCountsOnceTheOwnerConfirmsIt() {
    declare(1, 4, 1);
    report("m1", 4);

    it.declare("app", target(2, 2, 2));
    it.runAll();
    it.reconfigured("m1");
    shares.put("m1", lastShare("m1"));
    report("m1", 2);
    done = it.log.size() - 1; // the lower grant is the last action
    settle();

    assertThat(lastShare("m1").maximum()).isEqualTo(1);
    assertThat(grants()).containsExactly(Map.entry("m1", 2));
    report("m1", 1);
    settle();
    assertThat(grants()).containsExactly(Map.entry("m1", 1), Map.entry("m2", 1));
  }

  private UpstreamShare lastShare(String replicaId) {
    return it.log.stream()
        .filter(ShareUpstream.class::isInstance)
        .map(ShareUpstream.class::cast)
        .filter(each -> each.replicaId().equals(replicaId))
        .reduce((first, last) -> last)
        .orElseThrow()
        .share();
  }

  @Test
  void drainingOwnerReturnsItsSlotsOneByOne() {
    declare(1, 4, 1);
    report("m1", 3);

    it.send(new ControllerEvent.NodeLeaving("n2~2"));
    settle();
    assertThat(shares()).containsExactly("m1 n2 4 drains", "m2 n3 0");
    report("m1", 3);
    settle();
    assertThat(shares()).containsExactly("m1 n2 4 drains", "m2 n3 1");
    report("m1", 0);
    settle();
    assertThat(shares()).containsExactly("m1 n2 4 drains", "m2 n3 4");
    it.stopAll();
    settle();
    assertThat(grants()).containsExactly(Map.entry("m2", 4));
  }

  @Test
  void reportBeforeTheDrainDoesNotCount() {
    declare(1, 4, 1);
    UpstreamShare share = shares.get("m1");

    it.send(new ControllerEvent.NodeLeaving("n2~2"));
    it.send(new UpstreamReport("m1", share, 0, false)); // sent before
    settle();

    assertThat(shares()).containsExactly("m1 n2 4 drains", "m2 n3 0");
  }

  @Test
  void silentOwnerKeepsItsSlots() {
    declare(1, 4, 1);

    it.lose("n2~2");
    settle();
    advance(Duration.ofMinutes(10));

    assertThat(shares()).containsExactly("m2 n3 0");
    assertThat(grants()).containsExactly(Map.entry("m1", 4));
    assertThat(it.details(MODELS).message()).contains("4 of its slots may be in use on node n2");
    assertThat(probes()).isBetween(600L, 602L);
  }

  private long probes() {
    return it.log.stream().filter(ProbeOwner.class::isInstance).count();
  }

  @Test
  void refusedDialFreesTheSlotsOneSecondLater() {
    declare(1, 4, 1);
    it.lose("n2~2");
    settle();

    it.send(new ControllerEvent.OwnerFree("n2~2"));
    advance(Duration.ofMillis(900));
    assertThat(shares()).containsExactly("m2 n3 0");

    advance(Duration.ofMillis(200));
    assertThat(shares()).containsExactly("m2 n3 4");
    assertThat(grants()).containsExactly(Map.entry("m2", 4));
  }

  @Test
  void operatorTakesSlotsOfSilentOwnersOnly() {
    declare(1, 4, 1);
    it.send(new ControllerEvent.UpstreamTaken(KEY));
    settle();
    assertThat(grants()).containsExactly(Map.entry("m1", 4));

    it.lose("n2~2");
    it.send(new ControllerEvent.UpstreamTaken(KEY));
    settle();

    assertThat(shares()).containsExactly("m2 n3 4");
  }

  @Test
  void leavingNodeKeepsItsSlotsUntilItHasLeft() {
    declare(1, 4, 1);
    report("m1", 4);
    it.send(new ControllerEvent.NodeLeaving("n2~2"));
    settle();
    report("m1", 4);
    advance(Duration.ofSeconds(30));
    assertThat(shares()).containsExactly("m1 n2 4 drains", "m2 n3 0");

    it.hosted.remove("m1");
    it.send(new ControllerEvent.NodeLeft("n2~2"));
    advance(Duration.ofMillis(1_100));

    assertThat(shares()).containsExactly("m2 n3 4");
  }

  @Test
  void leaseEndsAfterItsTimeAndThatOfTheUpstream() {
    it.leaseMillis = 10_000;
    it.restart(List.of());
    begin("n1", "n2~2", "n3~3");
    declare(1, 4, 1);
    assertThat(shares.get("m1").leaseMillis()).isEqualTo(10_000);
    it.lose("n2~2");
    settle();

    long grace = target(1, 4, 1).settings().get(DeploymentConfig.CANCEL_GRACE_S).toMillis();
    advance(Duration.ofMillis(11_000 + 1_000 + grace + 30_000 - 100));
    assertThat(shares()).containsExactly("m2 n3 0");

    advance(Duration.ofMillis(200));
    assertThat(shares()).containsExactly("m2 n3 4");
  }

  @Test
  void deletedApplicationDeclaredAgainWaitsForItsDrain() {
    declare(1, 4, 1);
    it.send(new ControllerEvent.Withdrawn("app"));
    report("m1", 3);
    settle();
    List<ControllerAction> before = new ArrayList<>(it.log);
    it.declare("app", target(2, 4, 1));
    settle();

    assertThat(it.log.size()).isGreaterThan(before.size());
    int all = grants().values().stream().mapToInt(each -> each).sum();
    assertThat(all).isLessThanOrEqualTo(4);
  }

  @Test
  void nextControllerKeepsTheSlotsOfSilentOwners() {
    declare(1, 4, 1);
    it.lose("n2~2");
    settle();

    it.restart(List.of("n1", "n3~3"));
    it.send(new ControllerEvent.UpstreamsGranted(registry.upstreamGrants()));
    it.declare("app", target(1, 4, 1));
    it.join("n1", "n3~3");
    settle();
    advance(Duration.ofMinutes(5));

    assertThat(grants()).containsExactly(Map.entry("m1", 4));
    assertThat(shares()).containsExactly("m2 n3 0");
  }

  @Test
  void earlierLossOfANodeEndsNoLeaseOfItsLaterLeave() {
    it.leaseMillis = 10_000;
    it.restart(List.of());
    begin("n1", "n2~2", "n3~3");
    declare(1, 4, 1);
    Hosted drains = it.hosted.get("m1");
    it.lose("n2~2");
    drains.stopping = true; // it returns with a fresh registration
    it.hosted.put("m1", drains);
    it.join("n2~2");
    report("m1", 3);
    advance(Duration.ofMinutes(5));
    assertThat(grants()).containsExactly(Map.entry("m1", 3), Map.entry("m2", 1));

    it.hosted.remove("m1");
    it.send(new ControllerEvent.NodeLeft("n2~2"));
    settle();
    assertThat(grants()).containsExactly(Map.entry("m1", 3), Map.entry("m2", 1));
    advance(Duration.ofMillis(1_100));
    assertThat(grants()).containsExactly(Map.entry("m2", 4));
  }

  @Test
  void shareLostWithItsLinkIsSentAgain() {
    declare(1, 4, 1);
    it.reports.put("m1", new UpstreamReport("m1", shares.get("m1"), 0, false));
    declare(2, 6, 1);
    assertThat(shares.remove("m1").maximum()).isEqualTo(6); // but it never arrived

    it.send(it.inventory("n2~2"));
    settle();

    assertThat(shares.get("m1").maximum()).isEqualTo(6);
  }

  @Test
  void grantThatIsCommittedAfterTheEndOfItsReplicaEnds() {
    it.declare("app", target(1, 4, 1));
    it.runAll();
    assertThat(it.log).anyMatch(GrantUpstreams.class::isInstance);

    it.die("m1");
    settle();
    advance(Duration.ofMinutes(1));

    assertThat(grants()).containsExactly(Map.entry("m2", 4));
  }

  @Test
  void grantOfAnEndedReplicaEndsThoughTheInventoryCameFirst() {
    declare(1, 4, 1);
    it.hosted.remove("m1");
    it.restart(List.of("n1", "n2~2", "n3~3"));
    it.declare("app", target(1, 4, 1));
    it.join("n1", "n2~2", "n3~3");
    it.runAll();
    assertThat(it.asked(GrantUpstreams.class)).hasSize(1); // of the earlier controller

    it.send(new ControllerEvent.UpstreamsGranted(registry.upstreamGrants()));
    done = it.log.size() - 1;
    settle();
    advance(Duration.ofMinutes(1));

    assertThat(grants()).containsExactly(Map.entry("m2", 4));
  }

  @Test
  void refusedChangeOfAnUpstreamHoldsNoOther() {
    UpstreamGrant a = new UpstreamGrant("m1", KEY, "n1~1", "h", 7, 4, 0, 1_000, 1_000);
    UpstreamGrant b = new UpstreamGrant("m2", "http://b", "n1~1", "h", 7, 4, 0, 1_000, 1_000);
    UpstreamGrant rival = new UpstreamGrant("m3", KEY, "n2~2", "h", 7, 1, 0, 1_000, 1_000);
    NodeRegistry before =
        registry.withGrants(List.of(a, b), Set.of(), Map.of(KEY, 4, "http://b", 4));

    NodeRegistry after =
        before.withGrants(
            List.of(a.with(5, 0), rival), Set.of("m2"), Map.of(KEY, 4, "http://b", 4));

    assertThat(before.upstreamGrants()).containsExactly(a, b);
    assertThat(after.upstreamGrants()).containsExactly(a);
    assertThat(after.withGrants(List.of(rival), Set.of(), Map.of(KEY, 4))).isSameAs(after);
  }

  @Test
  void nextControllerDoesNothingBeforeTheGrantsOfTheLog() {
    declare(1, 4, 1);
    it.restart(List.of("n1", "n2~2", "n3~3"));
    it.declare("app", target(2, 6, 1));
    it.reports.put("m1", new UpstreamReport("m1", shares.get("m1"), 0, false));
    List<ControllerAction> before = List.copyOf(it.log);
    it.join("n1", "n2~2", "n3~3");
    it.reconfigured("m1");

    assertThat(it.log.subList(before.size(), it.log.size()))
        .noneMatch(each -> each instanceof ShareUpstream || each instanceof GrantUpstreams);
    it.send(new ControllerEvent.UpstreamsGranted(registry.upstreamGrants()));
    settle();
    assertThat(shares.get("m1").maximum()).isEqualTo(6);
  }

  @Test
  void endsOfOwnersBlameNoVersion() {
    declare(1, 4, 1);
    declare(2, 6, 3);
    it.hosted.clear(); // their leases have ended
    List.of("n1", "n2~2", "n3~3").forEach(node -> it.send(it.inventory(node)));
    settle();
    advance(Duration.ofMinutes(1));

    assertThat(it.state(MODELS)).startsWith("HEALTHY");
    assertThat(grants().values()).containsExactly(2, 2, 2);
  }

  @Test
  void returnOfASilentOwnerEndsTheWakesForItsLease() {
    it.leaseMillis = 10_000;
    it.restart(List.of());
    begin("n1", "n2~2", "n3~3");
    declare(1, 4, 1);
    it.lose("n2~2");
    settle();
    it.send(new ControllerEvent.NodeJoined("n2~2", null)); // its inventory is late

    long until = it.now + Duration.ofMinutes(5).toNanos();
    for (int wakes = 0; it.controller.nextWakeNanos() <= until; wakes++) {
      assertThat(wakes).isLessThan(1_000);
      it.now = Math.max(it.now, it.controller.nextWakeNanos());
      it.apply(it.controller.wake(it.now));
    }
    settle();
    assertThat(grants()).containsEntry("m1", 4);
  }

  @Test
  void secondReplicaOfAKeyThatIsFoundStops() {
    declare(1, 4, 1);
    Hosted lost = new Hosted("m9", "n3~3", it.hosted.get("m1").target, KEY);
    lost.runs = true;
    it.hosted.put("m9", lost); // its node was lost before
    it.restart(List.of("n1", "n2~2", "n3~3"));
    it.declare("app", target(1, 4, 1));
    begin("n1", "n2~2", "n3~3");
    settle();

    assertThat(it.stopping()).hasSize(1);
    it.stopAll();
    settle();
    advance(Duration.ofMinutes(1));
    assertThat(grants().values()).containsExactly(4);
    assertThat(it.state(MODELS)).startsWith("HEALTHY");
  }

  @Test
  void longerLeaseOfTheNextControllerIsGrantedOnce() {
    it.leaseMillis = 10_000;
    it.restart(List.of());
    begin("n1", "n2~2", "n3~3");
    declare(1, 4, 1);

    it.leaseMillis = 20_000;
    it.reports.put("m1", new UpstreamReport("m1", shares.get("m1"), 0, false));
    it.restart(List.of("n1", "n2~2", "n3~3"));
    it.send(new ControllerEvent.UpstreamsGranted(registry.upstreamGrants()));
    it.declare("app", target(1, 4, 1));
    it.join("n1", "n2~2", "n3~3");
    settle();

    assertThat(shares.get("m1").leaseMillis()).isEqualTo(20_000);
    assertThat(registry.upstreamGrants())
        .extracting(UpstreamGrant::leaseMillis)
        .containsExactly(20_000L);
  }

  @Test
  void ownerThatReturnsToTheNextControllerEndsItsSecondReplica() {
    declare(1, 4, 1);
    Hosted m1 = it.hosted.get("m1");
    it.lose("n2~2");
    settle();
    assertThat(shares()).containsExactly("m2 n3 0");

    it.hosted.put("m1", m1); // returns while the next controller starts
    it.reports.put("m1", new UpstreamReport("m1", shares.get("m1"), 0, false));
    it.reports.put("m2", new UpstreamReport("m2", UpstreamShare.NONE, 0, false));
    it.restart(List.of("n1", "n2~2", "n3~3"));
    it.send(new ControllerEvent.UpstreamsGranted(registry.upstreamGrants()));
    it.declare("app", target(1, 4, 1));
    it.join("n1", "n2~2", "n3~3");
    settle();
    it.stopAll();
    advance(Duration.ofMinutes(1));
    assertThat(it.state(MODELS)).startsWith("HEALTHY");
    assertThat(shares()).containsExactly("m1 n2 4");

    it.send(new ControllerEvent.NodeLeaving("n2~2"));
    settle();
    it.stopAll();
    advance(Duration.ofMinutes(1));

    assertThat(it.state(MODELS)).startsWith("HEALTHY");
    assertThat(shares()).containsExactly("m3 n3 4");
  }

  @Test
  void longerEndOfAnUpstreamCountsForItsOwner() {
    declare(1, 4, 1);
    Map<String, Object> entry =
        Map.of("url", KEY, "max_ongoing_requests", 4, "orphan_s", 300, "stops_on_close", false);
    it.declare(
        "app",
        new DeploymentTarget(
            MODELS,
            "b1",
            new DeploymentVersion("proxy", "2"),
            DeploymentConfig.withReplicas(DeploymentConfig.of("models"), 1)
                .with(DeploymentConfig.UPSTREAMS, List.of(UpstreamOptions.fromUserConfig(entry)))));
    settle();
    it.lose("n2~2");
    settle();

    it.send(new ControllerEvent.OwnerFree("n2~2"));
    advance(Duration.ofSeconds(300));
    assertThat(shares()).containsExactly("m2 n3 0");

    advance(Duration.ofSeconds(2));
    assertThat(shares()).containsExactly("m2 n3 4");
  }

  @Test
  void silentOwnerUnderAnEarlierSettingHoldsTheUpstream() {
    UpstreamGrant earlier =
        new UpstreamGrant("m0", KEY + " at 10.0.0.1", "n9~9", "h", 1, 4, 0, 1_000, 40_000);
    registry = registry.withGrants(List.of(earlier), Set.of(), Map.of(earlier.upstream(), 4));
    it.send(new ControllerEvent.UpstreamsGranted(registry.upstreamGrants()));

    declare(1, 4, 1);
    assertThat(shares()).containsExactly("m1 n2 0");

    it.send(new ControllerEvent.OwnerFree("n9~9"));
    advance(Duration.ofSeconds(2));
    assertThat(shares()).containsExactly("m1 n2 4");
    assertThat(grants()).containsExactly(Map.entry("m1", 4));
  }

  @Test
  void ownerThatReturnsBeforeItsSlotsMoveKeepsThem() {
    declare(1, 4, 1);
    Hosted m1 = it.hosted.get("m1");
    it.lose("n2~2");
    settle();
    it.send(new ControllerEvent.OwnerFree("n2~2")); // wrongly: a packet filter refused

    it.hosted.put("m1", m1);
    m1.stopping = true; // its registration is new
    it.reports.put("m1", new UpstreamReport("m1", shares.get("m1"), 3, true));
    begin("n2~2");
    advance(Duration.ofSeconds(5));

    assertThat(grants()).containsEntry("m1", 3);
  }
}
