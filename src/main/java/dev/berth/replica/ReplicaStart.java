package dev.berth.replica;

import dev.berth.api.BlockingHandler;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaContext;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.ReplicaMeters;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The start of one replica, off the loop: its handlers are made, started, given the {@code
 * user_config} if there is one, and asked for their health once. It may take as long as it likes (a
 * model is read); a line in the log says so every 30 s. What fails stops what was made.
 */
final class ReplicaStart {
  private static final Logger LOG = LoggerFactory.getLogger(ReplicaStart.class);
  private static final long PROGRESS_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final ReplicaSpec spec;
  private final List<ReplicaSeat> seats;
  private final Replica replica;
  private final HandlerThreads.Factory threads;
  private @Nullable HandlerThreads running; // of blocking handlers
  private volatile String doing = "being made";
  private boolean abandoned; // under the lock
  private @Nullable Thread thread; // under the lock, while user code runs

  // The host's tick alone.
  private final long beganNanos;
  private long saidNanos;

  ReplicaStart(
      ReplicaSpec spec,
      List<ReplicaSeat> seats,
      Replica replica,
      HandlerThreads.Factory threads,
      long nowNanos) {
    this.spec = spec;
    this.seats = seats;
    this.replica = replica;
    this.threads = threads;
    this.beganNanos = nowNanos;
    this.saidNanos = nowNanos;
  }

  /** What is started: the handlers as the loops call them. */
  record Started(List<HostedReplica> parts, @Nullable HandlerThreads threads) {}

  /**
   * Runs user code until the replica can take requests.
   *
   * @throws Throwable what user code threw, or {@link CancellationException} when nobody waits for
   *     it any more; what it had made is stopped
   */
  Started run() throws Throwable {
    begin();
    try {
      List<HostedReplica> parts = new ArrayList<>(seats.size());
      for (ReplicaSeat seat : seats) {
        parts.add(part(seat));
        requireWanted();
      }
      doing = "in start";
      replica.hooks().start();
      requireWanted();
      if (!spec.userConfig().isEmpty()) {
        doing = "in reconfigure";
        replica.hooks().reconfigure(spec.userConfig());
        requireWanted();
      }
      doing = "in checkHealth";
      replica.health().checkFirst();
      end();
      return new Started(parts, running);
    } catch (Throwable thrown) { // user code
      end();
      try {
        replica.hooks().stop();
      } catch (Throwable second) {
        if (second != thrown) { // the same one for all, and no exception suppresses itself
          thrown.addSuppressed(second);
        }
      }
      if (running != null) {
        running.stop();
      }
      throw thrown;
    }
  }

  private synchronized void begin() {
    requireWanted();
    thread = Thread.currentThread();
  }

  private synchronized void requireWanted() {
    if (abandoned) {
      throw new CancellationException("replica " + spec.replicaId() + ": told to stop");
    }
  }

  private void end() {
    synchronized (this) {
      thread = null;
    }
    Thread.interrupted(); // whatever interrupted the start is over with it
  }

  /** Nobody waits for it any more: the hook that runs is interrupted, and none follows. */
  synchronized void abandon() {
    abandoned = true;
    if (thread != null) {
      thread.interrupt();
    }
  }

  private HostedReplica part(ReplicaSeat seat) throws Exception {
    ReplicaHandler handler =
        Objects.requireNonNull(
            spec.factory().create(new SeatContext(spec, seat, replica.meters())),
            "factory: null (expected: a handler)");
    replica.hooks().add(handler);
    Map<String, HandlerInvoker> methods = new HashMap<>();
    Objects.requireNonNull(handler.methods(), "methods: null (expected: a map)")
        .forEach(
            (name, method) ->
                methods.put(
                    name,
                    invoker(
                        Objects.requireNonNull(
                            method, () -> "method " + name + ": null (expected: a handler)"))));
    return new HostedReplica(replica, seat.loop(), invoker(handler), Map.copyOf(methods));
  }

  private HandlerInvoker invoker(ReplicaHandler handler) {
    if (handler instanceof BlockingHandler && running == null) {
      running = threads.create(spec.replicaId(), spec.maxOngoing());
    }
    Executor executor = running == null ? Runnable::run : running; // unused by async handlers
    return HandlerInvoker.of(handler, executor);
  }

  /** When it says next that it is not done yet, on the nano clock. */
  long nextLook() {
    return saidNanos + PROGRESS_NANOS;
  }

  /** Says every 30 s that it is not done yet. */
  void logProgress(long nowNanos) {
    if (nowNanos - nextLook() >= 0) {
      saidNanos = nowNanos;
      LOG.info(
          "replica {}: starting for {} s, its handler: {}",
          spec.replicaId(),
          TimeUnit.NANOSECONDS.toSeconds(nowNanos - beganNanos),
          doing);
    }
  }

  /** What a factory is told. */
  private record SeatContext(ReplicaSpec spec, ReplicaSeat seat, ReplicaMeters meters)
      implements ReplicaContext {
    @Override
    public DeploymentId deployment() {
      return spec.deployment();
    }

    @Override
    public String replicaId() {
      return spec.replicaId();
    }

    @Override
    public Map<String, Object> userConfig() {
      return spec.userConfig();
    }

    @Override
    public int maxOngoingRequests() {
      return spec.maxOngoing();
    }

    @Override
    public DeploymentHandle handle(String deployment) {
      return seat.handles().apply(deployment);
    }
  }
}
