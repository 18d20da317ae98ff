package dev.berth.replica;

import dev.berth.api.BatchHandler;
import dev.berth.api.BlockingHandler;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.ReplicaMeters;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.UpstreamContext;
import dev.berth.protocol.port.UpstreamGate;
import dev.berth.protocol.port.VertxContext;
import dev.berth.replica.hooks.HookThreads.HookKind;
import dev.berth.replica.hooks.InterruptibleCall;
import dev.berth.replica.log.StackText;
import dev.berth.replica.threads.HandlerThreads;
import io.vertx.core.Context;
import io.vertx.core.Promise;
import io.vertx.core.eventbus.EventBus;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The start of one replica, off the loop. Its handlers are created, started, given the {@code
 * user_config} if there is one, and checked for health once. The start may take any time (it may
 * read a model) unless {@code replica_start_timeout_s} is set; a log line reports it every 30 s. A
 * failure stops the handlers created so far.
 */
final class ReplicaStart {
  private static final Logger LOG = LoggerFactory.getLogger(ReplicaStart.class);

  /** Interval of the log line of a running start, in nanoseconds. */
  private static final long SAY_NANOS = TimeUnit.SECONDS.toNanos(30);

  /**
   * Maximum interval of ticks in nanoseconds, and the wait for a thread from which a report is
   * made.
   */
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final ReplicaSpec spec;
  private final List<ReplicaLoopBinding> seats;
  private final Replica replica;
  private final HandlerPorts ports;
  private final LongSupplier nanoClock;

  /**
   * Completes on the loop of the first seat; fails with the exception of user code, on any thread.
   */
  final Promise<Replica> running = Promise.promise();

  /** Completes when no user code of the start runs any longer; never fails. */
  final Promise<Void> over = Promise.promise();

  private final InterruptibleCall call =
      new InterruptibleCall(); // all hooks of the start, except stop hooks
  private @Nullable HandlerThreads workers; // of blocking handlers
  private volatile String doing = "being created";
  private volatile Runnable takeBack = () -> {};

  // Confined to the host's tick.
  private final long queuedNanos;
  private final Instant queuedAt;
  private long saidNanos;
  private String said = ""; // last reported reason of the wait

  ReplicaStart(
      ReplicaSpec spec,
      List<ReplicaLoopBinding> seats,
      Replica replica,
      InstanceDependencies instance,
      HandlerPorts ports) {
    this.spec = spec;
    this.seats = seats;
    this.replica = replica;
    this.ports = ports;
    this.nanoClock = instance.nanoClock();
    this.queuedNanos = instance.nanoClock().getAsLong();
    this.queuedAt = instance.wallClock().instant().truncatedTo(ChronoUnit.SECONDS);
    this.saidNanos = queuedNanos;
  }

  /** Queues the start for a thread. */
  void queue() {
    try {
      takeBack = replica.hooks.run(HookKind.START, this::work);
    } catch (RejectedExecutionException noThread) {
      fail(noThread);
      over.complete();
    }
  }

  private void work() {
    List<LoopReplica> parts = new ArrayList<>(seats.size());
    Throwable thrown = call.run(nanoClock.getAsLong(), () -> make(parts));
    if (thrown == null) {
      over.tryComplete();
      replica.begin(parts, workers, running);
      return;
    }
    doing = "in stop";
    Throwable second = replica.hooks.stop();
    if (second != null && second != thrown) { // an exception cannot suppress itself
      thrown.addSuppressed(second);
    }
    if (workers != null) {
      workers.stop();
    }
    fail(thrown);
    over.tryComplete();
  }

  private void fail(Throwable why) {
    replica.startFailed();
    running.tryFail(why);
  }

  /** Runs user code until the replica can accept requests, or the start is abandoned. */
  private void make(List<LoopReplica> parts) throws Throwable {
    replica.lookSoon(); // its timeout runs
    for (ReplicaLoopBinding seat : seats) {
      parts.add(part(seat));
      call.requireWanted();
    }
    requireBatching(!parts.get(0).batchedMethods().isEmpty());
    doing = "in start";
    replica.hooks.start();
    call.requireWanted();
    if (!spec.userConfig().isEmpty()) {
      doing = "in reconfigure";
      replica.hooks.reconfigure(spec.userConfig());
      call.requireWanted();
    }
    doing = "in checkHealth";
    replica.health.checkFirst();
  }

  /** Requires that handler and configuration agree on batches. */
  private void requireBatching(boolean takesBatches) {
    if (takesBatches != (replica.batches != null)) {
      throw new IllegalArgumentException(
          takesBatches
              ? "handler: takes batches (expected: berth.batching, or Deployment.withBatching)"
              : "berth.batching: set (expected: a handler that takes batches, or leave it out)");
    }
  }

  /**
   * Abandons the start: interrupts the running hook, and calls no other. A start without a thread
   * fails at once.
   */
  void abandon() {
    if (call.end()) {
      takeBack.run();
      fail(new CancellationException("replica " + spec.replicaId() + ": stopped"));
      over.tryComplete();
    }
  }

  private LoopReplica part(ReplicaLoopBinding seat) throws Exception {
    HandleCache handles = new HandleCache(seat.handles());
    ReplicaHandler handler =
        Objects.requireNonNull(
            spec.factory()
                .create(
                    new SeatContext(
                        spec.deployment(),
                        spec.replicaId(),
                        spec.userConfig(),
                        spec.maxOngoing(),
                        replica.meters(),
                        spec.upstream(),
                        replica.batches != null,
                        replica.gate,
                        handles,
                        seat.loop().ports)),
            "factory: null (expected: a handler)");
    replica.hooks.add(handler);
    Map<String, HandlerInvoker> methods = new HashMap<>();
    Objects.requireNonNull(handler.methods(), "methods: null (expected: a map)")
        .forEach(
            (name, method) ->
                methods.put(
                    name,
                    invoker(
                        Objects.requireNonNull(
                            method, () -> "method " + name + ": null (expected: a handler)"))));
    return new LoopReplica(replica, seat.loop(), invoker(handler), Map.copyOf(methods), handles);
  }

  private HandlerInvoker invoker(ReplicaHandler handler) {
    boolean blocks = handler instanceof BlockingHandler || handler instanceof BatchHandler;
    if (blocks && workers == null) {
      String application = spec.deployment().application();
      HandlerThreads.HandlerThreadsFactory threads = ports.threads();
      workers =
          threads.create(application, spec.replicaId(), spec.maxOngoing(), spec.virtualThreads());
    }
    Executor executor = workers == null ? Runnable::run : workers; // not used by async handlers
    return new HandlerInvoker(handler, executor);
  }

  // --- timeout ---

  /**
   * Logs a slow start, and fails one that exceeds its timeout.
   *
   * @return time of the next tick on the nano clock
   */
  long tick() {
    long now = nanoClock.getAsLong();
    Long began = call.beganNanos();
    if (began == null) {
      if (now - queuedNanos >= LOOK_NANOS) {
        sayThatItWaits(now);
      }
      return now + LOOK_NANOS;
    }
    if (!said.isEmpty()) {
      say("", now); // the wait has ended
    }
    if (now - saidNanos >= SAY_NANOS) {
      saidNanos = now;
      LOG.info(
          "replica {}: starting for {} s, its handler: {}",
          spec.replicaId(),
          TimeUnit.NANOSECONDS.toSeconds(now - began),
          doing);
    }
    replica.hooks.interruptLateStop(now);
    Long timeout = spec.startTimeoutNanos();
    if (timeout == null) {
      return now + LOOK_NANOS;
    }
    long left = began + timeout - now;
    if (left <= 0) {
      giveUp(timeout, now);
    }
    return now + (left > 0 ? Math.min(left, LOOK_NANOS) : LOOK_NANOS);
  }

  private void sayThatItWaits(long now) {
    String lost = ports.hooks().blockedReason(spec.deployment().application());
    String waits =
        "waiting for a start thread since " + queuedAt + (lost.isEmpty() ? "" : ": " + lost);
    if (!waits.equals(said) || now - saidNanos >= SAY_NANOS) { // repeated for a new controller
      say(waits, now);
    }
  }

  private void say(String waits, long now) {
    said = waits;
    saidNanos = now;
    ports.listener().onWaiting(replica, waits.isEmpty() ? replica.gate.text() : waits);
  }

  /** Fails the start and interrupts its running hook, whose outcome is ignored. */
  private void giveUp(long timeout, long now) {
    synchronized (call) { // else the call could succeed meanwhile
      Thread thread = call.thread();
      if (thread != null && call.isLate(timeout, now)) {
        TimeoutException late =
            new TimeoutException(
                "start: not done in %s s (expected: completion within replica_start_timeout_s), its handler: %s, %s"
                    .formatted(timeout / 1e9, doing, StackText.of(thread.getStackTrace())));
        running.tryFail(late); // before the failure caused by the interrupt
        call.end();
      }
    }
  }

  /** Context of a factory. */
  private record SeatContext(
      DeploymentId deployment,
      String replicaId,
      Map<String, Object> userConfig,
      int maxOngoingRequests,
      ReplicaMeters meters,
      String upstream,
      boolean batches,
      UpstreamGate gate,
      HandleCache handles,
      LoopDependencies ports)
      implements UpstreamContext, VertxContext {
    @Override
    public Context vertxContext() {
      return ports.loop().context(deployment.application());
    }

    @Override
    public EventBus eventBus() {
      return ports.loop().eventBus(deployment.application());
    }

    @Override
    public DeploymentHandle handle(String deployment) {
      return handles.of(deployment);
    }
  }
}
