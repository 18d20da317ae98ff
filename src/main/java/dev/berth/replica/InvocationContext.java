package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.ReplicaMeters;
import dev.berth.api.RequestContext;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.port.LoopPorts;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * What a handler sees of its request, from any thread: who it is of, how long it may take, and what
 * it wants to be told when nobody waits for it any more. A part of its {@link Invocation}, so that
 * a request costs one object.
 */
abstract class InvocationContext implements RequestContext {
  /** No moment; later than every moment. */
  static final long NEVER = Long.MAX_VALUE;

  final long startedAt; // on the loop's clock
  final long deadline; // on the loop's clock, or NEVER
  private final String requestId;
  private final String methodName; // "" for the handler itself
  private final String sessionId; // "" for none
  private final Headers headers;
  private final long waitedMicros; // from its arrival at the router until it was sent
  volatile boolean cancelled; // nobody waits for its answer; written on the loop
  private @Nullable CancelAction cancelActions; // the newest; null when over
  private volatile @Nullable RequestLogger logger; // once it was asked for
  private volatile @Nullable Instant arrived; // likewise

  InvocationContext(CallRequest message, long now, long deadline) {
    this.requestId = message.requestId();
    this.methodName = message.methodName();
    this.sessionId = message.sessionId();
    this.headers = message.request().headers();
    this.waitedMicros = message.waitedMicros();
    this.startedAt = now;
    this.deadline = deadline;
  }

  /** The same request with another deadline. */
  InvocationContext(InvocationContext of, long deadline) {
    this.requestId = of.requestId;
    this.methodName = of.methodName;
    this.sessionId = of.sessionId;
    this.headers = of.headers;
    this.waitedMicros = of.waitedMicros;
    this.startedAt = of.startedAt;
    this.deadline = deadline;
  }

  /** A moment later by a span, both 0 or more; NEVER rather than an overflow. */
  static long plus(long moment, long span) {
    long sum = moment + span;
    return sum < 0 ? NEVER : sum;
  }

  abstract ServedReplica replica();

  /** Whether nothing of it runs any more. */
  abstract boolean hasEnded();

  // --- its loop ---

  public abstract LoopPorts ports();

  /** On the loop's clock. */
  abstract long moment();

  // --- who asks ---

  @Override
  public String requestId() {
    return requestId;
  }

  @Override
  public Optional<String> sessionId() {
    return sessionId.isEmpty() ? Optional.empty() : Optional.of(sessionId);
  }

  @Override
  public DeploymentId deployment() {
    return replica().deployment();
  }

  @Override
  public String methodName() {
    return methodName;
  }

  @Override
  public Headers headers() {
    return headers;
  }

  @Override
  public Instant arrivedAtRouter() {
    return arrivedAtReplica().minus(Math.max(0, waitedMicros), ChronoUnit.MICROS);
  }

  @Override
  public Instant arrivedAtReplica() {
    Instant known = arrived;
    if (known == null) {
      known = replica().wallClock.instant().minusNanos(moment() - startedAt);
      arrived = known;
    }
    return known;
  }

  @Override
  public String replicaId() {
    return replica().replicaId();
  }

  @Override
  public Optional<Duration> remaining() {
    if (deadline == NEVER) {
      return Optional.empty();
    }
    return Optional.of(Duration.ofNanos(Math.max(0, deadline - moment())));
  }

  @Override
  public RequestContext withTimeout(Duration budget) {
    return new TimedContext(this, budget);
  }

  @Override
  public Instant now() {
    return replica().wallClock.instant();
  }

  @Override
  public boolean cancelled() {
    return cancelled;
  }

  @Override
  public Runnable onCancel(Runnable task) {
    CancelAction action = new CancelAction(task, null);
    ports().loop().run(() -> add(action));
    return () -> ports().loop().run(() -> remove(action));
  }

  private void add(CancelAction action) {
    if (cancelled) {
      runGuarded(action.task);
    } else if (!hasEnded()) {
      action.linkBefore(cancelActions);
      cancelActions = action;
    }
  }

  /** What was to be done once nobody waits for its answer. */
  final void runCancelActions() {
    for (CancelAction action = takeCancelActions(); action != null; action = action.before) {
      runGuarded(action.task);
    }
  }

  /** What was to be done at its end, if it was not cancelled. */
  final void runEndActions() {
    for (CancelAction action = takeCancelActions(); action != null; action = action.before) {
      if (action.whenEnded != null) {
        runGuarded(action.whenEnded);
      }
    }
  }

  private void runGuarded(Runnable action) {
    ports()
        .loop()
        .executeFor(
            this,
            () -> {
              try {
                action.run();
              } catch (Throwable thrown) {
                replica().failures.add("an onCancel action failed", thrown, this);
              }
            });
  }

  private @Nullable CancelAction takeCancelActions() {
    CancelAction oldest = cancelActions == null ? null : cancelActions.oldest();
    cancelActions = null;
    for (CancelAction action = oldest; action != null; action = action.before) {
      action.linked = false;
    }
    return oldest;
  }

  private void remove(CancelAction action) {
    if (action.linked && !hasEnded()) {
      cancelActions = action.unlinkFrom(cancelActions);
    }
  }

  @Override
  public Future<Void> after(Duration delay) {
    Delay waiting = new Delay(delay);
    if (ports().loop().isHere()) {
      waiting.start();
    } else {
      ports().loop().executeFor(this, waiting::start);
    }
    return waiting.done.future();
  }

  @Override
  public Logger logger() {
    RequestLogger made = logger;
    if (made == null) {
      made = new RequestLogger(replica().userLog, this);
      logger = made; // two threads may make one each: they are alike
    }
    return made;
  }

  @Override
  public ReplicaMeters meters() {
    return replica().meters();
  }

  /** One {@link #after}; as a cancel action it fails. */
  private final class Delay {
    final Promise<Void> done = Promise.promise();
    private final long nanos;
    private final CancelAction onCancel =
        new CancelAction(() -> stop("cancelled"), () -> stop("answered"));
    private @Nullable Runnable stopTimer;

    Delay(Duration length) {
      this.nanos = Math.max(0, length.toNanos()); // throws at who asks, not on the loop
    }

    void start() {
      if (hasEnded()) {
        stop("answered");
        return;
      }
      if (!cancelled) {
        stopTimer = ports().timer().start(nanos, this::elapsed);
      }
      add(onCancel);
    }

    private void elapsed() {
      remove(onCancel);
      done.tryComplete();
    }

    private void stop(String what) {
      if (stopTimer != null) {
        stopTimer.run();
      }
      done.tryFail(new BerthException.Cancelled("request: " + what + " (expected: still wanted)"));
    }
  }
}
