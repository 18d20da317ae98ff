package dev.berth.replica;

import dev.berth.api.BlockingHandler;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaContext;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.ReplicaMeters;
import dev.berth.protocol.port.InstancePorts;
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

  /** Fails with what user code threw; on the loop of the first seat. */
  final Promise<Replica> running = Promise.promise();

  /** Completes when no user code runs for it any more; it does not fail. */
  final Promise<Void> over = Promise.promise();

  private @Nullable HandlerThreads workers; // of blocking handlers
  private volatile String doing = "being made";
  private volatile Runnable takeBack = () -> {};

  // Under the lock.
  private boolean abandoned;
  private @Nullable Thread thread; // while user code runs
  private @Nullable Long beganNanos; // once there was a thread for it

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
      takeBack =
          ports
              .hooks()
              .runFor(spec.deployment(), spec.replicaId(), HookThreads.Kind.START, this::work);
    } catch (RejectedExecutionException noThread) {
      fail(noThread);
      over.complete();
    }
  }

  private void work() {
    List<HostedReplica> parts;
    try {
      parts = run();
    } catch (Throwable thrown) { // user code
      fail(thrown);
      over.tryComplete();
      return;
    }
    over.tryComplete();
    replica.begin(parts, workers, running);
  }

  private void fail(Throwable why) {
    replica.startFailed();
    seats.get(0).loop().execute(() -> running.tryFail(why));
  }

  /**
   * Runs user code until the replica can take requests.
   *
   * @throws Throwable what user code threw, or {@link CancellationException} when nobody waits for
   *     it any more; what it had made is stopped
   */
  private List<HostedReplica> run() throws Throwable {
    begin();
    replica.lookSoon(); // its time runs
    try {
      List<HostedReplica> parts = new ArrayList<>(seats.size());
      for (ReplicaSeat seat : seats) {
        parts.add(part(seat));
        requireWanted();
      }
      doing = "in start";
      replica.hooks.start();
      requireWanted();
      if (!spec.userConfig().isEmpty()) {
        doing = "in reconfigure";
        replica.hooks.reconfigure(spec.userConfig());
        requireWanted();
      }
      doing = "in checkHealth";
      replica.health.checkFirst();
      end(true);
      return parts;
    } catch (Throwable thrown) { // user code
      end(false);
      doing = "in stop";
      try {
        replica.hooks.stop(nanoClock.getAsLong());
      } catch (Throwable second) {
        if (second != thrown) { // the same one for all, and no exception suppresses itself
          thrown.addSuppressed(second);
        }
      }
      if (workers != null) {
        workers.stop();
      }
      throw thrown;
    }
  }

  private synchronized void begin() {
    requireWanted();
    thread = Thread.currentThread();
    beganNanos = nanoClock.getAsLong();
  }

  private synchronized void requireWanted() {
    if (abandoned) {
      throw new CancellationException("replica " + spec.replicaId() + ": told to stop");
    }
  }

  /**
   * No hook that begins it runs from now on.
   *
   * @param well that it ends well, unless it was abandoned meanwhile
   */
  private void end(boolean well) {
    synchronized (this) {
      if (well) {
        requireWanted();
      }
      thread = null;
    }
    Thread.interrupted(); // whatever interrupted the start is over with it
  }

  /**
   * Nobody waits for it any more: the hook that runs is interrupted, and none follows. One that has
   * no thread yet has failed.
   */
  void abandon() {
    boolean waits;
    synchronized (this) {
      waits = beganNanos == null && !abandoned;
      abandoned = true;
      if (thread != null) {
        thread.interrupt();
      }
    }
    if (waits) {
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
      workers = ports.threads().create(spec.replicaId(), spec.maxOngoing());
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
    Long began;
    synchronized (this) {
      began = beganNanos;
    }
    if (began == null) {
      if (now - queuedNanos >= LOOK_NANOS) {
        sayThatItWaits(now);
      }
      return now + LOOK_NANOS;
    }
    sayThatItWaitsNoMore(now);
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
      giveUp(timeout);
    }
    return now + (left > 0 ? Math.min(left, LOOK_NANOS) : LOOK_NANOS);
  }

  private void sayThatItWaits(long now) {
    String lost = ports.hooks().lost(spec.deployment().application());
    String waits =
        "waits for a start thread since " + queuedAt + (lost.isEmpty() ? "" : ": " + lost);
    if (!waits.equals(said) || now - saidNanos >= SAY_NANOS) { // again, to a controller that is new
      said = waits;
      saidNanos = now;
      ports.listener().startWaits(replica, waits);
    }
  }

  private void sayThatItWaitsNoMore(long now) {
    if (!said.isEmpty()) {
      said = "";
      saidNanos = now;
      ports.listener().startWaits(replica, "");
    }
  }

  /** It has failed, whatever becomes of the hook that runs, which is interrupted. */
  private synchronized void giveUp(long timeout) {
    if (thread == null || abandoned) {
      return;
    }
    abandoned = true;
    TimeoutException late =
        new TimeoutException(
            "start: not done in "
                + timeout / 1e9
                + " s (expected: an end within replica_start_timeout_s), its handler: "
                + doing
                + ", "
                + StackText.of(thread.getStackTrace()));
    seats.get(0).loop().execute(() -> running.tryFail(late)); // before what the interrupt makes
    thread.interrupt();
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
