package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import dev.berth.api.DeploymentId;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.AnnounceDeployment;
import dev.berth.controller.ControllerAction.AnnounceReplica;
import dev.berth.controller.DeploymentVersion;
import dev.berth.fakes.LogLines;
import dev.berth.metrics.Meters;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaPhase;
import dev.berth.view.StatusTrigger;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class TransitionLogTest {
  private static final DeploymentId FRONT = new DeploymentId("shop", "front");
  private static final DeploymentVersion V1 = new DeploymentVersion("c1", "l1");

  @AutoClose private final LogLines lines = new LogLines("dev.berth.Transitions", Level.INFO);

  private final TransitionLog transitions = new TransitionLog();

  /** The pairs of the only line since the last look, as {@code key=value} in their order. */
  private String pairs() {
    assertThat(lines.all()).hasSize(1);
    ILoggingEvent line = lines.all().remove(0);
    return line.getKeyValuePairs().stream()
        .map(pair -> pair.key + "=" + pair.value)
        .collect(Collectors.joining(" "));
  }

  private Level level() {
    return lines.all().get(0).getLevel();
  }

  private void application(ApplicationStatus status, String message) {
    transitions.announce(new Announce("shop", 7, status, message, true, Set.of()));
  }

  private void deployment(DeploymentStatus status, StatusTrigger trigger, String message) {
    transitions.announce(new AnnounceDeployment(FRONT, status, trigger, V1, message));
  }

  private void replica(ReplicaPhase phase, String reason) {
    transitions.announce(new AnnounceReplica("shop#front#x1", FRONT, V1, phase, reason));
  }

  @Test
  void aReplicasLineSaysWhoseItIsItsVersionFromWhereToWhereAndWhy() {
    replica(ReplicaPhase.STARTING, "");
    assertThat(lines.all().get(0).getFormattedMessage())
        .isEqualTo("replica shop#front#x1: NONE -> STARTING");
    assertThat(pairs())
        .isEqualTo(
            "application=shop deployment=front replica=shop#front#x1 version=c1.l1"
                + " from=NONE to=STARTING");

    replica(ReplicaPhase.RUNNING, "");
    assertThat(pairs()).endsWith("from=STARTING to=RUNNING");

    replica(ReplicaPhase.DRAINING, "another version");
    assertThat(level()).isEqualTo(Level.INFO);
    assertThat(pairs()).endsWith("from=RUNNING to=DRAINING reason=another version");
  }

  @Test
  void aDeploymentsLineSaysWhatBroughtItThere() {
    deployment(DeploymentStatus.UPDATING, StatusTrigger.CONFIG_UPDATE_STARTED, "");
    assertThat(level()).isEqualTo(Level.INFO);
    assertThat(pairs())
        .isEqualTo(
            "application=shop deployment=front version=c1.l1 trigger=CONFIG_UPDATE_STARTED"
                + " from=NONE to=UPDATING");

    deployment(DeploymentStatus.DEPLOY_FAILED, StatusTrigger.REPLICA_STARTUP_FAILED, "no model");
    assertThat(level()).isEqualTo(Level.WARN);
    assertThat(pairs())
        .endsWith("trigger=REPLICA_STARTUP_FAILED from=UPDATING to=DEPLOY_FAILED reason=no model");
  }

  @Test
  void anApplicationsLineSaysItsRevision() {
    application(ApplicationStatus.DEPLOYING, "");
    assertThat(level()).isEqualTo(Level.INFO);
    assertThat(pairs()).isEqualTo("application=shop revision=7 from=NONE to=DEPLOYING");

    application(ApplicationStatus.DEPLOY_FAILED, "front: no model");
    assertThat(level()).isEqualTo(Level.ERROR);
    assertThat(pairs())
        .isEqualTo(
            "application=shop revision=7 from=DEPLOYING to=DEPLOY_FAILED reason=front: no model");
  }

  @Test
  void whatADrainStopsIsNotToldAsIfItWereDeleted() {
    application(ApplicationStatus.RUNNING, "");
    deployment(DeploymentStatus.HEALTHY, StatusTrigger.CONFIG_UPDATE_COMPLETED, "");
    lines.all().clear();
    transitions.drains();

    application(ApplicationStatus.DELETING, "");
    deployment(DeploymentStatus.UPDATING, StatusTrigger.DELETING, "");
    application(ApplicationStatus.NOT_STARTED, "");
    assertThat(lines.all()).as("its replicas say enough").isEmpty();
    replica(ReplicaPhase.STOPPING, "its deployment is deleted");
    assertThat(pairs()).endsWith("to=STOPPING reason=drain");
    replica(ReplicaPhase.RUNNING, "it answers again");
    assertThat(pairs()).endsWith("to=RUNNING reason=it answers again");
    application(ApplicationStatus.UNHEALTHY, "no replica");
    assertThat(pairs()).contains("to=UNHEALTHY");
  }

  @Test
  void whatIsGoneIsRememberedNoMore() {
    application(ApplicationStatus.RUNNING, "");
    deployment(DeploymentStatus.HEALTHY, StatusTrigger.CONFIG_UPDATE_COMPLETED, "");
    transitions.announce(
        new AnnounceDeployment(
            new DeploymentId("shopping", "front"),
            DeploymentStatus.HEALTHY,
            StatusTrigger.CONFIG_UPDATE_COMPLETED,
            V1,
            ""));
    replica(ReplicaPhase.RUNNING, "");
    replica(ReplicaPhase.STOPPED, "");
    assertThat(transitions.states.size()).isEqualTo(3);
    application(ApplicationStatus.NOT_STARTED, "");
    assertThat(transitions.states.size()).as("the deployment of another one").isEqualTo(1);
    lines.all().clear();

    deployment(DeploymentStatus.UPDATING, StatusTrigger.CONFIG_UPDATE_STARTED, "");
    assertThat(pairs()).contains("from=NONE");
    replica(ReplicaPhase.STARTING, "");
    assertThat(pairs()).contains("from=NONE");
  }

  @Test
  void metricsShowStatesAndRunningReplicasUntilTheDeploymentEnds() {
    Meters meters = new Meters("n", "here", "", false);
    meters.add(transitions::show);
    application(ApplicationStatus.DEPLOY_FAILED, "front: no model");
    deployment(DeploymentStatus.DEPLOY_FAILED, StatusTrigger.REPLICA_STARTUP_FAILED, "no model");
    replica(ReplicaPhase.STARTING, "");
    String id = "application=\"shop\",deployment=\"front\"";
    assertThat(meters.scrape("text/plain"))
        .contains("berth_application_status{application=\"shop\",status=\"DEPLOY_FAILED\"} 1.0")
        .contains("berth_deployment_status{" + id + ",status=\"DEPLOY_FAILED\"} 1.0")
        .contains("berth_replicas_running{" + id + "} 0.0");

    application(ApplicationStatus.RUNNING, "");
    replica(ReplicaPhase.RUNNING, "");
    assertThat(meters.scrape("text/plain"))
        .contains("berth_application_status{application=\"shop\",status=\"RUNNING\"} 1.0")
        .doesNotContain("berth_application_status{application=\"shop\",status=\"DEPLOY_FAILED\"}")
        .contains("berth_replicas_running{" + id + "} 1.0");

    transitions.forget(FRONT);
    assertThat(meters.scrape("text/plain"))
        .doesNotContain("berth_replicas_running{")
        .doesNotContain("berth_deployment_status{");
  }
}
