package dev.berth.routing.feed;

import static org.assertj.core.api.Assertions.assertThat;

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
import dev.berth.protocol.RoutingSnapshot.SnapshotVersion;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RoutingFeedTest {
  private static final DeploymentId ECHO = new DeploymentId("app", "echo");
  private static final DeploymentId OTHER = new DeploymentId("app", "other");
  private static final long INCARNATION = 7;

  private final RandomSnapshots snapshots = new RandomSnapshots(new SplittableRandom(1));
  private final List<RoutingSnapshot> routed = new ArrayList<>();
  private final List<BusMessage> sent = new ArrayList<>();
  private final RoutingFeed feed = new RoutingFeed("n1", INCARNATION, routed::add, sent::add, 0);
  private final RoutingSnapshot first = snapshots.of(ECHO, new SnapshotVersion(1, 1), 3);
  private final RoutingSnapshot second = snapshots.of(ECHO, new SnapshotVersion(1, 2), 0);
  private long now;

  @BeforeEach
  void aRouterIsMade() {
    feed.want(ECHO, now);
  }

  private void tell(RoutingDelta delta) {
    feed.on(new RoutingUpdate(delta), now);
  }

  private void after(long nanos) {
    now += nanos;
    feed.tick(now);
  }

  private static PullRouting pullOf(DeploymentId deployment, SnapshotVersion held) {
    return new PullRouting(
        "n1", INCARNATION, false, List.of(new PullRouting.Held(deployment, held)));
  }

  /** As the first, with one replica draining. */
  private RoutingSnapshot later(RoutingSnapshot from, long counter) {
    List<RoutingSnapshot.SnapshotReplica> routes = new ArrayList<>(from.replicas());
    routes.set(0, new RoutingSnapshot.SnapshotReplica(routes.get(0).replica(), false));
    return new RoutingSnapshot(
        ECHO, new SnapshotVersion(from.version().term(), counter), counter % 2 == 0, routes);
  }

  @Test
  void aRouterPullsItsSnapshotAsSoonAsItIsMadeAndOnlyOnce() {
    feed.want(ECHO, now);
    assertThat(sent).containsExactly(pullOf(ECHO, SnapshotVersion.NONE));
  }

  @Test
  void theAnswerIsPassedToTheRouters() {
    tell(RoutingDelta.whole(first));
    assertThat(routed).containsExactly(first);
    assertThat(feed.last(ECHO)).isEqualTo(first);
    assertThat(feed.pulling).isEmpty();
  }

  @Test
  void aPullThatIsNotAnsweredIsSentAgain() {
    sent.clear();
    after(RoutingFeed.PULL_AGAIN_NANOS - 1);
    assertThat(sent).isEmpty();
    after(1);
    assertThat(sent).containsExactly(pullOf(ECHO, SnapshotVersion.NONE));
    after(RoutingFeed.PULL_AGAIN_NANOS - 1);
    assertThat(sent).as("one at a time").hasSize(1);
  }

  @Test
  void aDeltaThatFitsIsApplied() {
    tell(RoutingDelta.whole(first));
    RoutingSnapshot next = later(first, 5);
    RoutingDelta delta = RoutingDelta.between(first, next);
    assertThat(delta.isWhole()).isFalse();
    tell(delta);

    assertThat(routed).containsExactly(first, next);
    assertThat(feed.gaps).isZero();
  }

  @Test
  void whatIsOlderOrCameAlreadyIsIgnored() {
    RoutingSnapshot next = later(first, 5);
    tell(RoutingDelta.whole(first));
    tell(RoutingDelta.between(first, next));
    sent.clear();
    tell(RoutingDelta.whole(first));
    tell(RoutingDelta.between(first, next));
    tell(RoutingDelta.whole(next));

    assertThat(routed).containsExactly(first, next);
    assertThat(sent).isEmpty();
  }

  @Test
  void aGapIsPulledOnceAndTheSnapshotHeldStaysInUse() {
    tell(RoutingDelta.whole(first));
    sent.clear();
    RoutingSnapshot lost = later(first, 5);
    RoutingSnapshot third = later(first, 6);
    tell(RoutingDelta.between(lost, third));
    tell(RoutingDelta.between(third, later(first, 7)));

    assertThat(sent).containsExactly(pullOf(ECHO, first.version()));
    assertThat(feed.gaps).isOne();
    assertThat(feed.last(ECHO)).isEqualTo(first);
    tell(RoutingDelta.whole(third));
    assertThat(feed.last(ECHO)).isEqualTo(third);
  }

  @Test
  void aDeltaBeforeAnySnapshotIsNoAnswer() {
    tell(RoutingDelta.between(first, later(first, 5)));
    assertThat(routed).isEmpty();
    assertThat(feed.pulling).hasSize(1);
  }

  @Test
  void aSnapshotOfANewerTermReplacesWhateverIsHeld() {
    tell(RoutingDelta.whole(later(first, 50)));
    RoutingSnapshot ofNext = snapshots.of(ECHO, new SnapshotVersion(2, 1), 1);
    tell(RoutingDelta.whole(ofNext));
    tell(RoutingDelta.whole(later(first, 51)));
    assertThat(feed.last(ECHO)).isEqualTo(ofNext);
  }

  @Test
  void anOlderControllersAnswerDoesNotEndAPull() {
    RoutingSnapshot ofNext = snapshots.of(ECHO, new SnapshotVersion(2, 1), 1);
    tell(RoutingDelta.whole(ofNext));
    feed.on(new RepullRouting(2), now);
    tell(RoutingDelta.whole(first));
    assertThat(feed.pulling).hasSize(1);
    tell(RoutingDelta.nothing(ofNext));
    assertThat(feed.pulling).isEmpty();
  }

  @Test
  void toldToPullAgainItAsksForEverythingAndSaysWhatItHolds() {
    feed.want(OTHER, now);
    tell(RoutingDelta.whole(first));
    sent.clear();
    feed.on(new RepullRouting(2), now);

    assertThat(sent)
        .containsExactly(
            new PullRouting(
                "n1",
                INCARNATION,
                true,
                List.of(
                    new PullRouting.Held(ECHO, first.version()),
                    new PullRouting.Held(OTHER, SnapshotVersion.NONE))));
    assertThat(feed.last(ECHO)).as("in use until a newer one comes").isEqualTo(first);
  }

  @Test
  void manyDeploymentsArePulledInMessagesOfBoundedSize() {
    int deployments = 2 * RoutingFeed.MAX_PULLED_AT_ONCE + 1;
    for (int i = 1; i < deployments; i++) {
      feed.want(new DeploymentId("app", "d" + i), now);
    }
    sent.clear();
    feed.on(new RepullRouting(1), now);

    assertThat(sent).hasSize(3);
    assertThat(sent)
        .extracting(each -> ((PullRouting) each).all())
        .containsExactly(true, false, false);
    assertThat(sent.stream().mapToInt(each -> ((PullRouting) each).held().size()).sum())
        .isEqualTo(deployments);
  }

  @Test
  void everyFewSecondsItSaysInOneNumberWhatItHolds() {
    feed.want(OTHER, now);
    tell(RoutingDelta.whole(first));
    tell(RoutingDelta.whole(second));
    tell(RoutingDelta.whole(snapshots.of(OTHER, new SnapshotVersion(1, 9), 1)));
    sent.clear();
    feed.forget(OTHER);
    after(RoutingFeed.CHECK_NANOS);
    after(RoutingFeed.CHECK_NANOS - 1);

    assertThat(sent)
        .containsExactly(
            new CheckRouting("n1", INCARNATION, RoutingDigest.of(ECHO, second.version())));
  }

  @Test
  void whatIsForgottenIsNeitherPulledNorTaken() {
    feed.forget(ECHO);
    sent.clear();
    tell(RoutingDelta.whole(first));
    after(RoutingFeed.CHECK_NANOS);

    assertThat(sent).isEmpty();
    assertThat(routed).isEmpty();
    assertThat(feed.last(ECHO)).isNull();
  }
}
