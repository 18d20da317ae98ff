package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.ControllerEvent.ReconfigureFailed;
import dev.berth.controller.ControllerEvent.ReplicaDraining;
import dev.berth.controller.ControllerEvent.ReplicaFailed;
import dev.berth.controller.ControllerEvent.ReplicaReconfigured;
import dev.berth.controller.ControllerEvent.ReplicaStopped;
import dev.berth.controller.ControllerEvent.ReplicaWaits;
import dev.berth.controller.DeploymentTarget;
import dev.berth.replica.Replica;
import dev.berth.view.ReplicaPhase;
import io.vertx.core.Future;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The replicas of upstreams on an instance: one for a key, with the settings of its entry. */
class InstanceUpstreamsTest extends InstanceUpstreamsRig {
  InstanceUpstreamsTest() {
    super(false);
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
    gate.close("connection refused", false);
    assertThat(events()).containsExactly(new ReplicaWaits("r1", "closed: connection refused"));
    gate.close("connection refused", true);
    assertThat(events())
        .containsExactly(new ReplicaWaits("r1", "closed: connection refused", true));

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
