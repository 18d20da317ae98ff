package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.controller.ControllerEvent.OfReplica;
import dev.berth.controller.autoscaling.HandleReports;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.ServeDetails;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ObjIntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The decisions of the controller: each event yields the actions that it requires. It has no clock,
 * no messages and no threads. Confined to the controller's loop.
 *
 * <p><b>Cost.</b> An event costs work for its deployment and for the list of its application's
 * deployments. Other applications cost nothing.
 *
 * <p><b>Failure.</b> Events may arrive twice or late. They may also be lost where a repeated
 * command produces them again.
 */
public final class Controller {
  /**
   * Minimum silence in nanoseconds before an instance counts as silent: its report may be in
   * flight. Source: Ray Serve.
   */
  public static final long MIN_SILENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final ControllerPorts ports;
  private final long startedMs;
  private final ControllerRecovery recovery = new ControllerRecovery();
  private final HandleReports reports;
  private final NodePool hosts;
  private final AutoscaledDeployments autoscaled;
  private final DeploymentStates deployments;
  private final ApplicationStates applications;
  private final NodeStates nodes;
  // Details without configurations since the last change, by application; none with autoscaling.
  private final Map<String, ApplicationDetails> unchanged = new HashMap<>();
  private boolean recovering;

  public Controller(ControllerPorts ports) {
    this.ports = ports;
    this.startedMs = ports.wallMillis().getAsLong();
    this.reports = new HandleReports(ports.silentNanos());
    this.hosts = new NodePool(ports.epoch().node());
    this.autoscaled = new AutoscaledDeployments(ports.epoch(), reports);
    this.deployments =
        new DeploymentStates(ports, hosts, autoscaled, new UpstreamKeys(recovery::holdsUpstream));
    this.applications =
        new ApplicationStates(
            ports.epoch(), deployments, recovery, this::observe, autoscaled::forget);
    this.nodes = new NodeStates(hosts, recovery, deployments, applications, autoscaled);
  }

  /** Returns the silence limit in nanoseconds for a report interval. Source: Ray Serve. */
  public static long silenceNanos(Duration pushInterval) {
    return Math.max(MIN_SILENCE_NANOS, pushInterval.multipliedBy(2).toNanos());
  }

  /**
   * Starts recovery after another controller. Nothing is started, stopped or published before each
   * of these instances has sent its inventory or is lost. Before any {@link
   * ControllerEvent.NodeJoined} no instance can be reported lost, so recovery then ends after 10 s.
   *
   * @param nodes instances that are registered
   */
  public void recover(Collection<String> nodes, long nowNanos) {
    recovering = true;
    recovery.begin(nodes, nowNanos);
    reports.expect(nodes, nowNanos);
  }

  /** Handles an event and returns its actions; an event without effect returns none. */
  public List<ControllerAction> on(ControllerEvent event, long nowNanos) {
    ReconcilePass turn = new ReconcilePass(nowNanos);
    unchanged.clear();
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
      autoscaled.onPolicyAnswered(answered, turn);
    } else if (event instanceof ControllerEvent.UpstreamsGranted granted) {
      deployments.shares.onGranted(granted.grants(), nowNanos);
    } else if (event instanceof ControllerEvent.UpstreamReport report) {
      deployments.shares.onReport(report);
    } else if (event instanceof ControllerEvent.OwnerFree free) {
      deployments.shares.onNodeEnded(free.node(), nowNanos);
    } else if (event instanceof ControllerEvent.UpstreamResolved resolved) {
      deployments.names.onResolved(resolved, turn);
    } else if (event instanceof ControllerEvent.UpstreamTaken taken) {
      deployments.shares.onTaken(taken.upstream(), nowNanos);
    } else if (event instanceof ControllerEvent.OfNode ofNode) {
      nodes.on(ofNode, turn);
    } else if (event instanceof OfReplica happened && !recovery.keep(happened)) {
      observe(happened, turn);
    }
    return settle(turn);
  }

  /** Drops the start of an unknown replica while its node has yet to send its inventory. */
  private void observe(OfReplica event, ReconcilePass turn) {
    if (!(event instanceof ControllerEvent.ReplicaRunning running)
        || deployments.knows(event.replicaId())
        || !recovery.awaits(running.replica().address().node())) {
      deployments.on(event, turn);
    }
  }

  /** Returns the actions that are due by time; called at {@link #nextWakeNanos}. */
  public List<ControllerAction> wake(long nowNanos) {
    ReconcilePass turn = new ReconcilePass(nowNanos);
    unchanged.clear();
    if (recovery.ends(nowNanos)) {
      applications.stopUnclaimed(turn);
      applications.touchAll(turn);
    }
    deployments.wake(turn);
    if (!recovery.isPending()) {
      deployments.wakeUpstreams(turn);
    }
    return settle(turn);
  }

  /** Returns the time of the next action without an event; {@link Long#MAX_VALUE} for none. */
  public long nextWakeNanos() {
    long ofUpstreams = recovery.isPending() ? Long.MAX_VALUE : deployments.upstreamsWakeNanos();
    return Math.min(ofUpstreams, Math.min(recovery.nextWakeNanos(), deployments.nextWakeNanos()));
  }

  /** Settles deployments first; settling their applications may touch deployments again. */
  private List<ControllerAction> settle(ReconcilePass turn) {
    while (true) {
      DeploymentState deployment = turn.nextDeployment();
      if (deployment != null) {
        unchanged.clear();
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
    if (!recovery.isPending()) {
      deployments.shares.settle(turn);
    }
    if (recovering && !recovery.isPending()) {
      recovering = false;
      turn.add(new ControllerAction.Recovered(applications.builds()));
    }
    return turn.actions;
  }

  // --- metrics ---

  /**
   * Returns the number of this controller's epoch. A sender that reported to another epoch resends
   * all of its metrics.
   */
  long epochNumber() {
    return ports.epoch().number();
  }

  /** Records a batch of handle metrics; a stale batch returns no actions. */
  public List<ControllerAction> on(HandleMetricBatch batch, long nowNanos) {
    ReconcilePass turn = new ReconcilePass(nowNanos);
    if (!hosts.has(batch.node())) {
      return turn.actions; // lost, or not yet joined
    }
    if (autoscaled.record(
        batch, nowNanos, (deployment, nanos) -> deployments.lookAt(deployment, nanos, turn))) {
      turn.add(new ControllerAction.Reported(batch));
    }
    return settle(turn);
  }

  // --- view for operators ---

  /**
   * Returns the number of replicas on each instance, including starting and draining ones, by bus
   * name.
   */
  public Map<String, Integer> replicas() {
    return hosts.replicas();
  }

  /** Returns the state of each declared application, in the order of their declaration. */
  public Map<String, ApplicationStatus> applications() {
    Map<String, ApplicationStatus> all = new LinkedHashMap<>();
    applications.all().forEach(each -> all.put(each.name, each.state().status()));
    return all;
  }

  /** Returns one application without its autoscaling view; null when it is not declared. */
  public @Nullable ApplicationDetails details(String name) {
    ApplicationState application = applications.get(name);
    return application == null ? null : application.details(ports.config(), deployment -> null);
  }

  /** Returns the details of one application; null when it is not declared. */
  public @Nullable ApplicationDetails details(String name, long nowNanos) {
    ApplicationState application = applications.get(name);
    return application == null ? null : details(application, nowNanos);
  }

  private ApplicationDetails details(ApplicationState of, long nowNanos) {
    return of.details(ports.config(), it -> view(it, nowNanos));
  }

  private @Nullable ScalingView view(DeploymentState of, long nowNanos) {
    return autoscaled.view(of, nowNanos, ports.wallMillis().getAsLong());
  }

  /**
   * Returns the details of all applications, without the configurations of their deployments.
   * Applications that have not changed since the last call have the same details.
   */
  public ServeDetails overview(long nowNanos) {
    return details(null, null, it -> overview(it, nowNanos));
  }

  private ApplicationDetails overview(ApplicationState of, long nowNanos) {
    ApplicationDetails made = unchanged.get(of.name);
    if (made == null) {
      made = of.details(settings -> Map.of(), it -> view(it, nowNanos));
      if (made.deployments().stream().allMatch(each -> each.autoscaling() == null)) {
        unchanged.put(of.name, made);
      }
    }
    return made;
  }

  /** Passes the desired number of replicas of each deployment to an action. */
  public void forEachTarget(ObjIntConsumer<DeploymentId> action) {
    for (ApplicationState application : applications.all()) {
      application.deployments.forEach((id, each) -> action.accept(id, each.wantedReplicas()));
    }
  }

  /**
   * Returns the details of all applications.
   *
   * @param targetCapacity percent of the replicas that run; null when unset
   * @param stateDir directory of the desired state; null when the state is in memory only
   */
  public ServeDetails details(
      @Nullable Double targetCapacity, @Nullable String stateDir, long nowNanos) {
    return details(targetCapacity, stateDir, it -> details(it, nowNanos));
  }

  private ServeDetails details(
      @Nullable Double targetCapacity,
      @Nullable String stateDir,
      Function<ApplicationState, ApplicationDetails> shown) {
    List<ApplicationDetails> all = applications.all().stream().map(shown).toList();
    Epoch epoch = ports.epoch();
    long nowMs = ports.wallMillis().getAsLong();
    return new ServeDetails(
        epoch.node(), epoch.term(), startedMs, nowMs, targetCapacity, stateDir, all);
  }

  /**
   * Returns the autoscaling view of a deployment with its last decisions; null when the deployment
   * does not autoscale.
   */
  public @Nullable ScalingView autoscaling(DeploymentId id, long nowNanos) {
    ApplicationState application = applications.get(id.application());
    DeploymentState deployment = application == null ? null : application.deployments.get(id);
    return deployment == null ? null : view(deployment, nowNanos);
  }
}
