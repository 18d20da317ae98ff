package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.LimitOptions;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.Publish;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** Events in, actions out. */
class ControllerTest {
  private static final Epoch EPOCH = new Epoch(3, "n1");
  private static final DeploymentId MODEL = new DeploymentId("app", "model");
  private static final DeploymentId FRONT = new DeploymentId("app", "front");

  private int made;
  private final Controller controller =
      new Controller(EPOCH, deployment -> deployment.name() + "-" + ++made);

  private List<ControllerAction> on(ControllerEvent event) {
    return controller.on(event, 0);
  }

  /** Declares it, and tells what its code gave. */
  private List<ControllerAction> declare(DeploymentTarget... targets) {
    List<ControllerAction> actions = new ArrayList<>(on(declared(1)));
    actions.addAll(
        on(
            new ControllerEvent.Built(
                "app", 1, new BuiltApplication("b1", "front", List.of(targets)))));
    return actions;
  }

  private static ControllerEvent.Declared declared(long revision) {
    return new ControllerEvent.Declared(
        new DeclaredApplication("app", revision, "/app", "{}", false, 0, null, Map.of()));
  }

  private static DeploymentTarget target(DeploymentId id, int replicas) {
    return new DeploymentTarget(
        id,
        "b1",
        new DeploymentVersion("b1", "l1"),
        DeploymentConfig.of(
                new Deployment(id.name(), replicas, 4, false, Map.of(), context -> null))
            .resolve(LimitOptions.defaults()));
  }

  private static StopReplica stop(String replicaId) {
    return new StopReplica(EPOCH, replicaId, Duration.ofSeconds(20), "its application is deleted");
  }

  private List<ControllerAction> running(DeploymentId deployment, String replicaId) {
    return on(new ControllerEvent.ReplicaRunning(info(deployment, replicaId)));
  }

  private static ReplicaInfo info(DeploymentId deployment, String replicaId) {
    return new ReplicaInfo(
        replicaId,
        deployment,
        new ReplicaAddress("n1", 0, replicaId.hashCode() & 0xff, 1),
        4,
        true,
        false,
        null,
        OptionalInt.empty(),
        null,
        Map.of());
  }

  private static <T> List<T> of(Class<T> type, List<ControllerAction> actions) {
    return actions.stream().filter(type::isInstance).map(type::cast).toList();
  }

  private static List<String> routes(List<ControllerAction> actions) {
    return of(Publish.class, actions).get(0).snapshot().replicas().stream()
        .map(route -> route.replica().replicaId() + (route.routable() ? "" : " draining"))
        .toList();
  }

  private static List<ApplicationStatus> statuses(List<ControllerAction> actions) {
    return of(Announce.class, actions).stream().map(Announce::status).toList();
  }

  @Test
  void aDeclaredApplicationStartsEachDeploymentsReplicasUnderItsEpoch() {
    List<ControllerAction> actions = declare(target(FRONT, 1), target(MODEL, 2));
    assertThat(actions)
        .containsExactly(
            new Announce("app", 1, ApplicationStatus.DEPLOYING, ""),
            new Build(EPOCH, "app", 1),
            new Configure(EPOCH, target(FRONT, 1)),
            new Configure(EPOCH, target(MODEL, 2)),
            new StartReplica(EPOCH, target(FRONT, 1), "front-1"),
            new StartReplica(EPOCH, target(MODEL, 2), "model-2"),
            new StartReplica(EPOCH, target(MODEL, 2), "model-3"));
  }

  @Test
  void eachReplicaIsPublishedAsItRunsAndTheApplicationWhenAllDo() {
    declare(target(MODEL, 2));
    List<ControllerAction> first = running(MODEL, "model-1");
    assertThat(routes(first)).containsExactly("model-1");
    assertThat(statuses(first)).isEmpty();
    List<ControllerAction> second = running(MODEL, "model-2");
    assertThat(routes(second)).containsExactly("model-1", "model-2");
    assertThat(statuses(second)).containsExactly(ApplicationStatus.RUNNING);
    assertThat(controller.applications())
        .containsExactly(Map.entry("app", ApplicationStatus.RUNNING));
  }

  private List<ControllerAction> health(String replicaId, boolean healthy) {
    return on(new ControllerEvent.ReplicaHealth(replicaId, healthy, ""));
  }

  @Test
  void anUnhealthyReplicaIsNotRoutedToWhileAnotherIsWell() {
    declare(target(MODEL, 2));
    running(MODEL, "model-1");
    running(MODEL, "model-2");
    assertThat(health("model-1", true)).as("nothing new").isEmpty();
    assertThat(routes(health("model-1", false))).containsExactly("model-1 draining", "model-2");
    assertThat(routes(health("model-1", true))).containsExactly("model-1", "model-2");
  }

  @Test
  void whereAllLookUnhealthyNoneIsTakenOut() {
    declare(target(MODEL, 2));
    running(MODEL, "model-1");
    running(MODEL, "model-2");
    health("model-1", false);
    assertThat(routes(health("model-2", false))).containsExactly("model-1", "model-2");
    assertThat(routes(health("model-1", true))).containsExactly("model-1", "model-2 draining");
    assertThat(routes(on(new ControllerEvent.ReplicaDraining("model-1"))))
        .as("the one that is well leaves")
        .containsExactly("model-1 draining", "model-2");
  }

  @Test
  void toldTwiceThatAReplicaRunsItActsOnce() {
    declare(target(MODEL, 1));
    running(MODEL, "model-1");
    assertThat(running(MODEL, "model-1")).isEmpty();
  }

  @Test
  void snapshotsCarryItsTermAndRise() {
    declare(target(MODEL, 2));
    List<RoutingSnapshot.Version> versions = new ArrayList<>();
    for (String id : List.of("model-1", "model-2")) {
      of(Publish.class, running(MODEL, id))
          .forEach(each -> versions.add(each.snapshot().version()));
    }
    assertThat(versions).isSorted().doesNotHaveDuplicates();
    assertThat(versions).allMatch(version -> version.term() == EPOCH.term());
  }

  @Test
  void aReplicaThatNobodyDeclaredIsStopped() {
    assertThat(running(MODEL, "stray"))
        .containsExactly(
            new StopReplica(EPOCH, "stray", Duration.ZERO, "nobody wants it any more"));
  }

  @Test
  void aDrainingReplicaIsStillPublishedForHeldLeasesButNotRoutable() {
    declare(target(MODEL, 2));
    running(MODEL, "model-1");
    running(MODEL, "model-2");
    List<ControllerAction> actions = on(new ControllerEvent.ReplicaDraining("model-1"));
    assertThat(routes(actions)).containsExactly("model-1 draining", "model-2");
    assertThat(routes(on(new ControllerEvent.ReplicaStopped("model-1"))))
        .containsExactly("model-2");
  }

  @Test
  void aReplicaThatCannotStartFailsItsApplicationWithItsReason() {
    declare(target(MODEL, 1));
    List<ControllerAction> actions =
        on(new ControllerEvent.ReplicaFailed("model-1", "no model file"));
    assertThat(actions)
        .contains(new Announce("app", 1, ApplicationStatus.DEPLOY_FAILED, "no model file"));
    assertThat(of(Publish.class, actions).get(0).snapshot().available())
        .as("who waits is told, and does not wait for ever")
        .isFalse();
  }

  @Test
  void aSecondFailureDoesNotReplaceTheFirstReason() {
    declare(target(MODEL, 2));
    on(new ControllerEvent.ReplicaFailed("model-1", "first"));
    List<ControllerAction> second = on(new ControllerEvent.ReplicaFailed("model-2", "second"));
    assertThat(statuses(second)).isEmpty();
  }

  @Test
  void aWithdrawnApplicationStopsWhatRunsAndEndsWhenAllIsGone() {
    declare(target(MODEL, 2));
    running(MODEL, "model-1");
    running(MODEL, "model-2");
    List<ControllerAction> actions = on(new ControllerEvent.Withdrawn("app"));
    assertThat(actions)
        .containsExactly(
            new Announce("app", 1, ApplicationStatus.DELETING, ""),
            stop("model-1"),
            stop("model-2"));
    assertThat(on(new ControllerEvent.Withdrawn("app"))).as("again").isEmpty();
    assertThat(statuses(on(new ControllerEvent.ReplicaStopped("model-1")))).isEmpty();
    assertThat(statuses(on(new ControllerEvent.ReplicaStopped("model-2"))))
        .containsExactly(ApplicationStatus.NOT_STARTED);
    assertThat(controller.applications()).isEmpty();
  }

  @Test
  void aReplicaThatStartsAfterItsApplicationWasWithdrawnIsStoppedThen() {
    declare(target(MODEL, 1));
    assertThat(of(StopReplica.class, on(new ControllerEvent.Withdrawn("app")))).isEmpty();
    List<ControllerAction> actions = running(MODEL, "model-1");
    assertThat(actions).containsExactly(stop("model-1"));
  }

  @Test
  void whatIsSaidOfAnUnknownReplicaChangesNothing() {
    assertThat(on(new ControllerEvent.ReplicaDraining("x"))).isEmpty();
    assertThat(on(new ControllerEvent.ReplicaStopped("x"))).isEmpty();
    assertThat(on(new ControllerEvent.ReplicaFailed("x", "why"))).isEmpty();
    assertThat(on(new ControllerEvent.Withdrawn("x"))).isEmpty();
  }

  @Test
  void epochsAreOrderedByTermThenByNode() {
    List<Epoch> epochs = List.of(new Epoch(2, "a"), new Epoch(1, "b"), new Epoch(2, "b"));
    assertThat(epochs.stream().sorted().toList())
        .containsExactly(new Epoch(1, "b"), new Epoch(2, "a"), new Epoch(2, "b"));
  }
}
