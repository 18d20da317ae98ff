package dev.berth.cluster.membership;

import static dev.berth.cluster.membership.MembershipRig.again;
import static dev.berth.cluster.membership.MembershipRig.hello;
import static dev.berth.cluster.membership.MembershipRig.node;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.cluster.membership.MemberAction.CommitRemoval;
import dev.berth.cluster.membership.MemberAction.ConfirmLeave;
import dev.berth.cluster.membership.MemberAction.EndLink;
import dev.berth.cluster.membership.MemberAction.MemberLeaving;
import dev.berth.cluster.membership.MemberAction.ProbePort;
import dev.berth.cluster.membership.MemberAction.PublishMembers;
import dev.berth.cluster.membership.MemberAction.RefuseHello;
import dev.berth.cluster.membership.MemberAction.RegisterNode;
import dev.berth.cluster.membership.MemberAction.RemovedAsLeft;
import dev.berth.cluster.membership.MemberAction.RemovedAsLost;
import dev.berth.cluster.membership.MemberAction.SendWelcome;
import dev.berth.cluster.membership.MemberAction.StandBy;
import dev.berth.cluster.membership.MemberAction.SuspicionChanged;
import dev.berth.cluster.membership.MembershipStatus.NodeStatus;
import dev.berth.protocol.wire.WireCodec;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Each rule of who is a node. */
class MembershipTest {
  private static final NodeRegistration OLD_N2 = new NodeRegistration("n2", "a", 7);

  private final MembershipRig rig = new MembershipRig();
  private final Membership membership = rig.membership;

  // --- joining ---

  @Test
  void aNodeIsWelcomeWhenItsNumberIsCommitted() {
    rig.commits = false;
    long link = rig.join("n2", "a");

    assertThat(rig.all).containsExactly(new RegisterNode("n2", "a"));
    rig.commit(rig.last(RegisterNode.class));
    assertThat(rig.last(SendWelcome.class).link()).isEqualTo(link);
    assertThat(rig.last(SendWelcome.class).welcome())
        .isEqualTo(new Handshake.Welcome(MembershipRig.OWN, "n1", 101, true));
    assertThat(rig.last(PublishMembers.class).members().list())
        .containsExactly(new Member(node("n2", "a"), 101, Member.MemberState.ALIVE));
  }

  @Test
  void whatIsNotCommittedIsAskedForAgain() {
    rig.commits = false;
    long link = rig.join("n2", "a");

    rig.on(membership.onRegisterResult("n2", List.of()));

    assertThat(rig.last(RefuseHello.class).link()).isEqualTo(link);
    rig.join("n2", "a");
    assertThat(rig.all(RegisterNode.class)).hasSize(2);
  }

  @Test
  void processOfARestoredStateIsFreshWhicheverNumberItHad() {
    rig.join(again("n2", "a", 500), null);
    assertThat(rig.last(SendWelcome.class).welcome().registration()).isEqualTo(101);
    assertThat(rig.last(SendWelcome.class).welcome().fresh()).as("500 is of another log").isTrue();
    rig.join(again("n2", "a", 101), null);
    assertThat(rig.last(SendWelcome.class).welcome().fresh()).isFalse();
    rig.join(again("n2", "a", 100), null);
    assertThat(rig.last(SendWelcome.class).welcome().fresh()).isTrue();
  }

  @Test
  void boundOfNodesCountsThoseThatJoin() {
    rig.commits = false;
    for (int i = 0; i < Membership.MAX_NODES; i++) {
      rig.join("m" + i, "a");
    }
    assertThat(rig.all(RefuseHello.class)).isEmpty();
    rig.join("one-more", "a");
    assertThat(rig.refusal()).isEqualTo("nodes: 1000 (expected: fewer)");
    rig.join("m7", "a");
    assertThat(rig.all(RefuseHello.class)).as("it joins already").hasSize(1);
    rig.commit(rig.all(RegisterNode.class).get(7));
    rig.join("one-more", "a");
    assertThat(rig.all(RefuseHello.class)).as("as many as before").hasSize(2);
  }

  @Test
  void numberOfAnotherProcessIsNotTheJoiningOnes() {
    rig.commits = false;
    long link = rig.join("n2", "b");

    rig.on(membership.onRegisterResult("n2", List.of(OLD_N2)));

    assertThat(rig.all(SendWelcome.class)).isEmpty();
    assertThat(rig.last(RefuseHello.class).link()).isEqualTo(link);
  }

  @Test
  void lossThatIsNotCommittedIsNotAnnounced() {
    rig.join("n2", "a");
    rig.commits = false;
    rig.pass(4_000);
    NodeRegistration who = rig.last(CommitRemoval.class).gone().who();
    rig.on(membership.onRemovalResult(who, false));
    assertThat(rig.all(RemovedAsLost.class)).isEmpty();
    assertThat(membership.members().list()).hasSize(1);
    rig.pass(500);
    assertThat(rig.all(CommitRemoval.class)).as("it is committed again").hasSize(2);
    rig.on(membership.onRemovalResult(who, true));
    assertThat(rig.all(RemovedAsLost.class)).hasSize(1);
  }

  @Test
  void aNumberOfWhichNobodyWasToldHasTimeToCome() {
    rig.commits = false;
    membership.onLinkClosed(rig.join("n2", "a"));

    rig.on(membership.onRegisterResult("n2", List.of(OLD_N2)));

    assertThat(membership.status().awaited()).containsExactly("n2");
    rig.pass(10_500);
    assertThat(rig.last(CommitRemoval.class).gone().who()).isEqualTo(OLD_N2);
  }

  @Test
  void aProcessThatCallsAgainKeepsItsNumberAndItsWork() {
    long first = rig.join("n2", "a");

    long second = rig.join(again("n2", "a", 101), null);

    assertThat(rig.all(RegisterNode.class)).hasSize(1);
    assertThat(rig.last(SendWelcome.class).welcome())
        .isEqualTo(new Handshake.Welcome(MembershipRig.OWN, "n1", 101, false));
    assertThat(rig.last(EndLink.class).link()).isEqualTo(first);
    rig.on(membership.onLinkClosed(first));
    assertThat(rig.all(ProbePort.class)).isEmpty();
    rig.pass(5_000, second);
    assertThat(rig.all(CommitRemoval.class)).isEmpty();
  }

  @Test
  void aProcessThatCallsAgainBeforeItsNumberIsCommittedIsRegisteredOnce() {
    rig.commits = false;
    long first = rig.join("n2", "a");
    long second = rig.join("n2", "a");

    rig.commit(rig.last(RegisterNode.class));

    assertThat(rig.all(RegisterNode.class)).hasSize(1);
    assertThat(rig.last(EndLink.class).link()).isEqualTo(first);
    assertThat(rig.last(SendWelcome.class).link()).isEqualTo(second);
  }

  @Test
  void aLinkThatClosedBeforeTheCommitIsNotGreeted() {
    rig.commits = false;
    long link = rig.join("n2", "a");
    rig.on(membership.onLinkClosed(link));

    rig.commit(rig.last(RegisterNode.class));

    assertThat(rig.all(SendWelcome.class)).isEmpty();
    rig.join("n2", "a");
    assertThat(rig.last(SendWelcome.class).welcome().fresh()).isTrue();
  }

  @Test
  void aSecondProcessOfALivingNameAsksUntilTheFirstIsLost() {
    long first = rig.join("n2", "a");

    rig.join("n2", "b");
    assertThat(rig.refusal())
        .isEqualTo("node n2: previous process still registered (expected: retry after it is lost)");
    rig.pass(2_000, first);
    rig.join("n2", "b");
    assertThat(rig.all(RegisterNode.class)).hasSize(1);

    rig.pass(3_500);
    assertThat(rig.last(RemovedAsLost.class).who().process()).isEqualTo("a");
    rig.join("n2", "b");
    assertThat(rig.last(SendWelcome.class).welcome().registration()).isEqualTo(102);
    assertThat(rig.last(SendWelcome.class).welcome().fresh()).isTrue();
  }

  @Test
  void aSecondProcessAsksWhileTheFirstIsBeingCommitted() {
    rig.commits = false;
    rig.join("n2", "a");

    rig.join("n2", "b");

    assertThat(rig.all(RegisterNode.class)).hasSize(1);
    assertThat(rig.refusal()).startsWith("node n2");
  }

  @Test
  void whoIsNotOfTheClusterIsToldWhatDiffers() {
    refuses(
        new HandshakeHello(
            Handshake.VERSION + 1,
            WireCodec.VERSION - 1,
            "staging",
            node("n2", "a"),
            0,
            false,
            null,
            List.of()),
        "a certificate of [n3]",
        "version: 8 (expected: 7); version of messages: %d (expected: %d); cluster: staging (expected: prod); a certificate of [n3]"
            .formatted(WireCodec.VERSION - 1, WireCodec.VERSION));
    NodeInfo n1 = node("n1", "p1");
    NodeInfo worker =
        new NodeInfo("n1", "p1", false, "z", n1.labels(), n1.host(), n1.ports(), null);
    refuses(
        new HandshakeHello(
            Handshake.VERSION, WireCodec.VERSION, "prod", worker, 0, false, null, List.of()),
        null,
        "role: WORKER (expected: the other, since control names [n1])");
  }

  @Test
  void whatNoConfigurationSaysIsNoNode() {
    refuses(hello("n2~x", "a"), null, "name: n2~x (expected: [a-z0-9-]{1,63})");
    NodeInfo n2 = node("n2", "a");
    NodeInfo long2 =
        new NodeInfo(
            "n2", "a", false, "z", Map.of("k", "v".repeat(5_000)), n2.host(), n2.ports(), null);
    refuses(
        new HandshakeHello(
            Handshake.VERSION, WireCodec.VERSION, "prod", long2, 0, false, null, List.of()),
        null,
        "node: 5156 characters (expected: at most 4096)");
  }

  @Test
  void thereIsABoundOfNodes() {
    for (int i = 0; i < Membership.MAX_NODES; i++) {
      rig.join("n" + (i + 2), "a");
    }
    long number = rig.number("n2");
    rig.join("one-more", "a");
    assertThat(rig.refusal()).isEqualTo("nodes: 1000 (expected: fewer)");
    rig.join(again("n2", "a", number), null);
    assertThat(rig.last(SendWelcome.class).welcome().registration()).isEqualTo(number);
  }

  private void refuses(HandshakeHello hello, @Nullable String stranger, String reason) {
    rig.join(hello, stranger);
    assertThat(rig.refusal()).isEqualTo(reason);
    assertThat(rig.all(RegisterNode.class)).isEmpty();
  }

  // --- silence ---

  @Test
  void whoIsSilentForTheTimeOutIsSuspectedAndLostWhenThatIsCommitted() {
    rig.join("n2", "a");
    rig.commits = false;

    rig.pass(3_500);
    assertThat(rig.all(SuspicionChanged.class)).isEmpty();
    rig.pass(500);

    assertThat(rig.last(SuspicionChanged.class).suspected()).isTrue();
    assertThat(rig.state("n2")).isEqualTo(Member.MemberState.SUSPECTED);
    assertThat(rig.last(CommitRemoval.class).gone())
        .isEqualTo(new RemovedAsLost(new NodeRegistration("n2", "a", 101), "silent for 3500 ms"));
    assertThat(rig.all(RemovedAsLost.class)).isEmpty();
    rig.commit(rig.last(CommitRemoval.class));
    assertThat(rig.last(RemovedAsLost.class).who()).isEqualTo(new NodeRegistration("n2", "a", 101));
    assertThat(rig.last(PublishMembers.class).members().list()).isEmpty();
  }

  @Test
  void anythingThatComesIsLife() {
    long link = rig.join("n2", "a");

    rig.pass(3_500);
    rig.pass(500, link);
    rig.pass(3_000);

    assertThat(rig.all(SuspicionChanged.class)).isEmpty();
  }

  @Test
  void aControllerThatStoodStillFindsNobodySilent() {
    long link = rig.join("n2", "a");
    rig.pass(500, link);

    rig.pass(2_000);
    rig.late(60_000);
    assertThat(rig.all(SuspicionChanged.class)).isEmpty();
    rig.pass(500, link);
    assertThat(rig.all(CommitRemoval.class)).isEmpty();
  }

  @Test
  void aControllerThatIsAlwaysLateStillFindsOut() {
    rig.join("n2", "a");

    for (int i = 0; i < 5; i++) {
      rig.late(60_000);
    }

    assertThat(rig.all(RemovedAsLost.class)).hasSize(1);
  }

  @Test
  void whatWasOnceToBeCommittedIsSoUntilItIs() {
    long link = rig.join("n2", "a");
    rig.commits = false;
    rig.pass(4_000);
    CommitRemoval asked = rig.last(CommitRemoval.class);
    rig.pass(5_000, link); // it is back, and may be lost all the same
    assertThat(rig.all(CommitRemoval.class)).hasSize(1);
    assertThat(rig.last(SuspicionChanged.class).suspected()).isFalse();

    rig.on(membership.onRemovalResult(asked.gone().who(), false));
    rig.pass(500, link);
    rig.join(again("n2", "a", 101), null);

    assertThat(rig.all(CommitRemoval.class)).containsExactly(asked, asked);
    assertThat(rig.all(RemovedAsLost.class)).isEmpty();
    assertThat(rig.refusal()).startsWith("node n2");
  }

  @Test
  void whatComesUnderALostNumberIsRefusedAndItsProcessBeginsAnew() {
    long link = rig.join("n2", "a");
    rig.pass(4_000);
    assertThat(rig.last(EndLink.class).link()).isEqualTo(link);
    rig.all.clear();

    rig.on(membership.onMessage(link));
    assertThat(rig.all)
        .containsExactly(new EndLink(link, "not from a member (expected: HELLO, then WELCOME)"));

    rig.join(again("n2", "a", 101), null);
    assertThat(rig.last(SendWelcome.class).welcome())
        .isEqualTo(new Handshake.Welcome(MembershipRig.OWN, "n1", 102, true));
  }

  @Test
  void aWelcomeThatGotLostIsStillFresh() {
    rig.join("n2", "a");
    rig.pass(4_000);
    rig.join(again("n2", "a", 101), null);
    rig.join(again("n2", "a", 101), null);

    assertThat(rig.last(SendWelcome.class).welcome())
        .isEqualTo(new Handshake.Welcome(MembershipRig.OWN, "n1", 102, true));
  }

  // --- links that close ---

  @Test
  void aLinkThatClosesIsSilenceUnlessThePortRefuses() {
    long link = rig.join("n2", "a");
    rig.pass(500, link);

    rig.on(membership.onLinkClosed(link));
    ProbePort dial = rig.last(ProbePort.class);
    assertThat(dial.host()).isEqualTo("n2.host");
    assertThat(dial.port()).isEqualTo(7423);
    rig.on(membership.onProbeResult(dial.who(), false));
    assertThat(rig.all(SuspicionChanged.class)).isEmpty();

    rig.pass(500);
    assertThat(rig.all(ProbePort.class)).hasSize(2);
    rig.pass(500);
    assertThat(rig.all(ProbePort.class)).as("one at a time").hasSize(2);
    rig.on(membership.onProbeResult(dial.who(), true));
    assertThat(rig.last(RemovedAsLost.class).reason()).isEqualTo("connection refused");
  }

  @Test
  void aPortThatRefusedBeforeItsNodeCalledAgainSaysNothing() {
    long link = rig.join("n2", "a");
    rig.on(membership.onLinkClosed(link));
    rig.join(again("n2", "a", 101), null);

    rig.on(membership.onProbeResult(rig.last(ProbePort.class).who(), true));
    rig.on(membership.onProbeResult(new NodeRegistration("n2", "b", 99), true));

    assertThat(rig.all(CommitRemoval.class)).isEmpty();
  }

  // --- what it runs ---

  @Test
  void whoIsHeardAndDoesNotTellWhatItRunsIsLost() {
    long link = rig.call(hello("n2", "a"), null);

    rig.pass(10_000, link);
    assertThat(rig.all(RemovedAsLost.class)).isEmpty();
    rig.pass(500, link);

    assertThat(rig.last(RemovedAsLost.class).reason()).isEqualTo("it does not send its inventory");
  }

  @Test
  void callingAgainGivesItNoMoreTimeButHavingToldDoes() {
    long link = rig.join("n2", "a");
    rig.pass(20_000, link);

    for (int i = 0; i < 4; i++) {
      assertThat(rig.all(RemovedAsLost.class)).isEmpty();
      link = rig.call(again("n2", "a", 101), null);
      rig.pass(3_000, link);
    }

    assertThat(rig.all(RemovedAsLost.class)).hasSize(1);
  }

  @Test
  void whatTheControllerHasNotLookedAtYetWasTold() {
    long link = rig.call(hello("n2", "a"), null);
    rig.pass(9_000, link);
    membership.onInventory(link);
    rig.pass(20_000, link);
    assertThat(rig.all(RemovedAsLost.class)).isEmpty();

    membership.onInventoryResult(link, false);
    rig.pass(1_500, link);
    assertThat(rig.all(RemovedAsLost.class)).hasSize(1);
  }

  @Test
  void whoComesLateHasAsLongToTell() {
    rig.on(membership.start(List.of(OLD_N2)));
    rig.pass(9_500);

    long link = rig.call(again("n2", "a", 7), null);
    rig.pass(10_000, link);

    assertThat(rig.all(RemovedAsLost.class)).isEmpty();
  }

  // --- a controller that begins ---

  @Test
  void whoWasRegisteredHasTenSecondsToCome() {
    rig.on(membership.start(List.of(OLD_N2, new NodeRegistration("n3", "c", 8))));

    rig.join(again("n2", "a", 7), null);
    rig.join("n3", "d");
    assertThat(rig.last(SendWelcome.class).welcome().registration()).isEqualTo(7);
    assertThat(rig.last(SendWelcome.class).welcome().fresh()).isFalse();
    assertThat(rig.refusal()).startsWith("node n3");
    assertThat(membership.status().awaited()).containsExactly("n3");
    assertThat(rig.all(PublishMembers.class)).as("n3 would be thought to be none").isEmpty();

    long n2 = rig.last(SendWelcome.class).link();
    rig.pass(10_000, n2);
    assertThat(rig.all(CommitRemoval.class)).isEmpty();
    rig.pass(500, n2);
    assertThat(rig.last(RemovedAsLost.class).who().number()).isEqualTo(8);
    assertThat(membership.status().awaited()).isEmpty();
    assertThat(rig.last(PublishMembers.class).members().list()).hasSize(1);
  }

  @Test
  void anEarlierProcessOfTheControllersNodeIsLostAtOnce() {
    rig.on(membership.start(List.of(new NodeRegistration("n1", "before", 3))));

    assertThat(rig.last(RemovedAsLost.class).who().number()).isEqualTo(3);
    rig.join("n1", "p1");
    rig.pass(20_000);
    assertThat(rig.all(RemovedAsLost.class)).as("its own is there").hasSize(1);
    assertThat(rig.all(ProbePort.class)).isEmpty();
  }

  // --- cut off ---

  @Test
  void whenMostFallSilentAtOnceTheControllerDoubtsItself() {
    long[] links = {rig.join("n2", "a"), rig.join("n3", "b"), rig.join("n4", "c")};
    rig.pass(1_000, links);
    rig.pass(500, links[0], links[1]); // n4 was heard one interval less

    rig.pass(4_000, links[0]);
    assertThat(membership.status().cutOff()).isTrue();
    rig.pass(28_500, links[0]);
    assertThat(rig.all(CommitRemoval.class)).isEmpty();
    assertThat(rig.state("n3")).isEqualTo(Member.MemberState.SUSPECTED);
    rig.pass(1_500, links[0]);
    assertThat(rig.all(RemovedAsLost.class)).hasSize(2);
    assertThat(membership.status().cutOff()).isFalse();
  }

  @Test
  void halfOfThemIsNotMost() {
    long[] links = {
      rig.join("n2", "a"), rig.join("n3", "b"), rig.join("n4", "c"), rig.join("n5", "d")
    };
    rig.pass(500, links);

    rig.pass(4_000, links[0], links[1]);

    assertThat(rig.all(RemovedAsLost.class)).hasSize(2);
  }

  @Test
  void oneAloneIsNotMost() {
    rig.join("n2", "a");

    rig.pass(4_000);

    assertThat(rig.all(RemovedAsLost.class)).hasSize(1);
  }

  @Test
  void whoFellSilentLongBeforeIsNotOfTheSameFault() {
    long[] links = {rig.join("n2", "a"), rig.join("n3", "b")};
    rig.pass(3_000, links[0]);
    rig.pass(1_000);

    assertThat(rig.all(RemovedAsLost.class)).hasSize(1);
    rig.pass(3_000);
    assertThat(rig.all(RemovedAsLost.class)).hasSize(2);
  }

  @Test
  void aPortThatRefusesIsNoDoubt() {
    rig.join("n2", "a");
    rig.join("n3", "b");
    rig.pass(4_000);
    assertThat(rig.all(ProbePort.class)).hasSize(2);

    rig.all(ProbePort.class).forEach(each -> rig.on(membership.onProbeResult(each.who(), true)));

    assertThat(rig.all(RemovedAsLost.class)).hasSize(2);
  }

  @Test
  void oneThatIsHeardAgainEndsTheDoubt() {
    rig.join("n2", "a");
    long n3 = rig.join("n3", "b");
    rig.pass(6_000);
    assertThat(rig.all(RemovedAsLost.class)).isEmpty();

    rig.pass(500, n3);

    assertThat(rig.last(RemovedAsLost.class).who().name()).isEqualTo("n2");
    assertThat(rig.state("n3")).isEqualTo(Member.MemberState.ALIVE);
  }

  // --- goodbye ---

  @Test
  void whoSaysGoodbyeIsSoAtOnceAndGoesWhenThatIsCommitted() {
    long link = rig.join("n2", "a");
    rig.commits = false;

    rig.on(membership.onNodeDrained("n2"));
    assertThat(rig.all(CommitRemoval.class)).as("it said nothing").isEmpty();
    rig.on(membership.onLeaving(link));
    rig.on(membership.onLeaving(link));
    assertThat(rig.all(MemberLeaving.class)).hasSize(1);
    assertThat(rig.state("n2")).isEqualTo(Member.MemberState.LEAVING);

    rig.on(membership.onNodeDrained("n2"));
    assertThat(rig.all(RemovedAsLeft.class)).isEmpty();
    assertThat(rig.all(ConfirmLeave.class)).isEmpty();
    rig.commit(rig.last(CommitRemoval.class));
    assertThat(rig.last(ConfirmLeave.class).link()).isEqualTo(link);
    assertThat(rig.last(RemovedAsLeft.class).who().name()).isEqualTo("n2");
    rig.on(membership.onLinkClosed(link));
    assertThat(rig.all(ProbePort.class)).isEmpty();
  }

  @Test
  void whoSaidGoodbyeAndLostItsLinkGoesOnLeaving() {
    rig.join("n2", "a");
    HandshakeHello leaving =
        new HandshakeHello(
            Handshake.VERSION,
            WireCodec.VERSION,
            "prod",
            node("n2", "a"),
            101,
            true,
            null,
            List.of());

    rig.join(leaving, null);
    assertThat(rig.last(MemberLeaving.class).member().state())
        .isEqualTo(Member.MemberState.LEAVING);
    rig.on(membership.onNodeDrained("n2"));
    long link = rig.join(leaving, null);
    assertThat(rig.last(ConfirmLeave.class).link()).isEqualTo(link);
    assertThat(rig.all(RegisterNode.class)).hasSize(1);
  }

  @Test
  void whoIsLeavingMayStillBeLost() {
    long link = rig.join("n2", "a");
    rig.on(membership.onLeaving(link));

    rig.pass(4_000);

    assertThat(rig.all(RemovedAsLost.class)).hasSize(1);
  }

  @Test
  void aCordonIsOfTheNameUntilItIsLifted() {
    rig.join("n2", "a");

    rig.on(membership.cordon("n2", true));
    assertThat(rig.state("n2")).isEqualTo(Member.MemberState.CORDONED);
    rig.pass(4_000);
    rig.join("n2", "b");
    assertThat(rig.state("n2")).isEqualTo(Member.MemberState.CORDONED);
    rig.on(membership.cordon("n2", false));
    assertThat(rig.state("n2")).isEqualTo(Member.MemberState.ALIVE);
  }

  // --- fencing ---

  @Test
  void aNodeOfAnotherClusterIdIsCommandedByNobodyHere() {
    rig.join(seen(new ClusterEpoch("id-2", 9, 9, 9, "d9")), null);

    assertThat(rig.refusal()).isEqualTo("cluster id: id-1 (expected: id-2)");
    assertThat(rig.all(StandBy.class)).isEmpty();
    assertThat(membership.status().strangers()).isTrue();
    assertThat(membership.closedReason()).contains("cluster id: id-1 (expected: id-2)");
    rig.join("n3", "b");
    assertThat(membership.closedReason()).as("it has a node of its own").isNull();
    rig.pass(10_000);
    assertThat(membership.status().strangers()).isFalse();
  }

  @Test
  void aControllerWithAnOldStateCommandsNobody() {
    rig.join("n3", "b");
    rig.join(seen(new ClusterEpoch("id-1", 1, 5, 10, "d10")), null);

    assertThat(rig.last(StandBy.class).reason())
        .isEqualTo(
            "generation 1, term 5, revision 9 (expected: at least 1, 5, 10, which a node has seen)");
    assertThat(rig.refusal()).startsWith("controller: generation 1, term 5, revision 9");
    rig.all.clear();
    rig.join("n4", "c");
    rig.pass(40_000);
    assertThat(rig.all(CommitRemoval.class)).isEmpty();
    assertThat(rig.all(RegisterNode.class)).isEmpty();
    assertThat(rig.all(PublishMembers.class)).isEmpty();
    assertThat(membership.status().standsBy()).startsWith("generation 1, term 5");
  }

  /** The stand-by begins while a registration is being committed. */
  @Test
  void registrationThatWasCommittedAfterAStandByIsRefused() {
    rig.commits = false;
    long own = rig.join("n1", "a");
    rig.join(seen(new ClusterEpoch("id-1", 1, 5, 10, "d10")), null);
    rig.commit(rig.last(RegisterNode.class));

    assertThat(rig.all(SendWelcome.class)).isEmpty();
    assertThat(rig.last(RefuseHello.class).link()).isEqualTo(own);
    assertThat(rig.refusal()).startsWith("controller: generation 1, term 5, revision 9");
  }

  @Test
  void controllerWhoseStateLacksTheLastCommandStandsBy() {
    rig.includes = false;
    rig.join(seen(new ClusterEpoch("id-1", 1, 4, 8, "other")), null);

    assertThat(rig.last(StandBy.class).reason())
        .isEqualTo(
            "generation 1, term 5, revision 9 (expected: a state with 1, 4, 8, which a node has seen)");
    assertThat(membership.closedReason()).startsWith("the controller stands by: generation 1");
  }

  @Test
  void commandsOfAnEarlierGenerationAreNotCompared() {
    rig.includes = false;
    rig.join(seen(new ClusterEpoch("id-1", 0, 4, 80, "other")), null);

    assertThat(rig.all(StandBy.class)).isEmpty();
    assertThat(rig.state("n2")).isEqualTo(Member.MemberState.ALIVE);
  }

  @Test
  void controllerStandsByThatDidSoBefore() {
    rig.on(membership.standsBy("older"));
    rig.join("n2", "a");

    assertThat(rig.refusal()).isEqualTo("controller: older");
    assertThat(rig.all(RegisterNode.class)).isEmpty();
  }

  private static HandshakeHello seen(ClusterEpoch seen) {
    return new HandshakeHello(
        Handshake.VERSION, WireCodec.VERSION, "prod", node("n2", "a"), 0, false, seen, List.of());
  }

  // --- what is told ---

  @Test
  void operatorsSeeWhatNodesSayOfEachOther() {
    rig.join("n2", "a");
    long n3 = rig.join("n3", "b");
    rig.pass(1_500, n3);

    membership.onHeartbeat(n3, Set.of("n2"), 700);
    membership.onHeartbeat(n3, Set.of("n2"), 0);
    membership.onHeartbeat(99, Set.of("n3"), 1);

    assertThat(membership.status().nodes())
        .containsExactly(
            new NodeStatus(
                new Member(node("n2", "a"), 101, Member.MemberState.ALIVE),
                1_000,
                0,
                List.of("n3")),
            new NodeStatus(
                new Member(node("n3", "b"), 102, Member.MemberState.ALIVE), 0, 700, List.of()));
  }

  @Test
  void eachChangeIsToldOnceUnderANewerNumber() {
    long link = rig.join("n2", "a");
    MemberList first = membership.members();
    rig.pass(2_000, link);
    assertThat(membership.members()).isSameAs(first);

    rig.join("n3", "b");

    assertThat(membership.members().isAfter(first)).isTrue();
    assertThat(first.isAfter(membership.members())).isFalse();
    assertThat(new MemberList(1, 6, 1, List.of()).isAfter(membership.members())).isTrue();
    assertThat(new MemberList(2, 1, 1, List.of()).isAfter(membership.members())).isTrue();
  }
}
