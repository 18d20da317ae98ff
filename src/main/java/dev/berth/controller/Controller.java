package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.controller.ControllerEvent.OfReplica;
import dev.berth.controller.autoscaling.HandleReports;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.ServeDetails;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Which replicas should run, and what routers should know: an event in, the actions it asks for
 * out. No clock, no messages, no threads of its own. Belongs to the controller's loop.
 *
 * <p>An event costs as much as the deployment it is about, and the list of its application's
 * deployments; what else is declared costs nothing.
 *
 * <p>Events may come twice, late, or not at all where a repeated command brings them again.
 */
public final class Controller {
  /** An instance that says nothing for so long may be on its way. Source: Ray Serve. */
  public static final long SHORTEST_SILENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final ControllerPorts ports;
  private final long startedMs;
  private final Recovery recovery = new Recovery();
  private final HandleReports reports;
  private final Hosts hosts;
  private final AutoscaledDeployments autoscaled;
  private final DeploymentStates deployments;
  private final ApplicationStates applications;
  private final NodeStates nodes;
  private boolean recovering;

  public Controller(ControllerPorts ports) {
    this.ports = ports;
    this.startedMs = ports.wallMillis().getAsLong();
    this.reports = new HandleReports(ports.silentNanos());
    this.hosts = new Hosts(ports.epoch().node());
    this.autoscaled = new AutoscaledDeployments(ports.epoch(), reports);
    this.deployments = new DeploymentStates(ports, hosts, autoscaled);
    this.applications =
        new ApplicationStates(
            ports.epoch(), deployments, recovery, this::observe, autoscaled::forget);
    this.nodes = new NodeStates(hosts, recovery, deployments, applications, autoscaled);
  }

  /** How long an instance that reports so often may say nothing. Source: Ray Serve. */
  public static long silenceNanos(Duration pushInterval) {
    return Math.max(SHORTEST_SILENCE_NANOS, pushInterval.multipliedBy(2).toNanos());
  }

  /**
   * Begins after another controller: before anything is started, stopped or published each of these
   * instances has told its inventory, or is lost. Where none {@link ControllerEvent.NodeJoined} yet
   * nobody says that of them, and 10 s are the end of it.
   *
   * @param nodes the instances that are there
   */
  public void recover(Collection<String> nodes, long nowNanos) {
    recovering = true;
    recovery.begin(nodes, nowNanos);
    reports.expect(nodes, nowNanos);
  }

  /** Takes an event; one that changes nothing gives no actions. */
  public List<ControllerAction> on(ControllerEvent event, long nowNanos) {
    Turn turn = new Turn(nowNanos);
    if (event instanceof ControllerEvent.Declared declared) {
      applications.declare(declared.application(), turn);
    } else if (event instanceof ControllerEvent.Withdrawn withdrawn) {
      applications.withdraw(withdrawn.application(), turn);
    } else if (event instanceof ControllerEvent.Paused paused) {
      applications.pause(paused, turn);
    } else if (event instanceof ControllerEvent.EndpointSplit split) {
      turn.add(new ControllerAction.SplitEndpoint(ports.epoch(), split.route(), split.weights()));
    } else if (event instanceof ControllerEvent.Scaled scaled) {
      applications.scale(scaled, turn);
    } else if (event instanceof ControllerEvent.Built built) {
      applications.built(built, turn);
    } else if (event instanceof ControllerEvent.BuildFailed failed) {
      applications.buildFailed(failed, turn);
    } else if (event instanceof ControllerEvent.PolicyAnswered answered) {
      autoscaled.answered(answered, turn);
    } else if (event instanceof ControllerEvent.OfNode ofNode) {
      nodes.on(ofNode, turn);
    } else if (event instanceof OfReplica happened && !recovery.keep(happened)) {
      observe(happened, turn);
    }
    return settle(turn);
  }

  /** Drops the start of an unknown replica while its node has yet to send its inventory. */
  private void observe(OfReplica event, Turn turn) {
    if (!(event instanceof ControllerEvent.ReplicaRunning running)
        || deployments.knows(event.replicaId())
        || !recovery.awaits(running.replica().address().node())) {
      deployments.on(event, turn);
    }
  }

  /** What is to be done since time has passed; to be called at {@link #nextWakeNanos}. */
  public List<ControllerAction> wake(long nowNanos) {
    Turn turn = new Turn(nowNanos);
    if (recovery.ends(nowNanos)) {
      applications.stopUnclaimed(turn);
      applications.touchAll(turn);
    }
    deployments.wake(turn);
    return settle(turn);
  }

  /** When it next has something to do by itself; {@link Long#MAX_VALUE} when it has not. */
  public long nextWakeNanos() {
    return Math.min(recovery.nextWakeNanos(), deployments.nextWakeNanos());
  }

  /** Deployments first; what follows for their applications may touch deployments again. */
  private List<ControllerAction> settle(Turn turn) {
    while (true) {
      DeploymentState deployment = turn.nextDeployment();
      if (deployment != null) {
        if (!recovery.isPending()) {
          deployments.settle(deployment, turn);
        }
        continue;
      }
      ApplicationState application = turn.nextApp();
      if (application == null) {
        break;
      }
      applications.settle(application, turn);
    }
    if (recovering && !recovery.isPending()) {
      recovering = false;
      turn.add(new ControllerAction.Recovered(applications.builds()));
    }
    return turn.actions;
  }

  // --- metrics ---

  /** Of its epoch: who told another one of its metrics is to tell it everything. */
  long epochNumber() {
    return ports.epoch().number();
  }

  /** Takes a batch of handle metrics; a stale one gives no actions. */
  public List<ControllerAction> on(HandleMetricBatch batch, long nowNanos) {
    Turn turn = new Turn(nowNanos);
    if (!hosts.has(batch.node())) {
      return turn.actions; // it is lost, or has not joined
    }
    if (autoscaled.record(
        batch, nowNanos, (deployment, nanos) -> deployments.lookAt(deployment, nanos, turn))) {
      turn.add(new ControllerAction.Reported(batch));
    }
    return settle(turn);
  }

  // --- what operators see ---

  /** How many there are on each instance, those that start or drain too; by bus name. */
  public Map<String, Integer> replicas() {
    return hosts.replicas();
  }

  /** The state of each application that is declared, in the order they were. */
  public Map<String, ApplicationStatus> applications() {
    Map<String, ApplicationStatus> all = new LinkedHashMap<>();
    applications.all().forEach(each -> all.put(each.name, each.state().status()));
    return all;
  }

  /** One application, without how it follows its load; null when it is not declared. */
  public @Nullable ApplicationDetails details(String name) {
    ApplicationState application = applications.get(name);
    return application == null ? null : application.details(ports.config(), deployment -> null);
  }

  /**
   * Everything.
   *
   * @param targetCapacity percent of the replicas that run; null when nothing was said of it
   * @param stateDir where what is wanted is kept; null when it is kept in memory only
   */
  public ServeDetails details(
      @Nullable Double targetCapacity, @Nullable String stateDir, long nowNanos) {
    List<ApplicationDetails> all = new ArrayList<>();
    long nowMs = ports.wallMillis().getAsLong();
    for (ApplicationState application : applications.all()) {
      all.add(application.details(ports.config(), it -> autoscaled.view(it, nowNanos, nowMs)));
    }
    Epoch epoch = ports.epoch();
    return new ServeDetails(
        epoch.node(), epoch.term(), startedMs, nowMs, targetCapacity, stateDir, all);
  }

  /** One deployment that follows its load, with the last decisions; null when it does not. */
  public @Nullable ScalingView autoscaling(DeploymentId id, long nowNanos) {
    ApplicationState application = applications.get(id.application());
    DeploymentState deployment = application == null ? null : application.deployments.get(id);
    return deployment == null
        ? null
        : autoscaled.view(deployment, nowNanos, ports.wallMillis().getAsLong());
  }
}
