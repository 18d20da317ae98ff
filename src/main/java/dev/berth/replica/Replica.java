package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.metrics.LatencyBuckets;
import dev.berth.metrics.Utilization;
import dev.berth.protocol.BusMessage.ReplicaLoad;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.protocol.port.InstancePorts;
import dev.berth.replica.hooks.HookThreads.Kind;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.replica.threads.HandlerThreads;
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

/**
 * One replica incarnation on this instance: its slots, its handlers, one per seat, and its life
 * from start to drained ({@link ReplicaState}). Made by {@link ReplicaHost}. Any thread may call;
 * futures complete on the loop of the first seat.
 *
 * <p>Over 500 lines: one life, and whatever moves its state is read in one place. What has a life
 * of its own within it stands apart: {@link ReplicaStart}, {@link ReplicaHooks}, {@link
 * ReplicaHealth}, {@link PassiveHealth}, {@link Reconfigurations}.
 */
public final class Replica extends ServedReplica {
  private static final Logger LOG = LoggerFactory.getLogger(Replica.class);

  /**
   * How long its stop hooks may wait for a thread, before they are left out: they may take {@link
   * ReplicaHooks#STOP_HOOK_NANOS} from when they have one.
   */
  static final long STOP_WAIT_NANOS = TimeUnit.SECONDS.toNanos(60);

  private final HandlerPorts ports;
  private final Consumer<Replica> gone; // frees its place at the host
  private final Consumer<Replica> toLookAt; // a look at it is due sooner than was said

  private final AtomicReference<ReplicaState> state = new AtomicReference<>(ReplicaState.STARTING);
  private volatile List<HostedReplica> parts = List.of();
  private volatile @Nullable LoopRound round; // the last task of each loop
  private volatile Runnable startStuck = () -> {}; // its loop does not take what would let it run
  private volatile String loopBlocked = ""; // why its only loop keeps it from serving
  private volatile boolean takesWholeBodies; // its handler, once it runs
  final ReplicaHooks hooks;
  final ReplicaHealth health;
  private final AutoscalingStats stats;
  final PassiveHealth passive = new PassiveHealth();
  private volatile String lastFailure = ""; // of a request, for people
  private final Object judging = new Object();
  private volatile @Nullable ReplicaStart start; // until it runs
  private final Reconfigurations reconfigurations;
  private volatile @Nullable HandlerThreads threads; // of a blocking handler
  private final AtomicBoolean leaving = new AtomicBoolean(); // the home loop looks after it
  private final Promise<Void> drained = Promise.promise();
  private final AtomicBoolean shuttingDown = new AtomicBoolean();
  private final Promise<Void> stopped = Promise.promise();

  /** When its slots had all come back, on the nano clock; null before. */
  private volatile @Nullable Long drainedNanos;

  /** When its handlers were to stop, on the nano clock; null before. */
  private volatile @Nullable Long stopHookNanos;

  private volatile Runnable takeBackStop = () -> {};

  private final Utilization utilization = new Utilization();

  Replica(
      ReplicaSpec spec,
      ReplicaAddress address,
      SlotLedger slots,
      InstancePorts instance,
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
        new ReplicaHealth(
            new HealthWatch(spec.healthChecks(), new SplittableRandom(spec.epoch()), hooks.now()),
            hooks,
            this::checked);
    this.stats = new AutoscalingStats(replicaId(), hooks);
    this.reconfigurations = new Reconfigurations(hooks, this::lookSoon);
    slots.observe(
        freeing -> {
          refused.freed(freeing);
          checkDrained();
        });
  }

  // --- what it is ---

  public ReplicaState state() {
    return state.get();
  }

  /** What is gathered of a body before its handler is called; 0 when that streams, or starts. */
  public int wholeBodyBytes() {
    return takesWholeBodies ? limits().maxBufferedBodyBytes() : 0;
  }

  // --- its life ---

  /** Its handlers are made from now on. */
  void starts(ReplicaStart starting) {
    start = starting;
  }

  /** Another look at it is due sooner than was said. */
  void lookSoon() {
    toLookAt.accept(this);
  }

  /** It will never run. */
  void startFailed() {
    start = null;
    gone.accept(this);
  }

  /**
   * Nobody waits for its start any more: the hook that runs is interrupted, and the start fails.
   *
   * @return false when it has started, or failed, already
   */
  public boolean abandonStart() {
    ReplicaStart starting = start;
    if (starting == null) {
      return false;
    }
    starting.abandon();
    return true;
  }

  /** Takes requests on every loop, then is RUNNING. */
  void begin(
      List<HostedReplica> started, @Nullable HandlerThreads workers, Promise<Replica> begun) {
    start = null;
    threads = workers;
    parts = List.copyOf(started);
    takesWholeBodies = !parts.get(0).streamsRequests("");
    startStuck =
        () -> {
          if (state.compareAndSet(ReplicaState.STARTING, ReplicaState.STOPPED)) {
            startFailed();
            stopHandlers();
            begun.tryFail(
                new IllegalStateException(
                    "event loop %d: blocked (expected: one that takes the replica)"
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

  /** Its loops that are stuck are waited for no longer. Control loop. */
  void passOver(IntPredicate stuck) {
    LoopRound now = round;
    boolean home = !parts.isEmpty() && stuck.test(homeLoop().index());
    if (now != null && now.waitsFor(stuck)) {
      if (home && state.get() == ReplicaState.STARTING) {
        startStuck.run();
      } else {
        boolean stopped = state.get() == ReplicaState.STOPPED;
        now.left.forEach(part -> part.stopped |= stopped); // what comes before the task is refused
        if (home) {
          now.end(); // its loop takes nothing
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
   * Grants nothing from now on, and finishes what was accepted and the leases that were granted.
   *
   * @return completes when every slot has come back; the handler is not stopped by this
   */
  public Future<Void> drain() {
    Long ends = graceEndsNanos;
    if (ends == null) { // the bit first: whoever sees the state finds it set
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

  /** Completes when it drains, or was killed, and no handler works for it any more. */
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
   * Drains, then stops the handlers off the loop; what has not finished in time is killed. A second
   * call waits for the first, and makes its grace shorter if it says so.
   *
   * @param grace time for accepted requests and granted leases
   * @return completes when the handlers have stopped, or take too long for it; it does not fail
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
                  onEachLoop(HostedReplica::retire, this::stopHandlers);
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
   * On the home loop's tick, or the control loop's while that is stuck: kills what outlasts its
   * grace, and forgets what stopped. A stopped replica is remembered as long as its attempts are: a
   * late duplicate of a request that ran must not be told that there is no such replica, which
   * would have it run elsewhere too.
   *
   * @return true when there is nothing more to look after
   */
  synchronized boolean lookAfter() {
    long now = nanoClock.getAsLong();
    Long ends = graceEndsNanos;
    if (ends != null && state.get() != ReplicaState.STOPPED && ends - now <= 0) {
      LOG.warn("replica {}: {} slots not back in time, killed", replicaId(), slots.ongoing());
      kill();
    }
    Long stopping = stopHookNanos;
    if (hooks.interruptLateStop(now) && stopped.tryComplete()) {
      LOG.warn("replica {}: its stop hook does not end, and is waited for no longer", replicaId());
    } else if (stopping != null
        && !hooks.stopBegan()
        && now - stopping >= STOP_WAIT_NANOS
        && stopped.tryComplete()) {
      LOG.warn("replica {}: no thread for its stop hook, which is left out", replicaId());
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
   * Its loop takes no tasks, or does so again. Any thread.
   *
   * @return whether routers elsewhere, who asked lately, are to be told: then, and while it lasts
   */
  boolean loopBlocked(boolean isBlocked) {
    boolean blocked = isBlocked && parts.size() == 1; // else requests run where they come in
    boolean news = slots.loopBlocked(blocked);
    return (blocked || news) && slots.rememberedAttempts() > 0;
  }

  /** Tells them. On a loop that runs. */
  void tellLoad() {
    homeLoop().tell(new ReplicaLoad(address(), load()));
  }

  /** Whether there is anything of it to see. */
  boolean isOfInterest() {
    ReplicaState now = state.get();
    return now != ReplicaState.STARTING && (now != ReplicaState.STOPPED || slots.ongoing() > 0);
  }

  /**
   * Ends it now: requests that run are answered with {@link BerthException.OutcomeUnknown} and
   * cancelled. Their slots come back, each once, when their handlers settle.
   *
   * @return completes when the handlers have stopped; it does not fail
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
      takeBackStop = hooks.run(Kind.STOP, this::callStopHooks);
    } catch (RejectedExecutionException noThread) {
      LOG.warn("replica {}: no thread for its stop hook, which is left out", replicaId(), noThread);
      stopped.tryComplete();
    }
  }

  private void callStopHooks() {
    Throwable thrown = hooks.stop();
    if (thrown != null) { // the replica is stopped all the same
      failures.add("stop failed", thrown);
    }
    stopped.tryComplete();
  }

  /** Changes the number of slots, and of threads, live. */
  public void setMaxOngoing(int maxOngoing) {
    HandlerThreads running = threads;
    if (running != null) {
      running.resize(maxOngoing);
    }
    slots.setMaxOngoing(maxOngoing);
  }

  /** Holds it to other bounds from now on; what runs keeps those it began with. */
  public void configure(int maxOngoing, ReplicaLimits next, HealthCheckSettings healthChecks) {
    limits = next;
    if (slots.maxOngoing() != maxOngoing) {
      setMaxOngoing(maxOngoing);
    }
    health.watch.configure(healthChecks, nanoClock.getAsLong());
    lookSoon();
    judge();
  }

  private boolean move(ReplicaState to, ReplicaState... from) {
    for (ReplicaState each : from) {
      if (state.compareAndSet(each, to)) {
        LOG.debug("replica {}: {} -> {}", replicaId(), each, to); // the controller says it
        ports.listener().changed(this, to);
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

  private void onEachLoop(Consumer<HostedReplica> task, Runnable afterAll) {
    List<HostedReplica> all = parts;
    LoopRound begun = new LoopRound(all, afterAll);
    round = begun;
    for (HostedReplica part : all) {
      part.loop.execute(
          () -> {
            task.accept(part);
            if (begun.ran(part)) {
              onHomeLoop(begun::end);
            }
          });
    }
  }

  // --- its health ---

  @Override
  void lingeringChanged() {
    if (isLingering() || state.get() == ReplicaState.UNHEALTHY) {
      judge();
    }
  }

  /** A loop is blocked, or runs again. Control loop. */
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
    ports.listener().handlerFailed(this, cause);
  }

  /** Whether it takes requests. */
  public boolean isServing() {
    ReplicaState now = state.get();
    return now == ReplicaState.RUNNING || now == ReplicaState.UNHEALTHY;
  }

  /**
   * Looks at the clock for its health checks and its start.
   *
   * @return when to look again, on the nano clock; null when there is nothing to look at any more
   */
  @Nullable Long tick() {
    ReplicaStart starting = start;
    if (starting != null) {
      health.tick(false); // the first check
      return starting.tick();
    }
    reconfigurations.tick();
    stats.endIfLate(limits().statsTimeoutNanos()); // also where the deployment autoscales no longer
    Long reconfigured = reconfigurations.nextLook();
    health.tick(isServing());
    if (!isServing() && !health.watch.underWay()) {
      return reconfigured;
    }
    long next = sooner(health.watch.nextLook(nanoClock.getAsLong()), reconfigured);
    return isServing() && passive.isLooking() ? sooner(next, lookAtRequests()) : next;
  }

  /** On the nano clock, which may overflow: the difference orders. */
  private static Long sooner(long one, @Nullable Long other) {
    return other == null || one - other <= 0 ? (Long) one : other;
  }

  /** What its requests say of it; when to look again. */
  private long lookAtRequests() {
    long answered = parts.stream().mapToLong(HostedReplica::answered).sum();
    long failed = parts.stream().mapToLong(HostedReplica::failed).sum();
    long now = nanoClock.getAsLong();
    boolean known = passive.suspect;
    switch (passive.look(answered, failed, now)) {
      case SUSPECT -> {
        String reason =
            "requests: the last %s failed (expected: an answer); the last: %s"
                .formatted(passive.inARow, lastFailure);
        if (!known) {
          LOG.warn("replica {}: suspect: {}", replicaId(), reason);
        }
        ports.listener().suspected(this, true, reason);
      }
      case CLEARED -> {
        LOG.info("replica {}: suspect no more: it answers", replicaId());
        ports.listener().suspected(this, false, "");
      }
      case NOTHING_NEW -> {}
    }
    return now + PassiveHealth.LOOK_NANOS;
  }

  @Override
  void requestFailed(String how) {
    lastFailure = how;
    if (passive.failed()) {
      lookSoon();
    }
  }

  /** A health check is over, or overdue. */
  private void checked() {
    judge();
    lookSoon();
  }

  /** Unhealthy while too many checks in a row failed, or too many cancelled requests linger. */
  private void judge() {
    synchronized (judging) { // so that the listener hears of the states in their order
      if (!isSick()) {
        move(ReplicaState.RUNNING, ReplicaState.UNHEALTHY);
      } else if (move(ReplicaState.UNHEALTHY, ReplicaState.RUNNING)) {
        LOG.warn("replica {}: unhealthy: {}", replicaId(), unhealthyReason());
      }
    }
  }

  /** Why it is unhealthy, in one line; empty when it is not. */
  public String unhealthyReason() {
    if (isLingering()) {
      return "zombies: %s (expected: at most %s)"
          .formatted(zombies(), limits().maxZombieRequests());
    }
    return health.watch.failing() ? "health checks: failing" : loopBlocked;
  }

  /**
   * Passes a new {@code user_config} to the handlers, off the loop, beside its requests, after
   * those passed before; {@link Reconfigurations} says how long they may take.
   *
   * @return completes when all handlers took it; fails with what the first of them threw, which
   *     leaves the replica as that handler left it
   */
  public Future<Void> reconfigure(Map<String, Object> userConfig) {
    return reconfigurations.give(userConfig);
  }

  // --- figures ---

  /** Requests that ended, however. */
  long processedRequests() {
    return processingTimes().stream().mapToLong(LatencyBuckets::count).sum();
  }

  /** How long requests took from their start here to their end, by loop. */
  List<LatencyBuckets> processingTimes() {
    return parts.stream().map(part -> part.meters.times()).toList();
  }

  /** The longest of these in the last minute, in nanoseconds; 0 when there was none. */
  long maxProcessingNanos() {
    return parts.stream().mapToLong(part -> part.meters.maxNanos(part.loop.now())).max().orElse(0);
  }

  /** Takes a sample of how many slots are in use; to be called at a steady rate. */
  void sampleUtilization() {
    if (state.get() != ReplicaState.STARTING) {
      utilization.sample(slots.running(), slots.maxOngoing(), nanoClock.getAsLong());
    }
  }

  /** The share of its slots in use over the last ten minutes, 0 to 1. */
  double utilization() {
    return utilization.share(nanoClock.getAsLong());
  }

  /** Has its handlers tell of themselves, unless they do already. */
  public void sampleStats() {
    if (hooks.tellsStats() && isServing()) {
      stats.sample(limits().statsTimeoutNanos());
    }
  }

  /** What its handlers tell of themselves for autoscaling; null when they tell nothing. */
  public @Nullable AutoscalingStats stats() {
    return hooks.tellsStats() ? stats : null;
  }

  /** Whether neither its health checks nor lingering requests speak against it. */
  public boolean healthy() {
    return state.get() != ReplicaState.UNHEALTHY;
  }

  /** Health checks that failed, the ones that took too long included. */
  public long healthCheckFailures() {
    return health.watch.failures();
  }

  /** Its slots now, and what their last audit said. */
  public LedgerView view() {
    return slots.view(replicaId(), zombies());
  }

  /**
   * A task on each event loop of a replica, and the action that follows once. A loop that is stuck
   * is waited for no longer; it runs the task when it runs again. Thread-safe.
   */
  private static final class LoopRound {
    final Set<HostedReplica> left = ConcurrentHashMap.newKeySet(); // whose loops have not run it
    private final Runnable then;
    private final AtomicBoolean ended = new AtomicBoolean();

    LoopRound(List<HostedReplica> all, Runnable then) {
      left.addAll(all);
      this.then = then;
    }

    /** Returns whether this was the last one. */
    boolean ran(HostedReplica part) {
      return left.remove(part) && left.isEmpty();
    }

    /** Returns whether it waits for nothing but stuck loops. */
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
