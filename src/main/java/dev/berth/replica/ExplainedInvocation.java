package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.port.ExplainedParent;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * An invocation whose response carries the times of its handler, and whose own calls are explained
 * too. A separate class, so that an ordinary invocation carries none of its fields.
 */
final class ExplainedInvocation extends Invocation implements ExplainedParent {
  private final long acceptedNanos;
  private long calledNanos = NEVER;
  private long settledNanos = NEVER;
  private RequestFailure failure = RequestFailure.NONE;
  private volatile @Nullable FailedCall failedCall; // the handler's last
  private final AtomicInteger explained = new AtomicInteger(); // calls by the handler

  ExplainedInvocation(
      LoopReplica host, RouterSession source, CallRequest message, long now, long deadline) {
    super(host, source, message, now, deadline);
    this.acceptedNanos = now;
  }

  private record FailedCall(BerthException told, RequestFailure why) {}

  @Override
  void calling() {
    calledNanos = loop.now();
  }

  @Override
  void settling() {
    settledNanos = loop.now();
  }

  @Override
  BerthException recordFailure(Throwable thrown) {
    BerthException told = super.recordFailure(thrown);
    Throwable cause = told.getCause() == null ? told : told.getCause();
    FailedCall call = failedCall;
    failure =
        call != null && call.told == cause ? call.why : RequestFailure.of(deployment(), cause);
    return told;
  }

  @Override
  public void callFailed(BerthException told, RequestFailure why) {
    failedCall = new FailedCall(told, why);
  }

  /**
   * Returns the handler times. A request broken off before it settled counts as running until now.
   */
  @Override
  HandlerTime time() {
    long now = Math.min(settledNanos, loop.now());
    if (calledNanos == NEVER) {
      return new HandlerTime(now - acceptedNanos, 0, failure);
    }
    HandlerTime.BatchPlace place = call == null ? null : call.place();
    long gathered = calledNanos - acceptedNanos - (place == null ? 0 : place.waitedNanos());
    return new HandlerTime(Math.max(0, gathered), now - calledNanos, failure, place);
  }

  @Override
  public boolean tryExplainCall() {
    return explained.get() < MAX_EXPLAINED_CALLS
        && explained.incrementAndGet() <= MAX_EXPLAINED_CALLS;
  }
}
