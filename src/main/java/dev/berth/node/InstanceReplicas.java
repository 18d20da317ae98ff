package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;
import dev.berth.code.BuildCache;
import dev.berth.code.LoadedApplication;
import dev.berth.code.StartFailedException;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.HandlerSpread;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.Remember;
import dev.berth.controller.ControllerAction.ShareUpstream;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.ControllerEvent.ReconfigureFailed;
import dev.berth.controller.ControllerEvent.ReplicaDraining;
import dev.berth.controller.ControllerEvent.ReplicaFailed;
import dev.berth.controller.ControllerEvent.ReplicaHealth;
import dev.berth.controller.ControllerEvent.ReplicaReconfigured;
import dev.berth.controller.ControllerEvent.ReplicaRunning;
import dev.berth.controller.ControllerEvent.ReplicaStopped;
import dev.berth.controller.ControllerEvent.ReplicaSuspect;
import dev.berth.controller.ControllerEvent.ReplicaWaits;
import dev.berth.controller.DeploymentTarget;
import dev.berth.metrics.MeterRegistration;
import dev.berth.protocol.UserFailure;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.replica.HealthCheckSettings;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaHost;
import dev.berth.replica.ReplicaLimits;
import dev.berth.replica.ReplicaListener;
import dev.berth.replica.ReplicaLoopBinding;
import dev.berth.replica.ReplicaSpec;
import dev.berth.replica.ReplicaState;
import dev.berth.replica.hooks.ContextClassLoaderScope;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts, reconfigures and stops replicas on this instance as the controller commands, and reports
 * the results. A repeated command runs once and is reported again. Confined to the control loop,
 * unless a method states otherwise.
 *
 * <p>Over 500 lines: each command and each event of a replica changes the one table of hosted
 * replicas.
 */
public class InstanceReplicas implements ReplicaListener {
  private static final Logger LOG = LoggerFactory.getLogger(InstanceReplicas.class);

  /** Maximum of ended replicas, which no late command may restart, and of start failures. */
  private static final int MAX_REMEMBERED = 16_384;

  private static final class RecentEntries<V> extends LinkedHashMap<String, V> {
    private static final long serialVersionUID = 1;

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, V> eldest) {
      return size() > MAX_REMEMBERED;
    }
  }

  private final DataPlane plane;
  private final InstanceRouters routers;
  private final BuildCache builds;
  private final Function<Replica, MeterRegistration> shown;
  private final LoopExecutor control;
  private final LongSupplier epochs;
  private final Consumer<ControllerEvent> controller;
  private @Nullable LocalShares shares; // null: an upstream's replica has its whole maximum

  private final Map<String, Found> obtaining = new LinkedHashMap<>(); // replicas without code yet
  final Map<String, LocalReplicaState> hosted = new LinkedHashMap<>();
  private final Map<DeploymentId, DeploymentTarget> complete = new LinkedHashMap<>();
  private final RecentEntries<String> startFailures =
      new RecentEntries<>(); // last logged reason by deployment
  private final RecentEntries<Boolean> ended = new RecentEntries<>();
  private int nextLoop; // loop of the next replica to start
  private @Nullable Long drainStartedNanos; // start of the instance's drain
  private @Nullable Promise<Void> emptied; // set by emptied()

  /**
   * @param shown shows the metrics of a running replica, until its registration is closed
   * @param control the control loop
   * @param epochs returns a different number for each replica
   * @param controller receives events on any thread
   */
  public InstanceReplicas(
      DataPlane plane,
      InstanceRouters routers,
      BuildCache builds,
      Function<Replica, MeterRegistration> shown,
      LoopExecutor control,
      LongSupplier epochs,
      Consumer<ControllerEvent> controller) {
    this.plane = plane;
    this.routers = routers;
    this.builds = builds;
    this.shown = shown;
    this.control = control;
    this.epochs = epochs;
    this.controller = controller;
    plane.host.tell(this);
  }

  // --- start ---

  public void start(StartReplica command) {
    assert control.isHere();
    String id = command.replicaId();
    LocalReplicaState known = hosted.get(id);
    if (known != null) {
      if (known.running && !known.stopping) {
        controller.accept(new ReplicaRunning(known.info()));
      }
      return; // else the pending start reports its result
    }
    if (ended.containsKey(id)) {
      controller.accept(new ReplicaStopped(id));
      return;
    }
    String rival = rivalOf(command);
    if (rival != null) { // two ledgers of one upstream would grant its maximum twice
      rejectStart(id, "upstream " + command.upstream() + ": represented by replica " + rival);
      return;
    }
    DeploymentTarget target = command.target();
    LoadedApplication code = builds.acquire(target.id().application(), target.build());
    if (code == null) {
      obtain(command);
      return;
    }
    routers.ensure(code);
    ReplicaHost.StartingReplica starting;
    try {
      starting = plane.host.begin(spec(command, code), seats(target, code));
    } catch (RuntimeException failed) { // the host's limit is reached
      builds.release(code);
      rejectStart(id, StartFailedException.describe(failed));
      return;
    }
    LocalReplicaState begun =
        new LocalReplicaState(starting, code, command, plane.ports.wallClock().millis());
    hosted.put(id, begun);
    starting
        .running()
        .onComplete(
            running -> control.execute(() -> runs(begun)),
            thrown -> control.execute(() -> onStartFailed(begun, thrown)));
  }

  /** Fetches missing code, then starts the replica unless a stop arrived meanwhile. */
  private void obtain(StartReplica command) {
    DeploymentTarget target = command.target();
    Found unbuilt =
        LocalReplicaState.unbuilt(command, plane.ports.wallClock().millis(), shares != null);
    if (obtaining.putIfAbsent(command.replicaId(), unbuilt) != null) {
      return;
    }
    builds
        .obtain(target.id().application(), target.build())
        .onComplete(
            (code, failed) -> {
              obtaining.remove(command.replicaId());
              if (code != null) {
                start(command);
                builds.release(code);
              } else if (!ended.containsKey(command.replicaId())) {
                rejectStart(command.replicaId(), StartFailedException.why(failed));
              }
            });
  }

  /**
   * Returns another replica of the same upstream, which may still use slots; null for none. In a
   * cluster the controller's shares bound the sum of both.
   */
  private @Nullable String rivalOf(StartReplica command) {
    if (shares != null) {
      return null;
    }
    return inventory().stream()
        .filter(found -> !found.upstream().isEmpty() && found.upstream().equals(command.upstream()))
        .map(found -> found.info().replicaId())
        .filter(other -> !other.equals(command.replicaId()))
        .findFirst()
        .orElse(null);
  }

  private void markEnded(String replicaId) {
    ended.put(replicaId, true);
    if (shares != null) {
      shares.forget(replicaId);
    }
  }

  private void rejectStart(String replicaId, String reason) {
    markEnded(replicaId);
    controller.accept(new ReplicaFailed(replicaId, reason));
  }

  /** Returns all loops for a spread replica, else the next loop in turn that is not blocked. */
  private List<ReplicaLoopBinding> seats(DeploymentTarget target, LoadedApplication code) {
    int first = plane.host.loopFrom(nextLoop); // loop of the replica's address
    nextLoop = (first + 1) % plane.loops();
    return IntStream.range(0, isSpread(target) ? plane.loops() : 1)
        .mapToObj(offset -> plane.replicas((first + offset) % plane.loops()))
        .map(loop -> new ReplicaLoopBinding(loop, name -> routers.handle(code, name, loop.index())))
        .toList();
  }

  static boolean isSpread(DeploymentTarget target) {
    return target.settings().get(DeploymentConfig.SPREAD) == HandlerSpread.EVENT_LOOPS;
  }

  private ReplicaSpec spec(StartReplica command, LoadedApplication code) {
    DeploymentTarget target = command.target();
    Settings settings = target.settings();
    Duration startTimeout = settings.find(DeploymentConfig.REPLICA_START_TIMEOUT_S);
    HandlerFactory factory = code.deployment(target.id()).factory();
    return new ReplicaSpec(
        command.replicaId(),
        target.id(),
        epochs.getAsLong(),
        hasShares(command.upstream()) ? 0 : LocalReplicaState.slots(target, command.upstream()),
        LocalReplicaState.userConfig(target, command.upstream()),
        replica -> ContextClassLoaderScope.call(code.classLoader(), () -> factory.create(replica)),
        limits(target),
        healthChecks(settings),
        routers.router(target.id()).healthCheckTimes,
        isVirtual(target),
        startTimeout == null ? null : (Long) startTimeout.toNanos(),
        command.upstream());
  }

  private ReplicaLimits limits(DeploymentTarget target) {
    Settings settings = target.settings();
    return plane
        .limits
        .replica()
        .withOwn(
            settings.get(DeploymentConfig.CANCEL_GRACE_S).toNanos(),
            settings.get(DeploymentConfig.MAX_ZOMBIE_REQUESTS),
            settings.get(DeploymentConfig.MAX_BUFFERED_BODY_BYTES),
            target.routePrefix(),
            InstanceLimits.batching(settings));
  }

  private static HealthCheckSettings healthChecks(Settings settings) {
    return new HealthCheckSettings(
        settings.get(DeploymentConfig.HEALTH_CHECK_PERIOD_S).toNanos(),
        settings.get(DeploymentConfig.HEALTH_CHECK_TIMEOUT_S).toNanos());
  }

  private void runs(LocalReplicaState here) {
    if (here.stopping) { // stopped before it ran, or died at once
      here.replica.shutDown(Duration.ZERO).onComplete(stopped -> control.execute(() -> end(here)));
      return;
    }
    here.running = true;
    here.shown = shown.apply(here.replica);
    startFailures.remove(here.target.id().toString());
    controller.accept(new ReplicaRunning(here.info()));
    if (shares != null && hasShares(here.upstream)) {
      shares.onRunning(here);
    }
    DeploymentTarget next = here.next;
    if (next != null) {
      here.next = null;
      reconfigure(here, next);
    }
  }

  private void onStartFailed(LocalReplicaState here, Throwable thrown) {
    end(here);
    if (here.stopping) {
      return; // the stop is reported already
    }
    String reason = StartFailedException.describe(thrown);
    if (!(thrown instanceof CancellationException)
        && !reason.equals(startFailures.put(here.target.id().toString(), reason))) {
      Throwable shown = UserFailure.legible(thrown); // logged once per reason, for its stack
      LOG.error("replica {} failed to start", here.id(), shown);
    }
    controller.accept(new ReplicaFailed(here.id(), reason));
  }

  // --- reconfigure ---

  public void reconfigure(ReconfigureReplica command) {
    assert control.isHere();
    LocalReplicaState here = hosted.get(command.replicaId());
    DeploymentTarget target = command.target();
    if (here == null || here.stopping) {
      controller.accept(
          new ReconfigureFailed(command.replicaId(), target.version(), "no such replica"));
    } else if (!here.running) {
      here.next = target; // applied once the replica runs
    } else if (target.equals(here.next) // a failed hook runs again
        || here.next == null && !here.userConfigTaken.failed() && target.equals(here.target)) {
      if (here.next == null) {
        reconfigured(here);
      } // else the running hook reports its result
    } else {
      reconfigure(here, target);
    }
  }

  private void reconfigure(LocalReplicaState here, DeploymentTarget target) {
    DeploymentTarget before = here.next == null ? here.target : here.next;
    Settings settings = target.settings();
    here.next = target;
    int slots =
        hasShares(here.upstream)
            ? here.replica.gate.max()
            : LocalReplicaState.slots(target, here.upstream);
    here.replica.configure(slots, limits(target), healthChecks(settings));
    Map<String, @Nullable Object> userConfig = LocalReplicaState.userConfig(target, here.upstream);
    if (here.userConfigTaken.failed() // a failed hook runs again
        || !userConfig.equals(LocalReplicaState.userConfig(before, here.upstream))) {
      here.userConfigTaken = here.replica.reconfigure(userConfig);
    }
    here.userConfigTaken.onComplete(
        (taken, thrown) -> control.execute(() -> reconfigured(here, target, thrown)));
  }

  private void reconfigured(
      LocalReplicaState here, DeploymentTarget target, @Nullable Throwable thrown) {
    if (here.next != target || here.stopping) {
      return; // superseded, or stopping
    }
    here.next = null;
    if (thrown == null) {
      here.target = target;
      reconfigured(here);
    } else {
      controller.accept(
          new ReconfigureFailed(
              here.id(), target.version(), StartFailedException.describe(thrown)));
    }
  }

  private void reconfigured(LocalReplicaState here) {
    controller.accept(new ReplicaReconfigured(here.id(), here.target.version()));
  }

  // --- shares ---

  /** Begins with shares of upstreams, in a cluster. Call before the first command. */
  void shareBy(LocalShares upstreams) {
    shares = upstreams;
  }

  private boolean hasShares(String upstream) {
    return shares != null && !upstream.isEmpty();
  }

  /** Applies the share of an upstream's replica, as soon as it runs. */
  void share(ShareUpstream command) {
    assert control.isHere();
    String id = command.replicaId();
    LocalReplicaState here = hosted.get(id);
    if (shares != null && (here == null ? obtaining.containsKey(id) : here.isPresent())) {
      shares.share(id, command.share());
    } else {
      markEnded(id);
      controller.accept(new ReplicaStopped(id));
    }
  }

  // --- stop ---

  public void stop(StopReplica command) {
    stop(command.replicaId(), command.grace());
  }

  private void stop(String replicaId, Duration grace) {
    assert control.isHere();
    LocalReplicaState here = hosted.get(replicaId);
    if (here == null) {
      obtaining.remove(replicaId);
      markEnded(replicaId);
      controller.accept(new ReplicaStopped(replicaId));
      lookWhetherEmpty();
    } else if (!here.running) {
      boolean first = !here.stopping;
      here.stopping = true;
      here.replica.abandonStart(); // a replica that still comes up is then stopped
      if (first) {
        controller.accept(new ReplicaStopped(here.id()));
        lookWhetherEmpty();
      }
    } else if (here.stopping) {
      here.replica.shutDown(remainingGrace(grace)); // the shorter grace counts
    } else {
      here.stopping = true;
      here.replica
          .shutDown(remainingGrace(grace))
          .onComplete(stopped -> control.execute(() -> onStopped(here)));
    }
  }

  /** Drains all replicas within their own graces, when no controller will stop them. */
  void stopAll() {
    List.copyOf(obtaining.keySet())
        .forEach(each -> stop(each, Duration.ZERO)); // prevents a later start
    for (LocalReplicaState each : List.copyOf(hosted.values())) {
      stop(each.id(), each.target.settings().get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S));
    }
  }

  /**
   * Reports and ends a stopped replica. A killed upstream still runs requests until their slots are
   * free; only the end of the instance does not wait for them, and resets their connections.
   */
  private void onStopped(LocalReplicaState here) {
    Future<Void> back = here.replica.slotsBack();
    boolean runs = !here.upstream.isEmpty() && !back.isComplete();
    if (runs && drainStartedNanos == null) {
      here.awaitsSlots = true;
      back.onComplete(free -> control.execute(() -> onStopped(here)));
      return;
    }
    if (runs && !here.wasReset) {
      here.wasReset = true;
      here.replica.gate.reset().onComplete(reset -> control.execute(() -> onStopped(here)));
      return;
    }
    here.awaitsSlots = false;
    reportSlots(here.id());
    end(here);
    controller.accept(new ReplicaStopped(here.id()));
  }

  /** Removes an ended replica. Its code is released after its last request has settled. */
  private void end(LocalReplicaState here) {
    if (!hosted.remove(here.id(), here)) {
      return;
    }
    markEnded(here.id());
    lookWhetherEmpty();
    MeterRegistration shown = here.shown;
    if (shown != null) {
      shown.close();
    }
    if (here.running) {
      here.replica.slotsBack().onComplete(back -> builds.release(here.code));
    } else {
      here.startOver.onComplete(over -> builds.release(here.code));
    }
  }

  /** Returns the rest of a grace: a drain of the instance has used some of it. */
  private Duration remainingGrace(Duration grace) {
    Long since = drainStartedNanos;
    if (since == null) {
      return grace;
    }
    Duration left = grace.minusNanos(plane.ports.nanoClock().getAsLong() - since);
    return left.isNegative() ? Duration.ZERO : left;
  }

  /** Starts the graces of all deployments, as the instance drains from now on. */
  void drainStarts() {
    assert control.isHere();
    drainStartedNanos = plane.ports.nanoClock().getAsLong();
    List.copyOf(hosted.values()).stream().filter(each -> each.awaitsSlots).forEach(this::onStopped);
  }

  /** Resets the connections to all upstreams, before the instance closes its ports. */
  Future<Void> resetUpstreams() {
    return Future.join(
            hosted.values().stream()
                .filter(each -> !each.upstream.isEmpty())
                .map(each -> each.replica.gate.reset())
                .toList())
        .mapEmpty();
  }

  // --- events of replicas, sent by the host on any thread ---

  @Override
  public void onWaiting(Replica replica, String reason) {
    boolean unreachable = replica.gate.isUnreachable();
    controller.accept(new ReplicaWaits(replica.replicaId(), reason, unreachable));
  }

  @Override
  public void onSuspected(Replica replica, boolean suspect, String reason) {
    controller.accept(new ReplicaSuspect(replica.replicaId(), suspect, reason));
  }

  @Override
  public void onStateChanged(Replica replica, ReplicaState state) {
    String id = replica.replicaId();
    switch (state) {
      case DRAINING -> {
        controller.accept(new ReplicaDraining(id));
        control.execute(() -> reportSlots(id));
      }
      case UNHEALTHY -> controller.accept(new ReplicaHealth(id, false, replica.unhealthyReason()));
      case RUNNING -> controller.accept(new ReplicaHealth(id, true, ""));
      case STOPPED -> control.execute(() -> died(id));
      case STARTING -> {}
    }
  }

  private void reportSlots(String replicaId) {
    if (shares != null) {
      shares.report(replicaId);
    }
  }

  /** Reports and ends a replica that stopped without a command. */
  private void died(String replicaId) {
    LocalReplicaState here = hosted.get(replicaId);
    if (here != null && !here.stopping) {
      here.stopping = true;
      boolean drains = !here.upstream.isEmpty();
      controller.accept(drains ? new ReplicaDraining(replicaId) : new ReplicaStopped(replicaId));
      reportSlots(replicaId);
      Runnable then = drains ? () -> onStopped(here) : () -> end(here);
      here.replica.kill().onComplete(stopped -> control.execute(then));
    }
  }

  /**
   * Ends a replica at once, as if it had died: its running requests end with an unknown outcome.
   *
   * @return false when the deployment has no such replica here
   */
  public boolean kill(DeploymentId deployment, String replicaId) {
    assert control.isHere();
    LocalReplicaState here = hosted.get(replicaId);
    if (here == null || here.stopping || !here.target.id().equals(deployment)) {
      return false;
    }
    if (here.running) {
      here.replica.kill(); // its change of state is reported
    } else {
      here.replica.abandonStart();
    }
    return true;
  }

  /** Reports that handlers on virtual threads wait for a carrier; an empty text ends the report. */
  void carriersBlocked(String text) {
    assert control.isHere();
    hosted.values().stream()
        .filter(here -> here.running && isVirtual(here.target) && here.upstream.isEmpty())
        .forEach(here -> controller.accept(new ReplicaWaits(here.id(), text)));
  }

  private static boolean isVirtual(DeploymentTarget target) {
    return target.settings().get(DeploymentConfig.THREADS).equals("virtual");
  }

  // --- inventory ---

  /** Stores the last complete target of a deployment for a later controller. */
  public void remember(Remember command) {
    assert control.isHere();
    complete.compute(command.deployment(), (id, before) -> command.complete());
  }

  /** Forgets the start failures of a removed deployment. */
  public void forget(DeploymentId deployment) {
    startFailures.remove(deployment.toString());
  }

  /** Returns for each deployment the last target with which every replica ran. */
  public List<DeploymentTarget> complete() {
    return List.copyOf(complete.values());
  }

  /** Returns all hosted replicas, except those that were stopped before they ran. */
  public List<Found> inventory() {
    List<Found> found = new ArrayList<>(obtaining.values());
    hosted.values().stream()
        .filter(LocalReplicaState::isPresent)
        .forEach(here -> found.add(here.inventoryEntry(shares != null)));
    return found;
  }

  /** Returns a replica's requests in flight, reserved slots included; -1 when it is not here. */
  public int ongoing(String replicaId) {
    LocalReplicaState here = hosted.get(replicaId);
    return here == null ? -1 : here.replica.slots().ongoing();
  }

  /** Returns a future that completes once no replica runs or starts here. */
  Future<Void> emptied() {
    assert control.isHere();
    Promise<Void> promise = Promise.promise();
    emptied = promise;
    lookWhetherEmpty();
    return promise.future();
  }

  private void lookWhetherEmpty() {
    if (emptied != null && inventory().isEmpty()) {
      emptied.tryComplete();
    }
  }
}
