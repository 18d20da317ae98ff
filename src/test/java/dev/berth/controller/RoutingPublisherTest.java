package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.DeploymentId;
import dev.berth.fakes.RandomSnapshots;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CheckRouting;
import dev.berth.protocol.BusMessage.PullRouting;
import dev.berth.protocol.BusMessage.RepullRouting;
import dev.berth.protocol.BusMessage.RoutingUpdate;
import dev.berth.protocol.RoutingDelta;
import dev.berth.protocol.RoutingDigest;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.RoutingSnapshot.SnapshotReplica;
import dev.berth.protocol.RoutingSnapshot.SnapshotVersion;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class RoutingPublisherTest {
  private static final DeploymentId ECHO = new DeploymentId("app", "echo");
  private static final DeploymentId OTHER = new DeploymentId("app", "other");
  private static final long TERM = 3;

  private record Sent(String node, BusMessage message) {}

  private final RandomSnapshots snapshots = new RandomSnapshots(new SplittableRandom(1));
  private final Set<DeploymentId> declared = new HashSet<>();
  private final List<Sent> sent = new ArrayList<>();
  private final RoutingPublisher publisher =
      new RoutingPublisher(
          TERM, declared::contains, (node, message) -> sent.add(new Sent(node, message)));
  private final RoutingSnapshot first = snapshots.of(ECHO, new SnapshotVersion(TERM, 1), 3);

  private void pull(String node, DeploymentId deployment, SnapshotVersion held) {
    publisher.on(new PullRouting(node, 1, false, List.of(new PullRouting.Held(deployment, held))));
  }

  /** Drops what it pulled before. */
  private void pullOther(String node, long incarnation, boolean all) {
    publisher.on(
        new PullRouting(
            node, incarnation, all, List.of(new PullRouting.Held(OTHER, SnapshotVersion.NONE))));
  }

  /** One instance has pulled the first snapshot, and been told. */
  private void told() {
    publisher.onRecovered();
    publisher.publish(first);
    pull("n1", ECHO, SnapshotVersion.NONE);
    sent.clear();
  }

  private static Sent gone(SnapshotVersion at) {
    return update("n1", RoutingDelta.whole(new RoutingSnapshot(ECHO, at, false, List.of())));
  }

  private RoutingSnapshot draining(RoutingSnapshot from, int replica, long counter) {
    List<SnapshotReplica> routes = new ArrayList<>(from.replicas());
    routes.set(replica, new SnapshotReplica(routes.get(replica).replica(), false));
    return new RoutingSnapshot(from.deployment(), new SnapshotVersion(TERM, counter), true, routes);
  }

  private static Sent update(String node, RoutingDelta delta) {
    return new Sent(node, new RoutingUpdate(delta));
  }

  @Test
  void whoPullsGetsTheSnapshotAndFromThenOnWhatChanges() {
    publisher.publish(first);
    pull("n1", ECHO, SnapshotVersion.NONE);
    RoutingSnapshot second = draining(first, 0, 2);
    publisher.publish(second);

    assertThat(sent)
        .containsExactly(
            update("n1", RoutingDelta.whole(first)),
            update("n1", RoutingDelta.between(first, second)));
  }

  @Test
  void onlyThoseWhoPulledADeploymentHearOfIt() {
    pull("n1", OTHER, SnapshotVersion.NONE);
    publisher.publish(first);

    assertThat(sent).isEmpty();
  }

  @Test
  void whoHoldsTheNewestIsToldSoAndNoMore() {
    publisher.publish(first);
    pull("n1", ECHO, first.version());

    assertThat(sent).containsExactly(update("n1", RoutingDelta.nothing(first)));
  }

  @Test
  void untilItKnowsWhatRunsItSaysNothingOfWhatItHasNotPublished() {
    pull("n1", ECHO, new SnapshotVersion(TERM - 1, 40));
    assertThat(sent).as("its routers go on with what they have").isEmpty();

    publisher.publish(first);
    assertThat(sent).containsExactly(update("n1", RoutingDelta.whole(first)));
  }

  @Test
  void onceItKnowsItTellsThoseWhoWaitWhichDeploymentsThereAreNot() {
    declared.add(OTHER);
    pull("n1", ECHO, new SnapshotVersion(TERM - 1, 40));
    pull("n1", OTHER, SnapshotVersion.NONE);
    publisher.onRecovered();

    assertThat(sent)
        .as("of what is declared, its first snapshot says more")
        .containsExactly(gone(new SnapshotVersion(TERM, 0)));
    sent.clear();
    RoutingSnapshot other = snapshots.of(OTHER, new SnapshotVersion(TERM, 1), 1);
    publisher.publish(other);
    assertThat(sent).containsExactly(update("n1", RoutingDelta.whole(other)));
  }

  @Test
  void aDeploymentThatIsGoneIsNotAvailableAtAVersionLaterThanItsLast() {
    publisher.onRecovered();
    publisher.publish(first);
    publisher.forget(ECHO);
    pull(
        "n1",
        ECHO,
        first.version().counter() == 0 ? SnapshotVersion.NONE : new SnapshotVersion(TERM, 0));

    assertThat(sent).containsExactly(gone(first.version()));
  }

  @Test
  void aDeploymentThatComesBackIsToldWhole() {
    publisher.onRecovered();
    publisher.publish(first);
    publisher.forget(ECHO);
    pull("n1", ECHO, SnapshotVersion.NONE);
    sent.clear();
    RoutingSnapshot again = snapshots.of(ECHO, new SnapshotVersion(TERM, 9), 1);
    publisher.publish(again);

    assertThat(sent).containsExactly(update("n1", RoutingDelta.whole(again)));
  }

  @Test
  void aVersionThatIsNotTheLatestIsABug() {
    publisher.publish(first);

    assertThatThrownBy(() -> publisher.publish(snapshots.of(OTHER, first.version(), 1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("(expected: later than ");
  }

  @Test
  void anInstanceItDoesNotKnowIsToldToPullEverything() {
    publisher.on(new CheckRouting("n1", 1, 0));

    assertThat(sent).containsExactly(new Sent("n1", new RepullRouting(TERM)));
  }

  @Test
  void anInstanceThatHoldsWhatItWasToldHearsNothing() {
    told();
    for (int i = 0; i < 5; i++) {
      publisher.on(new CheckRouting("n1", 1, RoutingDigest.of(ECHO, first.version())));
    }

    assertThat(sent).isEmpty();
  }

  @Test
  void aDifferenceCountsOnlyTheSecondTimeInARow() {
    told();
    long right = RoutingDigest.of(ECHO, first.version());
    publisher.on(new CheckRouting("n1", 1, 0));
    publisher.on(new CheckRouting("n1", 1, right));
    publisher.on(new CheckRouting("n1", 1, 0));
    assertThat(sent).as("an update was on its way").isEmpty();
    publisher.on(new CheckRouting("n1", 1, 0));

    assertThat(sent).containsExactly(new Sent("n1", new RepullRouting(TERM)));
  }

  @Test
  void whoPullsAllAnewIsToldOfNothingElse() {
    publisher.publish(first);
    pull("n1", ECHO, SnapshotVersion.NONE);
    pull("n2", ECHO, SnapshotVersion.NONE);
    pullOther("n1", 1, true);
    sent.clear();
    RoutingSnapshot second = draining(first, 0, 2);
    publisher.publish(second);
    assertThat(sent).containsExactly(update("n2", RoutingDelta.between(first, second)));
  }

  @Test
  void aLostInstanceAndAnEarlierStartOfOneAreToldNothing() {
    publisher.publish(first);
    pull("n1", ECHO, SnapshotVersion.NONE);
    pull("n2", ECHO, SnapshotVersion.NONE);
    publisher.onNodeLost("n1");
    pullOther("n2", 2, false);
    sent.clear();
    publisher.publish(draining(first, 0, 2));

    assertThat(sent).isEmpty();
  }

  @Test
  void thereIsABoundForInstances() {
    for (int i = 0; i <= RoutingPublisher.MAX_INSTANCES; i++) {
      pull("n" + i, ECHO, SnapshotVersion.NONE);
    }
    sent.clear();
    publisher.publish(first);

    assertThat(sent).hasSize(RoutingPublisher.MAX_INSTANCES);
    sent.clear();
    pull("n" + RoutingPublisher.MAX_INSTANCES, ECHO, SnapshotVersion.NONE);
    assertThat(sent).isEmpty();
    publisher.onNodeLost("n0");
    pull("n" + RoutingPublisher.MAX_INSTANCES, ECHO, SnapshotVersion.NONE);
    assertThat(sent).as("one that is lost makes room").hasSize(1);
  }
}
