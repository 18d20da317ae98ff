package dev.berth.simulation;

import dev.berth.api.RequestContext;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What really ran: each request that reached user code, at which incarnation, and whether it ran
 * on.
 */
final class Executions {

  /** One run of user code. */
  static final class Execution {
    final String requestId;
    final String replicaId;
    boolean settled;
    long bytesWritten;
    long bytesRead;
    boolean readsStream;
    long streamsSinceNanos = Long.MAX_VALUE; // since the start: when the head of its answer left

    final RequestContext context;

    Execution(String requestId, String replicaId, RequestContext context) {
      this.context = context;
      this.requestId = requestId;
      this.replicaId = replicaId;
    }
  }

  private final World world;
  private final Map<String, Execution> byRequest = new HashMap<>();
  private final Map<String, Set<String>> notRunAt = new HashMap<>(); // replicas, by request
  private final Map<String, Integer> running = new HashMap<>(); // by replica incarnation

  /** Told when the runtime begins what runs, and when it cancels it. */
  interface Listener {
    default void begun(Execution execution) {}

    default void cancelled(Execution execution) {}
  }

  private Listener listener = new Listener() {};

  void listen(Listener newListener) {
    listener = newListener;
  }

  Executions(World world) {
    this.world = world;
  }

  Execution begin(RequestContext context, String replicaId) {
    String requestId = context.requestId();
    Execution execution = new Execution(requestId, replicaId, context);
    world.note("runs", requestId + " on " + replicaId);
    world.failIf(notRunAt(requestId, replicaId), () -> requestId + ": again on " + replicaId);
    Execution before = byRequest.putIfAbsent(requestId, execution);
    if (before != null) {
      throw world.fail(
          "executions of %s: on %s and on %s (expected: at most one)"
              .formatted(requestId, before.replicaId, replicaId));
    }
    running.merge(replicaId, 1, Integer::sum);
    listener.begun(execution);
    context.onCancel(() -> listener.cancelled(execution));
    return execution;
  }

  /** Its body is being written: user code again, on the same slot. */
  void produce(Execution execution) {
    execution.settled = false;
    execution.streamsSinceNanos = world.elapsedNanos();
    running.merge(execution.replicaId, 1, Integer::sum);
  }

  void settle(Execution execution) {
    if (!execution.settled) {
      execution.settled = true;
      if (execution.streamsSinceNanos == Long.MAX_VALUE) {
        execution.streamsSinceNanos = world.elapsedNanos(); // a whole response may need credit, too
      }
      running.merge(execution.replicaId, -1, Integer::sum);
      world.note("settled", execution.requestId);
    }
  }

  /** The upstream did not run it: it may begin once more, at another replica. */
  void notRun(Execution execution) {
    settle(execution);
    byRequest.remove(execution.requestId);
    notRunAt.computeIfAbsent(execution.requestId, id -> new HashSet<>()).add(execution.replicaId);
  }

  /** Whether a replica refused to run a request that it had begun. */
  boolean notRunAt(String requestId, String replicaId) {
    return notRunAt.getOrDefault(requestId, Set.of()).contains(replicaId);
  }

  @Nullable Execution of(String requestId) {
    return byRequest.get(requestId);
  }

  /** Requests in user code of one incarnation now. */
  int running(String replicaId) {
    return running.getOrDefault(replicaId, 0);
  }
}
