package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.controller.ControllerAction.ShareUpstream;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.ControllerEvent.ReplicaDraining;
import dev.berth.controller.ControllerEvent.ReplicaFailed;
import dev.berth.controller.ControllerEvent.ReplicaReconfigured;
import dev.berth.controller.ControllerEvent.ReplicaRunning;
import dev.berth.controller.ControllerEvent.ReplicaStopped;
import dev.berth.controller.ControllerEvent.ReplicaWaits;
import dev.berth.controller.ControllerEvent.UpstreamReport;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.UpstreamShare;
import dev.berth.replica.Replica;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The shares of upstreams on a node: no slot without one, and true reports of the slots in use. */
class LocalSharesTest extends InstanceUpstreamsRig {
  private static final long LEASE_MS = 10_000;
  private static final Duration REPORT = Duration.ofNanos(LocalShares.REPORT_NANOS);

  private final DeploymentTarget target = target(3, 8000);

  LocalSharesTest() {
    super(true);
  }

  private static UpstreamShare share(long number, int maximum) {
    return new UpstreamShare(number, maximum, 0);
  }

  private static UpstreamShare leased(long number, int maximum) {
    return new UpstreamShare(number, maximum, LEASE_MS);
  }

  private void command(String id, UpstreamShare share) {
    replicas.share(new ShareUpstream(EPOCH, EPOCH.node(), id, share));
  }

  private Replica opened(UpstreamShare share) {
    Replica replica = running(target);
    command("r1", share);
    events();
    return replica;
  }

  private static UpstreamReport report(UpstreamShare share, int ongoing, boolean draining) {
    return new UpstreamReport("r1", share, ongoing, draining);
  }

  @Test
  void replicaWithoutShareGrantsNothing() {
    Replica replica = running(target);

    assertThat(replica.slots().tryAcquire()).isFalse();
    assertThat(replicas.inventory())
        .singleElement()
        .satisfies(
            found -> assertThat(found.waits()).isEqualTo("closed: no share of the upstream yet"),
            found -> assertThat(found.info().maxOngoing()).isEqualTo(3),
            found -> assertThat(found.report()).isEqualTo(report(UpstreamShare.NONE, 0, false)));
  }

  @Test
  void shareOpensTheReplicaAndIsReportedAlsoWhenRepeated() {
    Replica replica = running(target);

    command("r1", share(7, 2));
    assertThat(events()).containsExactly(new ReplicaWaits("r1", ""), report(share(7, 2), 0, false));
    assertThat(replica.slots().tryAcquire() && replica.slots().tryAcquire()).isTrue();
    assertThat(replica.slots().tryAcquire()).isFalse();

    command("r1", share(7, 2));
    assertThat(events()).containsExactly(report(share(7, 2), 2, false));
    assertThat(replicas.inventory().get(0).report()).isEqualTo(report(share(7, 2), 2, false));
  }

  @Test
  void closedReplicaOpensWithItsShareAndSettingsDoNotChangeIt() {
    Replica replica = running(target);
    gate.close("refused", false);
    command("r1", share(7, 2));
    assertThat(replica.slots().maxOngoing()).isZero();

    gate.open();
    events();
    reconfigure(target(9, 8000));

    assertThat(events()).containsExactly(new ReplicaReconfigured("r1", target(9, 8000).version()));
    assertThat(configs.get(1)).containsEntry("max_ongoing_requests", 9);
    assertThat(replica.slots().maxOngoing()).isEqualTo(2);
  }

  @Test
  void shareOfAStartingReplicaIsAppliedOnceItRuns() {
    start("r1", target);
    command("r1", share(6, 1));
    command("r1", share(7, 2));
    assertThat(replicas.inventory().get(0).report())
        .isEqualTo(report(UpstreamShare.NONE, 0, false));

    assertThat(events())
        .satisfiesExactly(
            first -> assertThat(first).isInstanceOf(ReplicaRunning.class),
            opens -> assertThat(opens).isEqualTo(new ReplicaWaits("r1", "")),
            last -> assertThat(last).isEqualTo(report(share(7, 2), 0, false)));
    assertThat(plane.host.replicas().get(0).slots().maxOngoing()).isEqualTo(2);
  }

  @Test
  void shareOfAnUnknownReplicaReportsItsEnd() {
    command("r1", share(7, 2));
    assertThat(events()).containsExactly(new ReplicaStopped("r1"));

    start("r1", target);
    assertThat(events()).containsExactly(new ReplicaStopped("r1"));
    assertThat(starts).isZero();
  }

  @Test
  void secondReplicaOfAKeyRunsBesideADrainingReplica() {
    Replica first = opened(share(7, 2));
    first.slots().tryAcquire();
    stop("r1");
    events();

    start("r2", target);
    assertThat(events()).singleElement().isInstanceOf(ReplicaRunning.class);
    command("r2", share(8, 1));
    assertThat(events()).contains(new UpstreamReport("r2", share(8, 1), 0, false));
    assertThat(first.slots().tryAcquire()).isFalse();
  }

  @Test
  void drainingReplicaReportsEachFallOfItsSlotsAndNoRise() {
    Replica replica = opened(share(7, 3));
    replica.slots().tryAcquire();
    replica.slots().tryAcquire();
    var lease = replica.slots().hold(TimeUnit.SECONDS.toNanos(60));
    stop("r1");
    assertThat(events()).containsExactly(new ReplicaDraining("r1"), report(share(7, 3), 3, true));

    timer.pass(REPORT.multipliedBy(2));
    assertThat(events()).isEmpty();
    lease.consume(); // no change of the sum
    replica.slots().complete();
    timer.pass(REPORT);
    assertThat(events()).containsExactly(report(share(7, 3), 2, true));
    command("r1", share(8, 3));
    assertThat(replica.slots().tryAcquire()).isFalse();
    assertThat(events()).containsExactly(report(share(8, 3), 2, true));
    replica.slots().complete();
    replica.slots().complete();
    assertThat(events()).containsExactly(report(share(8, 3), 0, true), new ReplicaStopped("r1"));
    timer.pass(REPORT.multipliedBy(9));
    assertThat(events()).isEmpty();
    assertThat(timer.armed()).isZero();
  }

  @Test
  void replicaAboveItsShareReportsUntilItsSlotsFit() {
    Replica replica = opened(share(7, 3));
    for (int i = 0; i < 3; i++) {
      replica.slots().tryAcquire();
    }
    command("r1", share(8, 1));
    assertThat(events()).containsExactly(report(share(8, 1), 3, false));

    List<Integer> reported = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      replica.slots().complete();
      timer.pass(REPORT);
      events().forEach(each -> reported.add(((UpstreamReport) each).ongoing()));
    }
    assertThat(reported).as("the last fall needs no report").containsExactly(2, 1);
    assertThat(timer.armed()).isZero();
  }

  @Test
  void killedReplicaReportsItsSlotsUntilTheyAreFree() {
    Replica replica = opened(share(7, 2));
    replica.slots().tryAcquire();
    replicas.kill(target.id(), "r1");
    assertThat(events()).containsExactly(new ReplicaDraining("r1"), report(share(7, 2), 1, true));

    replica.slots().complete();
    assertThat(events()).containsExactly(report(share(7, 2), 0, true), new ReplicaStopped("r1"));
  }

  @Test
  void endOfTheInstanceResetsConnectionsBeforeItReportsTheEnd() {
    Replica replica = opened(share(7, 2));
    replica.slots().tryAcquire();
    Promise<Void> reset = Promise.promise();
    gate.resetBy(reset::future);
    replicas.drainStarts();
    replicas.stopAll();
    Future<Void> emptied = replicas.emptied();
    events();

    replica.kill();
    assertThat(events()).isEmpty();
    assertThat(emptied.isComplete()).isFalse();
    reset.complete();

    assertThat(events()).containsExactly(report(share(7, 2), 1, true), new ReplicaStopped("r1"));
    assertThat(emptied.isComplete()).isTrue();
  }

  // --- lease ---

  @Test
  void endOfTheLeaseKillsAndResetsTheReplicaForGood() {
    Replica replica = opened(leased(7, 2));
    replica.slots().tryAcquire();
    List<Boolean> resets = new ArrayList<>();
    Promise<Void> reset = Promise.promise();
    gate.resetBy(
        () -> {
          resets.add(replica.slots().draining());
          return reset.future();
        });
    timer.pass(Duration.ofSeconds(6));
    lease.renew(clock.getAsLong() - TimeUnit.SECONDS.toNanos(1));

    timer.pass(Duration.ofMillis(LEASE_MS - 1_000));
    assertThat(resets).isEmpty();
    assertThat(lease.hasEnded()).isFalse();
    clock.advanceNanos(1);
    assertThat(lease.hasEnded()).isTrue();
    timer.pass(Duration.ofMillis(50));

    assertThat(resets).containsExactly(true);
    UpstreamShare none = share(7, 0);
    assertThat(events())
        .contains(new ReplicaDraining("r1"), report(none, 1, true))
        .doesNotContain(new ReplicaStopped("r1"));
    lease.renew(clock.getAsLong());
    command("r1", leased(8, 2));
    gate.open();
    assertThat(replica.slots().tryAcquire()).isFalse();
    assertThat(lease.hasEnded()).as("until the connections are reset").isTrue();
    reset.complete();
    tasks.runAll();
    assertThat(lease.hasEnded()).isFalse();
    replica.slots().complete();
    assertThat(events()).contains(new ReplicaStopped("r1"));
  }

  @Test
  void replicaThatStartsAfterTheEndOfTheLeaseHasALeaseOfItsOwn() {
    opened(leased(7, 2));
    timer.pass(Duration.ofMillis(LEASE_MS + 50));
    events();

    lease.renew(clock.getAsLong());
    start("r2", target);
    command("r2", leased(8, 1));
    assertThat(events()).contains(new UpstreamReport("r2", leased(8, 1), 0, false));
    timer.pass(Duration.ofMillis(LEASE_MS));
    assertThat(replicas.inventory()).extracting(Found::report).contains(lastOf("r2", 1));
    timer.pass(Duration.ofMillis(50));
    assertThat(events()).contains(new ReplicaDraining("r2"));
  }

  private static UpstreamReport lastOf(String id, int maximum) {
    return new UpstreamReport(id, leased(8, maximum), 0, false);
  }

  @Test
  void renewalThatArrivesAfterTheEndDoesNotSaveTheReplica() {
    opened(leased(7, 2));
    clock.advance(Duration.ofMillis(LEASE_MS + 1)); // no timer fires: the loop is blocked
    lease.renew(clock.getAsLong());

    assertThat(lease.hasEnded()).isTrue();
    command("r1", leased(8, 2));
    assertThat(events()).contains(new ReplicaDraining("r1"));
    assertThat(lease.hasEnded()).isFalse();
  }

  @Test
  void shareOfAStartingReplicaEndsWithItsLease() {
    start("r1", target);
    command("r1", leased(7, 2));
    clock.advance(Duration.ofMillis(LEASE_MS + 1));
    lease.renew(clock.getAsLong());

    assertThat(events()).singleElement().isInstanceOf(ReplicaRunning.class);
    assertThat(plane.host.replicas().get(0).slots().maxOngoing()).isZero();
    command("r1", leased(8, 2));
    assertThat(plane.host.replicas().get(0).slots().maxOngoing()).isEqualTo(2);
  }

  @Test
  void replicaWithoutALeaseOutlivesTheController() {
    Replica replica = opened(share(7, 2));
    timer.pass(Duration.ofDays(1));

    assertThat(events()).isEmpty();
    assertThat(replica.slots().maxOngoing()).isEqualTo(2);
    assertThat(timer.armed()).isZero();
  }

  @Test
  void failedStartDropsTheShare() {
    fails = true;
    start("r1", target);
    command("r1", leased(7, 2));
    assertThat(events()).singleElement().isInstanceOf(ReplicaFailed.class);

    assertThat(lease.remainingNanos()).isEqualTo(Long.MAX_VALUE);
  }
}
