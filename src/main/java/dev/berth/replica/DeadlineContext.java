package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.port.ExplainedParent;
import dev.berth.protocol.port.HandleFactory;
import dev.berth.protocol.port.LoopDependencies;
import io.vertx.core.Future;
import java.time.Duration;

/**
 * A view of a request with a shorter deadline, for a part of its work. Returned by {@code
 * withTimeout}.
 */
final class DeadlineContext extends InvocationContext implements ExplainedParent {
  private static final Duration MAX_DURATION = Duration.ofDays(36_500);
  private static final long MAX_NANOS = MAX_DURATION.toNanos();

  private final InvocationContext request;

  /**
   * @param budget time from now on, limited to the remaining time of the request
   */
  DeadlineContext(InvocationContext request, Duration budget) {
    super(request, Math.min(request.deadline, request.moment() + nanos(budget)));
    this.request = request;
  }

  /**
   * Returns the nanoseconds of a budget, between 0 and {@code MAX_NANOS}: sums of longer ones would
   * overflow.
   */
  private static long nanos(Duration budget) {
    return budget.isNegative()
        ? 0
        : budget.compareTo(MAX_DURATION) < 0 ? budget.toNanos() : MAX_NANOS;
  }

  @Override
  public DeploymentHandle handle(String deployment) {
    return ((HandleFactory) request.handle(deployment)).within(this);
  }

  // --- delegated to the request ---

  @Override
  ReplicaRuntime replica() {
    return request.replica();
  }

  @Override
  boolean hasEnded() {
    return request.hasEnded();
  }

  @Override
  public LoopDependencies ports() {
    return request.ports();
  }

  @Override
  long moment() {
    return request.moment();
  }

  @Override
  public boolean cancelled() {
    return request.cancelled();
  }

  @Override
  public Runnable onCancel(Runnable task) {
    return request.onCancel(task);
  }

  @Override
  public Future<Void> after(Duration delay) {
    return request.after(delay);
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
}
