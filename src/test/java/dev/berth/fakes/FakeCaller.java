package dev.berth.fakes;

import dev.berth.api.BerthException;
import dev.berth.api.Response;
import dev.berth.routing.CallObserver;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Who makes a call, and holds its router to its word: told at most once that a replica has it, and
 * of exactly one end; of a response not without the other.
 */
public class FakeCaller implements CallObserver {
  private final String requestId;
  private final long arrivedNanos;
  private final long deadlineNanos;

  /** What it was told, in order. */
  public final List<String> told = new ArrayList<>();

  private @Nullable String routedTo;
  public @Nullable Response response;
  public @Nullable BerthException failure;

  /** At the beginning of a clock that starts at 0, with no deadline. */
  public FakeCaller() {
    this("id", 0, Long.MAX_VALUE);
  }

  public FakeCaller(String requestId, long arrivedNanos, long deadlineNanos) {
    this.requestId = requestId;
    this.arrivedNanos = arrivedNanos;
    this.deadlineNanos = deadlineNanos;
  }

  /** Its one end has come. */
  protected void ended() {}

  public final boolean isOver() {
    return response != null || failure != null;
  }

  @Override
  public final String requestId() {
    return requestId;
  }

  @Override
  public final long arrivedNanos() {
    return arrivedNanos;
  }

  @Override
  public final long deadlineNanos() {
    return deadlineNanos;
  }

  @Override
  public final void onRouted(String replicaId) {
    tell("routed " + replicaId, routedTo == null);
    routedTo = replicaId;
  }

  @Override
  public final void onResponse(Response received, String replicaId) {
    tell("response of " + replicaId, routedTo != null);
    response = received;
    ended();
  }

  @Override
  public final void onFailure(BerthException failed) {
    tell("failure " + failed.kind(), true);
    failure = failed;
    ended();
  }

  private void tell(String what, boolean inOrder) {
    if (isOver() || !inOrder) {
      throw new AssertionError(
          what + ", after " + told + " (expected: routed at most once, then one end)");
    }
    told.add(what);
  }
}
