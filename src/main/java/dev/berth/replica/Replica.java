package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.metrics.LatencyBuckets;
import dev.berth.metrics.Utilization;
import dev.berth.protocol.BusMessage.ReplicaLoad;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.replica.hooks.HookThreads.HookKind;
import dev.berth.replica.log.RequestLogFields;
import dev.berth.replica.slots.SlotGate;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.replica.threads.HandlerThreads;
import dev.berth.view.BatchFill;
import dev.berth.view.LedgerView;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * One replica incarnation on this instance: its slots, its handlers (one per seat), and its
 * lifecycle from start to drained ({@link ReplicaState}). Created by {@link ReplicaHost}.
 * Thread-safe; futures complete on the loop of the first seat.
 *
 * <p>Over 500 lines, because all transitions of its state must be read in one place. Parts with a
 * lifecycle of their own are separate: {@link ReplicaStart}, {@link ReplicaHooks}, {@link
 * HealthCheckRunner}, {@link PassiveHealth}, {@link UserConfigUpdater}.
 */
public final class Replica extends ReplicaRuntime {
  private static final Logger LOG = LoggerFactory.getLogger(Replica.class);

  /**
   * Maximum time in nanoseconds that the stop hooks wait for a thread before they are skipped. Once
   * they have one, {@link ReplicaHooks#STOP_HOOK_NANOS} applies.
   */
  static final long STOP_WAIT_NANOS = TimeUnit.SECONDS.toNanos(60);

  private final HandlerPorts ports;
  private final Consumer<Replica> gone; // frees its ordinal at the host
  private final Consumer<Replica> toLookAt; // schedules an earlier tick

  private final AtomicReference<ReplicaState> state = new AtomicReference<>(ReplicaState.STARTING);
  private volatile List<LoopReplica> parts = List.of();
  private volatile @Nullable LoopRound round; // the last task sent to each loop
  private volatile Runnable startStuck = () -> {}; // fails a start whose loop is stuck
  private volatile String loopBlocked = ""; // reason why its only loop cannot serve
  private volatile boolean takesWholeBodies; // set once the handlers run
  private volatile @Nullable String batchedMethods; // as above
  final ReplicaHooks hooks;
  final HealthCheckRunner health;
  private final AutoscalingStats stats;
  final PassiveHealth passive = new PassiveHealth();

  /** Configured number of slots, and the reason why the handler keeps the replica closed. */
  public final SlotGate gate;

  private volatile String lastFailure = ""; // of a request, for operators
  private final Object judging = new Object();
  private volatile @Nullable ReplicaStart start; // null once the replica runs
  private final UserConfigUpdater reconfigurations;
  private volatile @Nullable HandlerThreads threads; // of a blocking handler
  private final AtomicBoolean leaving = new AtomicBoolean(); // the home loop calls lookAfter
  private final Promise<Void> drained = Promise.promise();
  private final AtomicBoolean shuttingDown = new AtomicBoolean();
  private final Promise<Void> stopped = Promise.promise();

  /** Time at which all slots were free, on the nano clock; null before. */
  private volatile @Nullable Long drainedNanos;

  /** Time at which the stop of the handlers was requested, on the nano clock; null before. */
  private volatile @Nullable Long stopHookNanos;

  private volatile Runnable takeBackStop = () -> {};

  private final Utilization utilization = new Utilization();

  Replica(
      ReplicaSpec spec,
      ReplicaAddress address,
      SlotLedger slots,
      InstanceDependencies instance,
      HandlerPorts ports,
      ReplicaLimits limits,
      Consumer<Replica> gone,
      Consumer<Replica> toLookAt) {
    super(spec, address, slots, instance, limits);
    this.ports = ports;
    this.gone = gone;
    this.toLookAt = toLookAt;
    this.hooks =
        new ReplicaHooks(
            (kind, task) -> ports.hooks().runFor(deployment(), replicaId(), kind, task),
            nanoClock,
            failures);
    this.health =
        new HealthCheckRunner(
            new HealthCheckState(
                spec.healthChecks(), new SplittableRandom(spec.epoch()), hooks.now()),
            hooks,
            spec.healthCheckTimes(),
            this::checked);
    this.stats = new AutoscalingStats(replicaId(), hooks);
    this.gate = new SlotGate(slots, this::onGate);
    this.reconfigurations = new UserConfigUpdater(hooks, this::lookSoon);
    slots.observe(
        freeing -> {
          refused.onSlotFreed(freeing);
          checkDrained();
        });
  }

  // --- properties ---

  public ReplicaState state() {
    return state.get();
  }

  /** Returns the maximum of buffered body bytes; 0 while starting or for a streaming handler. */
  public int wholeBodyBytes() {
    return takesWholeBodies ? limits().maxBufferedBodyBytes() : 0;
  }

  /** Returns the methods that take batches, separated by commas; null for none. */
  public @Nullable String batchedMethods() {
    return batchedMethods;
  }

  // --- lifecycle ---

  /** Sets the start that creates the handlers. */
  void starts(ReplicaStart starting) {
    start = starting;
  }

  /** Schedules an earlier tick. */
  void lookSoon() {
    toLookAt.accept(this);
  }

  /** Removes the replica after its start failed. */
  void startFailed() {
    start = null;
    gone.accept(this);
  }

  /**
   * Abandons the start: interrupts the running hook, and the start fails.
   *
   * @return false when the replica has already started or failed
   */
  public boolean abandonStart() {
    ReplicaStart starting = start;
    if (starting == null) {
      return false;
    }
    starting.abandon();
    return true;
  }

  /** Accepts requests on every loop, then becomes RUNNING. */
  void begin(List<LoopReplica> started, @Nullable HandlerThreads workers, Promise<Replica> begun) {
    start = null;
    threads = workers;
    parts = List.copyOf(started);
    takesWholeBodies = !parts.get(0).streamsRequests("");
    if (batches != null) {
      batches.home = homeLoop().ports;
      batchedMethods = String.join(",", parts.get(0).batchedMethods());
    }
    startStuck =
        () -> {
          if (state.compareAndSet(ReplicaState.STARTING, ReplicaState.STOPPED)) {
            startFailed();
            stopHandlers();
            begun.tryFail(
                new IllegalStateException(
                    "event loop %d: blocked (expected: able to start the replica)"
                        .formatted(homeLoop().index())));
          }
        };
    onEachLoop(
        part -> {
          if (state.get() != ReplicaState.STOPPED) {
            part.loop.host(part);
          }
        },
        () -> {
          if (move(ReplicaState.RUNNING, ReplicaState.STARTING)) {
            lookSoon();
            begun.complete(this);
          }
        });
  }

  /** Stops waiting for stuck loops. Confined to the control loop. */
  void passOver(IntPredicate stuck) {
    LoopRound now = round;
    boolean home = !parts.isEmpty() && stuck.test(homeLoop().index());
    if (now != null && now.waitsFor(stuck)) {
      if (home && state.get() == ReplicaState.STARTING) {
        startStuck.run();
      } else {
        boolean stopped = state.get() == ReplicaState.STOPPED;
        now.left.forEach(part -> part.stopped |= stopped); // refuses calls that precede the task
        if (home) {
          now.end(); // its loop runs no task
        } else {
          onHomeLoop(now::end);
        }
      }
    }
    if (home && leaving.get()) {
      if (slots.draining() && slots.ongoing() == 0) {
        drained();
      }
      lookAfter();
    }
  }

  /**
   * Stops granting slots; accepted requests and granted leases finish.
   *
   * @return completes when every slot is free; the handler is not stopped by this
   */
  public Future<Void> drain() {
    Long ends = graceEndsNanos;
    if (ends == null) { // the bit first: a thread that sees the state finds it set
      slots.drain();
    } else {
      slots.drain(ends);
    }
    refused.clear();
    move(ReplicaState.DRAINING, ReplicaState.RUNNING, ReplicaState.UNHEALTHY);
    checkDrained();
    leave();
    return drained.future();
  }

  /** Completes when the replica drains or was killed, and no handler works for it any longer. */
  public Future<Void> slotsBack() {
    return drained.future();
  }

  private void checkDrained() {
    if (slots.draining() && slots.ongoing() == 0) {
      onHomeLoop(this::drained);
    }
  }

  private void drained() {
    if (drained.tryComplete()) {
      drainedNanos = nanoClock.getAsLong();
    }
  }

  /**
   * Drains, then stops the handlers off the loop. Requests that exceed the grace are killed. A
   * second call waits for the first, and can only shorten the grace.
   *
   * @param grace time for accepted requests and granted leases
   * @return completes when the handlers have stopped, or exceed their time; never fails
   */
  public Future<Void> shutDown(Duration grace) {
    long ends = nanoClock.getAsLong() + grace.toNanos();
    if (!shuttingDown.compareAndSet(false, true)) {
      hurry(ends);
    } else {
      graceEndsNanos = ends;
      drain()
          .onComplete(
              done -> {
                if (move(ReplicaState.STOPPED, ReplicaState.DRAINING)) {
                  onEachLoop(part -> part.loop.retire(part), this::stopHandlers);
                }
              });
    }
    return stopped.future();
  }

  private void hurry(long ends) {
    synchronized (shuttingDown) {
      Long before = graceEndsNanos;
      if (before != null && ends - before < 0) {
        graceEndsNanos = ends;
        slots.drain(ends);
      }
    }
  }

  private void leave() {
    if (leaving.compareAndSet(false, true)) {
      onHomeLoop(() -> homeLoop().watch(this::lookAfter));
    }
  }

  /**
   * Kills slots that outlast the grace, and removes the stopped replica. Runs on the home loop's
   * tick, or on the control loop while the home loop is stuck. A stopped replica is retained as
   * long as its attempts. Otherwise a late duplicate of a request that ran would be refused as for
   * an unknown replica, and run elsewhere.
   *
   * @return true when nothing is left to do
   */
  synchronized boolean lookAfter() {
    long now = nanoClock.getAsLong();
    Long ends = graceEndsNanos;
    if (ends != null && state.get() != ReplicaState.STOPPED && ends - now <= 0) {
      line(Level.WARN)
          .log("replica {}: {} slots not released in time: killed", replicaId(), slots.ongoing());
      kill();
    }
    Long stopping = stopHookNanos;
    if (hooks.interruptLateStop(now) && stopped.tryComplete()) {
      line(Level.WARN)
          .log("replica {}: its stop hook does not end: no longer waiting", replicaId());
    } else if (stopping != null
        && !hooks.stopBegan()
        && now - stopping >= STOP_WAIT_NANOS
        && stopped.tryComplete()) {
      line(Level.WARN).log("replica {}: no thread for its stop hook: skipped", replicaId());
      takeBackStop.run();
    }
    Long since = drainedNanos;
    if (since == null
        || state.get() != ReplicaState.STOPPED
        || hooks.isStopping()
        || now - since < ledgerLimits.rememberNanos()) {
      return false;
    }
    onEachLoop(part -> part.loop.unhost(part), () -> gone.accept(this));
    return true;
  }

  /**
   * Records whether the only loop of the replica is blocked. Thread-safe.
   *
   * @return whether to notify recent remote routers: on a change, and while the block lasts
   */
  boolean loopBlocked(boolean isBlocked) {
    boolean blocked = isBlocked && parts.size() == 1; // else the receiving loop runs them
    boolean news = slots.loopBlocked(blocked);
    return (blocked || news) && slots.rememberedAttempts() > 0;
  }

  /** Notifies remote routers of the load. Confined to a loop that runs. */
  void tellLoad() {
    homeLoop().tell(new ReplicaLoad(address(), load()));
  }

  /** Returns whether operators should see this replica. */
  boolean isOfInterest() {
    ReplicaState now = state.get();
    return now != ReplicaState.STARTING && (now != ReplicaState.STOPPED || slots.ongoing() > 0);
  }

  /**
   * Ends the replica now: running requests fail with {@link BerthException.OutcomeUnknown} and are
   * cancelled. Each slot becomes free, once, when its handler settles.
   *
   * @return completes when the handlers have stopped; never fails
   */
  public Future<Void> kill() {
    slots.drain(nanoClock.getAsLong());
    refused.clear();
    if (move(
        ReplicaState.STOPPED,
        ReplicaState.RUNNING,
        ReplicaState.UNHEALTHY,
        ReplicaState.DRAINING)) {
      onEachLoop(part -> part.loop.kill(part), this::stopHandlers);
      checkDrained();
      leave();
    }
    return stopped.future();
  }

  private void stopHandlers() {
    reconfigurations.close();
    stats.end();
    HandlerThreads running = threads;
    if (running != null) {
      running.stop();
    }
    stopHookNanos = nanoClock.getAsLong();
    try {
      takeBackStop = hooks.run(HookKind.STOP, this::callStopHooks);
    } catch (RejectedExecutionException noThread) {
      line(Level.WARN)
          .setCause(noThread)
          .log("replica {}: no thread for its stop hook: skipped", replicaId());
      stopped.tryComplete();
    }
  }

  private void callStopHooks() {
    Throwable thrown = hooks.stop();
    if (thrown != null) { // the replica counts as stopped even so
      failures.add("stop failed", thrown);
    }
    stopped.tryComplete();
  }

  /** Begins a log line that names the replica, its deployment and its application. */
  private LoggingEventBuilder line(Level level) {
    LoggingEventBuilder line = LOG.atLevel(level);
    RequestLogFields.of(deployment(), replicaId(), line::addKeyValue);
    return line;
  }

  private void onGate(String text) {
    line(Level.INFO).log("replica {}: {}", replicaId(), text.isEmpty() ? "open" : text);
    ports.listener().onWaiting(this, text);
    if (!parts.isEmpty()) { // routers of other nodes know only the slots of the last report
      onHomeLoop(this::tellLoad);
    }
  }

  /** Changes the number of slots and threads live; a closed replica stays closed. */
  public void setMaxOngoing(int maxOngoing) {
    HandlerThreads running = threads;
    if (running != null) {
      running.resize(maxOngoing);
    }
    gate.configure(maxOngoing);
  }

  /** Changes the limits. Running requests keep those with which they began. */
  public void configure(int maxOngoing, ReplicaLimits next, HealthCheckSettings healthChecks) {
    limits = next;
    if (gate.max() != maxOngoing) {
      setMaxOngoing(maxOngoing);
    }
    health.watch.configure(healthChecks, nanoClock.getAsLong());
    if (batches != null) {
      batches.table.look();
      batches.onPlaceFreed(); // more batches may run at a time than before
    }
    lookSoon();
    judge();
  }

  private boolean move(ReplicaState to, ReplicaState... from) {
    for (ReplicaState each : from) {
      if (state.compareAndSet(each, to)) {
        LOG.debug("replica {}: {} -> {}", replicaId(), each, to); // the controller logs it at info
        ports.listener().onStateChanged(this, to);
        return true;
      }
    }
    return false;
  }

  private ReplicaLoop homeLoop() {
    return parts.get(0).loop;
  }

  private void onHomeLoop(Runnable task) {
    homeLoop().execute(task);
  }

  private void onEachLoop(Consumer<LoopReplica> task, Runnable afterAll) {
    List<LoopReplica> all = parts;
    LoopRound begun = new LoopRound(all, afterAll);
    round = begun;
    for (LoopReplica part : all) {
      part.loop.execute(
          () -> {
            task.accept(part);
            if (begun.ran(part)) {
              onHomeLoop(begun::end);
            }
          });
    }
  }

  // --- health ---

  @Override
  @Nullable SlotLedger slotless() {
    return gate.slotless();
  }

  @Override
  void lingeringChanged() {
    if (isLingering() || state.get() == ReplicaState.UNHEALTHY) {
      judge();
    }
  }

  /** Records the block of a loop; null when it runs again. Confined to the control loop. */
  void loopBlocked(int loop, @Nullable BlockedLoop blocked, boolean othersRun) {
    if (blocked != null
        && blocked.replicaId().equals(replicaId())
        && blocked.nanos() >= limits().cancelGraceNanos()) {
      blocksLoops.add(loop);
    } else {
      blocksLoops.remove(loop);
    }
    if (parts.size() == 1 && address().loop() == loop) {
      loopBlocked = blocked != null && blocked.lasting() && othersRun ? blocked.text() : "";
    }
    if (isSick() || state.get() == ReplicaState.UNHEALTHY) {
      judge();
    }
  }

  private boolean isSick() {
    return isLingering() || health.watch.failing() || !loopBlocked.isEmpty();
  }

  @Override
  void handlerFailed(Throwable cause) {
    ports.listener().onHandlerFailed(this, cause);
  }

  /** Returns whether the replica accepts requests. */
  public boolean isServing() {
    ReplicaState now = state.get();
    return now == ReplicaState.RUNNING || now == ReplicaState.UNHEALTHY;
  }

  /**
   * Checks the deadlines of the health checks, of the start and of reconfigurations.
   *
   * @return time of the next tick on the nano clock; null when none is needed
   */
  @Nullable Long tick() {
    ReplicaStart starting = start;
    if (starting != null) {
      health.tick(false); // the first check
      return starting.tick();
    }
    reconfigurations.tick();
    stats.endIfLate(limits().statsTimeoutNanos()); // also if autoscaling was switched off
    Long next = reconfigurations.nextLook();
    boolean checks = isServing() && hooks.needTicks();
    health.tick(checks);
    if (checks || health.watch.underWay()) {
      next = sooner(health.watch.nextLook(nanoClock.getAsLong()), next);
    }
    return isServing() && passive.looking.get() ? sooner(lookAtRequests(), next) : next;
  }

  /** Returns the earlier time. The nano clock may overflow, so the difference orders. */
  private static Long sooner(long one, @Nullable Long other) {
    return other == null || one - other <= 0 ? (Long) one : other;
  }

  /** Updates the suspicion from request outcomes. Returns the time of the next update. */
  private long lookAtRequests() {
    long answered = parts.stream().mapToLong(LoopReplica::answeredCount).sum();
    long failed = parts.stream().mapToLong(LoopReplica::failedCount).sum();
    long now = nanoClock.getAsLong();
    boolean known = passive.suspect;
    switch (passive.look(answered, failed, now)) {
      case SUSPECT -> {
        String reason =
            "requests: the last %s failed (expected: a response); the last: %s"
                .formatted(passive.inARow, lastFailure);
        if (!known) {
          line(Level.WARN).log("replica {}: suspect: {}", replicaId(), reason);
        }
        ports.listener().onSuspected(this, true, reason);
      }
      case CLEARED -> {
        line(Level.INFO).log("replica {}: no longer suspect: it responds", replicaId());
        ports.listener().onSuspected(this, false, "");
      }
      case NOTHING_NEW -> {}
    }
    return now + PassiveHealth.LOOK_NANOS;
  }

  @Override
  void requestFailed(String how) {
    lastFailure = how;
    if (passive.onRequestFailed()) {
      lookSoon();
    }
  }

  /** Handles a health check that finished or exceeded its timeout. */
  private void checked() {
    judge();
    lookSoon();
  }

  /** Moves to or from UNHEALTHY after a change of health checks, zombies or blocked loops. */
  private void judge() {
    synchronized (judging) { // keeps the listener calls in order
      if (!isSick()) {
        move(ReplicaState.RUNNING, ReplicaState.UNHEALTHY);
      } else if (move(ReplicaState.UNHEALTHY, ReplicaState.RUNNING)) {
        line(Level.WARN).log("replica {}: unhealthy: {}", replicaId(), unhealthyReason());
      }
    }
  }

  /** Returns the reason why the replica is unhealthy, in one line; empty when healthy. */
  public String unhealthyReason() {
    if (isLingering()) {
      return "zombies: %s (expected: at most %s)"
          .formatted(zombies(), limits().maxZombieRequests());
    }
    return health.watch.failing() ? "health checks: failing" : loopBlocked;
  }

  /**
   * Passes a new {@code user_config} to the handlers, off the loop and beside requests, after those
   * passed before. {@link UserConfigUpdater} defines the timeout.
   *
   * @return completes when all handlers accepted it; fails with the first exception of a handler,
   *     which leaves the replica in that handler's state
   */
  public Future<Void> reconfigure(Map<String, Object> userConfig) {
    return reconfigurations.give(userConfig);
  }

  // --- metrics ---

  /** Returns the number of requests that ended in any way. */
  long processedRequests() {
    return processingTimes().stream().mapToLong(LatencyBuckets::count).sum();
  }

  /** Returns the times of requests from their start here to their end, by loop. */
  public List<LatencyBuckets> processingTimes() {
    return parts.stream().map(part -> part.meters.times()).toList();
  }

  /** Returns the longest of these in the last minute, in nanoseconds; 0 for none. */
  long maxProcessingNanos() {
    return parts.stream().mapToLong(part -> part.meters.maxNanos(part.loop.now())).max().orElse(0);
  }

  /** Samples the number of slots in use. Call at a steady rate. */
  void sampleUtilization() {
    if (state.get() != ReplicaState.STARTING) {
      utilization.sample(slots.running(), gate.max(), nanoClock.getAsLong());
    }
  }

  /** Returns the share of slots in use over the last ten minutes, 0 to 1. */
  double utilization() {
    return utilization.share(nanoClock.getAsLong());
  }

  /** Collects autoscaling statistics from the handlers, unless a call is running. */
  public void sampleStats() {
    if (hooks.tellsStats() && isServing()) {
      stats.sample(limits().statsTimeoutNanos());
    }
  }

  /** Returns the handlers' statistics for autoscaling; null when they provide none. */
  public @Nullable AutoscalingStats stats() {
    return hooks.tellsStats() ? stats : null;
  }

  /** Returns whether the replica passes its health checks and has no excess of zombies. */
  public boolean healthy() {
    return state.get() != ReplicaState.UNHEALTHY;
  }

  /** Returns the number of failed health checks, timeouts included. */
  public long healthCheckFailures() {
    return health.watch.failures();
  }

  /** Returns the present state of the slots, with the last audit. */
  public LedgerView view() {
    return slots.view(replicaId(), zombies());
  }

  /** Returns the fill of its batches since its start. */
  public BatchFill batchFill() {
    return batches == null ? BatchFill.NONE : batches.table.fill();
  }

  /**
   * A task on each event loop of a replica, and an action that follows once. A stuck loop is not
   * awaited; it runs the task when it runs again. Thread-safe.
   */
  private static final class LoopRound {
    final Set<LoopReplica> left = ConcurrentHashMap.newKeySet(); // parts that have not run it
    private final Runnable then;
    private final AtomicBoolean ended = new AtomicBoolean();

    LoopRound(List<LoopReplica> all, Runnable then) {
      left.addAll(all);
      this.then = then;
    }

    /** Returns whether this part was the last. */
    boolean ran(LoopReplica part) {
      return left.remove(part) && left.isEmpty();
    }

    /** Returns whether only stuck loops are missing. */
    boolean waitsFor(IntPredicate stuck) {
      return !ended.get() && left.stream().allMatch(part -> stuck.test(part.loop.index()));
    }

    void end() {
      if (ended.compareAndSet(false, true)) {
        then.run();
      }
    }
  }

  @Override
  public String toString() {
    return "Replica[" + replicaId() + " " + state + "]";
  }
}
