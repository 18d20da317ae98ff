package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.ReplicaMeters;
import dev.berth.api.RequestContext;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.port.BareHandle;
import dev.berth.protocol.port.ExplainedParent;
import io.vertx.core.Future;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.slf4j.Logger;

/**
 * A request with less time, for a piece of its work: what {@link RequestContext#withTimeout} gives.
 *
 * @param request that it is of
 * @param deadline of the piece, on the clock; the request's own may be earlier
 * @param clock monotonic nanoseconds
 */
record TimedContext(RequestContext request, long deadline, LongSupplier clock)
    implements RequestContext, ExplainedParent {
  /** Longer is as good as no bound, and keeps sums of times from overflowing. */
  private static final Duration LONGEST = Duration.ofDays(36_500);

  static TimedContext of(RequestContext request, Duration budget, LongSupplier clock) {
    Duration left = budget.isNegative() ? Duration.ZERO : budget;
    long nanos = (left.compareTo(LONGEST) < 0 ? left : LONGEST).toNanos();
    return new TimedContext(request, clock.getAsLong() + nanos, clock);
  }

  @Override
  public RequestContext withTimeout(Duration budget) {
    return of(this, budget, clock);
  }

  @Override
  public Optional<Duration> remaining() {
    Duration own = Duration.ofNanos(Math.max(0, deadline - clock.getAsLong()));
    return Optional.of(request.remaining().filter(left -> left.compareTo(own) < 0).orElse(own));
  }

  @Override
  public DeploymentHandle handle(String deployment) {
    return ((BareHandle) request.handle(deployment)).within(this);
  }

  @Override
  public boolean tryExplainCall() {
    return request instanceof ExplainedParent explained && explained.tryExplainCall();
  }

  @Override
  public void callFailed(BerthException told, RequestFailure why) {
    if (request instanceof ExplainedParent explained) {
      explained.callFailed(told, why);
    }
  }

  // --- as the request has it ---

  @Override
  public Instant now() {
    return request.now();
  }

  @Override
  public String requestId() {
    return request.requestId();
  }

  @Override
  public Optional<String> sessionId() {
    return request.sessionId();
  }

  @Override
  public DeploymentId deployment() {
    return request.deployment();
  }

  @Override
  public String replicaId() {
    return request.replicaId();
  }

  @Override
  public String methodName() {
    return request.methodName();
  }

  @Override
  public Headers headers() {
    return request.headers();
  }

  @Override
  public Instant arrivedAtRouter() {
    return request.arrivedAtRouter();
  }

  @Override
  public Instant arrivedAtReplica() {
    return request.arrivedAtReplica();
  }

  @Override
  public boolean cancelled() {
    return request.cancelled();
  }

  @Override
  public Runnable onCancel(Runnable action) {
    return request.onCancel(action);
  }

  @Override
  public Future<Void> after(Duration delay) {
    return request.after(delay);
  }

  @Override
  public Logger logger() {
    return request.logger();
  }

  @Override
  public ReplicaMeters meters() {
    return request.meters();
  }
}
