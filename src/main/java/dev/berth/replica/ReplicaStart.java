package dev.berth.replica;

import dev.berth.api.BlockingHandler;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaContext;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.ReplicaMeters;
import dev.berth.protocol.port.InstancePorts;
import dev.berth.replica.hooks.HookThreads.Kind;
import dev.berth.replica.hooks.UserCall;
import dev.berth.replica.threads.HandlerThreads;
import io.vertx.core.Promise;
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
 * The start of one replica, off the loop: its handlers are made, started, given the {@code
 * user_config} if there is one, and asked for their health once. It may take as long as it likes (a
 * model is read) unless {@code replica_start_timeout_s} says otherwise; a line in the log says so
 * every 30 s. What fails stops what was made.
 */
final class ReplicaStart {
  private static final Logger LOG = LoggerFactory.getLogger(ReplicaStart.class);

  /** How often it is said that it is not done yet. */
  private static final long SAY_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** Between two looks at the clock; one that waits longer for a thread says so. */
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final ReplicaSpec spec;
  private final List<ReplicaSeat> seats;
  private final Replica replica;
  private final HandlerPorts ports;
  private final LongSupplier nanoClock;

  /** Completes on the loop of the first seat; fails with what user code threw, on any thread. */
  final Promise<Replica> running = Promise.promise();

  /** Completes when no user code runs for it any more; it does not fail. */
  final Promise<Void> over = Promise.promise();

  private final UserCall call = new UserCall(); // of all its hooks but those that stop it
  private @Nullable HandlerThreads workers; // of blocking handlers
  private volatile String doing = "being made";
  private volatile Runnable takeBack = () -> {};

  // The host's tick alone.
  private final long queuedNanos;
  private final Instant queuedAt;
  private long saidNanos;
  private String said = ""; // of its wait

  ReplicaStart(
      ReplicaSpec spec,
      List<ReplicaSeat> seats,
      Replica replica,
      InstancePorts instance,
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

  /** Begins as soon as there is a thread. */
  void queue() {
    try {
      takeBack = replica.hooks.run(Kind.START, this::work);
    } catch (RejectedExecutionException noThread) {
      fail(noThread);
      over.complete();
    }
  }

  private void work() {
    List<HostedReplica> parts = new ArrayList<>(seats.size());
    Throwable thrown = call.run(nanoClock.getAsLong(), () -> make(parts));
    if (thrown == null) {
      over.tryComplete();
      replica.begin(parts, workers, running);
      return;
    }
    doing = "in stop";
    Throwable second = replica.hooks.stop();
    if (second != null && second != thrown) { // no exception suppresses itself
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

  /** Runs user code until the replica can take requests, or nobody waits for it any more. */
  private void make(List<HostedReplica> parts) throws Throwable {
    replica.lookSoon(); // its time runs
    for (ReplicaSeat seat : seats) {
      parts.add(part(seat));
      call.requireWanted();
    }
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

  /**
   * Nobody waits for it any more: the hook that runs is interrupted, and none follows. One that has
   * no thread yet has failed.
   */
  void abandon() {
    if (call.end()) {
      takeBack.run();
      fail(new CancellationException("replica " + spec.replicaId() + ": told to stop"));
      over.tryComplete();
    }
  }

  private HostedReplica part(ReplicaSeat seat) throws Exception {
    KnownHandles handles = new KnownHandles(seat.handles());
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
                        handles)),
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
    return new HostedReplica(replica, seat.loop(), invoker(handler), Map.copyOf(methods), handles);
  }

  private HandlerInvoker invoker(ReplicaHandler handler) {
    if (handler instanceof BlockingHandler && workers == null) {
      String application = spec.deployment().application();
      HandlerThreads.Factory threads = ports.threads();
      workers =
          threads.create(application, spec.replicaId(), spec.maxOngoing(), spec.virtualThreads());
    }
    Executor executor = workers == null ? Runnable::run : workers; // unused by async handlers
    return new HandlerInvoker(handler, executor);
  }

  // --- its time ---

  /**
   * Looks at the clock: says what takes long, and ends the patience with what takes too long.
   *
   * @return when to look again, on the nano clock
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
      say("", now); // it waits no more
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
    String lost = ports.hooks().lost(spec.deployment().application());
    String waits =
        "waits for a start thread since " + queuedAt + (lost.isEmpty() ? "" : ": " + lost);
    if (!waits.equals(said) || now - saidNanos >= SAY_NANOS) { // again, to a controller that is new
      say(waits, now);
    }
  }

  private void say(String waits, long now) {
    said = waits;
    saidNanos = now;
    ports.listener().startWaits(replica, waits);
  }

  /** It has failed, whatever becomes of the hook that runs, which is interrupted. */
  private void giveUp(long timeout, long now) {
    synchronized (call) { // so that it does not end well meanwhile
      Thread thread = call.thread();
      if (thread != null && call.isLate(timeout, now)) {
        TimeoutException late =
            new TimeoutException(
                "start: not done in %s s (expected: an end within replica_start_timeout_s), its handler: %s, %s"
                    .formatted(timeout / 1e9, doing, StackText.of(thread.getStackTrace())));
        running.tryFail(late); // before what the interrupt makes
        call.end();
      }
    }
  }

  /** What a factory is told. */
  private record SeatContext(
      DeploymentId deployment,
      String replicaId,
      Map<String, Object> userConfig,
      int maxOngoingRequests,
      ReplicaMeters meters,
      KnownHandles handles)
      implements ReplicaContext {
    @Override
    public DeploymentHandle handle(String deployment) {
      return handles.of(deployment);
    }
  }
}
