package dev.berth.protocol;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.DeploymentId;
import dev.berth.fakes.RandomSnapshots;
import dev.berth.protocol.RoutingSnapshot.SnapshotReplica;
import dev.berth.protocol.RoutingSnapshot.SnapshotVersion;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RoutingDeltaTest {
  private static final DeploymentId ECHO = new DeploymentId("app", "echo");

  private final long seed = Long.getLong("delta.seed", 1);
  private final RandomSnapshots snapshots = new RandomSnapshots(new Random(seed));

  @Test
  void whateverChangesTheDeltaLeadsFromTheOneToTheOther() {
    RoutingSnapshot held = snapshots.of(ECHO, new SnapshotVersion(1, 1), 12);
    for (int counter = 2; counter < 1_000; counter++) {
      RoutingSnapshot next = snapshots.changed(held, new SnapshotVersion(1, counter));
      RoutingSnapshot reached = overTheWire(RoutingDelta.between(held, next)).applyTo(held);

      assertThat(reached.version()).isEqualTo(next.version());
      assertThat(reached.available()).isEqualTo(next.available());
      assertThat(reached.replicas())
          .as("version %d, seed %d", counter, seed)
          .containsExactlyInAnyOrderElementsOf(next.replicas());
      held = reached;
    }
  }

  @Test
  void oneReplicaThatLeavesCostsTheSameAmongTenAndTenThousand() {
    assertThat(bytesOfOneChangeAmong(10_000)).isEqualTo(bytesOfOneChangeAmong(10));
  }

  private int bytesOfOneChangeAmong(int replicas) {
    RoutingSnapshot before =
        new RandomSnapshots(new Random(seed)).of(ECHO, new SnapshotVersion(1, 1), replicas);
    List<SnapshotReplica> after = new ArrayList<>(before.replicas());
    after.remove(4);
    after.set(5, new SnapshotReplica(after.get(5).replica(), false));
    RoutingDelta delta =
        RoutingDelta.between(
            before, new RoutingSnapshot(ECHO, new SnapshotVersion(1, 2), true, after));
    assertThat(delta.changed()).hasSize(1);
    assertThat(delta.removed()).hasSize(1);
    return encoded(delta).length();
  }

  @Test
  void whenNoRouteStaysItIsWholeAndFitsWhateverIsHeld() {
    RoutingSnapshot before = snapshots.of(ECHO, new SnapshotVersion(1, 1), 3);
    RoutingSnapshot after = snapshots.of(ECHO, new SnapshotVersion(1, 2), 3);
    RoutingDelta delta = RoutingDelta.between(before, after);
    assertThat(delta.isWhole()).isTrue();
    assertThat(delta.removed()).isEmpty();
    assertThat(delta.applyTo(snapshots.of(ECHO, new SnapshotVersion(1, 0), 2))).isEqualTo(after);
  }

  @Test
  void itIsRefusedByASnapshotItDoesNotStartFrom() {
    RoutingSnapshot first = snapshots.of(ECHO, new SnapshotVersion(1, 1), 3);
    RoutingSnapshot second =
        new RoutingSnapshot(ECHO, new SnapshotVersion(1, 2), false, first.replicas());
    RoutingDelta delta = RoutingDelta.between(first, second);

    assertThat(delta.applyTo(first)).isEqualTo(second);
    assertThatThrownBy(() -> delta.applyTo(second))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("(expected: app#echo at ");
  }

  @Test
  void itNeverLeadsBack() {
    RoutingSnapshot first = snapshots.of(ECHO, new SnapshotVersion(1, 1), 3);
    RoutingSnapshot later =
        new RoutingSnapshot(ECHO, new SnapshotVersion(1, 2), true, first.replicas());
    assertThatThrownBy(() -> RoutingDelta.between(later, first))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("to: ");
  }

  @Test
  void aDigestTellsVersionsApartAndComesBackToWhatItWas() {
    DeploymentId other = new DeploymentId("app", "other");
    long both =
        RoutingDigest.of(ECHO, new SnapshotVersion(1, 1))
            + RoutingDigest.of(other, new SnapshotVersion(1, 2));
    long swapped =
        RoutingDigest.of(ECHO, new SnapshotVersion(1, 2))
            + RoutingDigest.of(other, new SnapshotVersion(1, 1));

    assertThat(both).isNotEqualTo(swapped);
    assertThat(RoutingDigest.of(ECHO, SnapshotVersion.NONE)).isZero();
    assertThat(both - RoutingDigest.of(other, new SnapshotVersion(1, 2)))
        .isEqualTo(RoutingDigest.of(ECHO, new SnapshotVersion(1, 1)));
  }

  private static Buffer encoded(RoutingDelta delta) {
    Buffer wire = Buffer.buffer();
    WireCodec.encode(new BusMessage.RoutingUpdate(delta), wire);
    return wire;
  }

  private static RoutingDelta overTheWire(RoutingDelta delta) {
    return ((BusMessage.RoutingUpdate) WireCodec.decode(0, encoded(delta))).delta();
  }
}
