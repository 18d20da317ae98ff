package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.ReplicaMeters;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.RequestOrigin;
import dev.berth.protocol.port.LoopDependencies;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * A handler's thread-safe view of its request: the caller's data, the deadline and the cancel
 * actions. Part of its {@link Invocation}, so that a request costs one object.
 */
abstract class InvocationContext implements RequestContext {
  /** Moment later than every other: no deadline. */
  static final long NEVER = Long.MAX_VALUE;

  final long startedAt; // on the loop's clock
  final long deadline; // on the loop's clock, or NEVER
  private final String requestId;
  private final String methodName; // "" for the handler itself
  private final String sessionId; // "" for none
  private final String method;
  private final String path;
  private final @Nullable String query;
  private final Headers headers;
  private final @Nullable RequestOrigin origin;
  private final long waitedMicros; // from arrival at the router to sending
  volatile boolean cancelled; // the response is not needed; written on the loop
  private @Nullable CancelAction cancelActions; // the newest; null for none
  private volatile @Nullable RequestLogger logger; // created on first use
  private volatile @Nullable Instant arrived; // computed on first use

  InvocationContext(CallRequest message, long now, long deadline) {
    this.requestId = message.requestId();
    this.methodName = message.methodName();
    this.sessionId = message.sessionId();
    Request request = message.request(); // not retained: its body may be large
    this.method = request.method();
    this.path = request.path();
    this.query = request.query();
    this.headers = request.headers();
    this.origin = message.origin();
    this.waitedMicros = message.waitedMicros();
    this.startedAt = now;
    this.deadline = deadline;
  }

  /** Creates a view of the same request with another deadline. */
  InvocationContext(InvocationContext of, long deadline) {
    this.requestId = of.requestId;
    this.methodName = of.methodName;
    this.sessionId = of.sessionId;
    this.method = of.method;
    this.path = of.path;
    this.query = of.query;
    this.headers = of.headers;
    this.origin = of.origin;
    this.waitedMicros = of.waitedMicros;
    this.startedAt = of.startedAt;
    this.deadline = deadline;
  }

  /** Returns {@code moment + span}, both at least 0; NEVER in place of an overflow. */
  static long plus(long moment, long span) {
    long sum = moment + span;
    return sum < 0 ? NEVER : sum;
  }

  abstract ReplicaRuntime replica();

  public long waitedNanos() {
    return TimeUnit.MICROSECONDS.toNanos(Math.max(0, waitedMicros));
  }

  public long remainingNanos() {
    return deadline == NEVER ? NEVER : deadline - moment();
  }

  /** Returns whether the request has ended. */
  abstract boolean hasEnded();

  // --- its loop ---

  public abstract LoopDependencies ports();

  /** Returns the present moment on the loop's clock. */
  abstract long moment();

  // --- properties of the request ---

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
  public String method() {
    return method;
  }

  @Override
  public String path() {
    return path;
  }

  @Override
  public @Nullable String query() {
    return query;
  }

  @Override
  public String routePrefix() {
    ReplicaLimits limits = replica().limits();
    String root = limits.rootPath();
    boolean hasRoot = !root.isEmpty() && (path.equals(root) || path.startsWith(root + '/'));
    return hasRoot
        ? limits.routePrefix().equals("/") ? root : root + limits.routePrefix()
        : limits.routePrefix();
  }

  @Override
  public String clientAddress() {
    return origin == null ? "" : origin.client();
  }

  @Override
  public String scheme() {
    return origin == null ? "http" : origin.scheme();
  }

  @Override
  public String host() {
    String host = origin == null || origin.host() == null ? headers.get("host") : origin.host();
    return RequestOrigin.isHost(host) ? host : "localhost";
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
    return new DeadlineContext(this, budget);
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

  /** Runs the actions registered for a cancel. */
  final void runCancelActions() {
    for (CancelAction action = takeCancelActions(); action != null; action = action.before) {
      runGuarded(action.task);
    }
  }

  /** Runs the end actions of a request that was not cancelled. */
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
    CancellableDelay waiting = new CancellableDelay(delay);
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
      logger = made; // two threads may create one each: they are equal
    }
    return made;
  }

  @Override
  public ReplicaMeters meters() {
    return replica().meters();
  }

  /** A pending {@link #after}. On a cancel its future fails. */
  private final class CancellableDelay {
    final Promise<Void> done = Promise.promise();
    private final long nanos;
    private final CancelAction onCancel =
        new CancelAction(() -> stop("cancelled"), () -> stop("answered"));
    private @Nullable Runnable stopTimer;

    CancellableDelay(Duration length) {
      // an overflow throws at the caller, not on the loop
      this.nanos = Math.max(0, length.toNanos());
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
