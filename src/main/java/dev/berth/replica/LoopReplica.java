package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.metrics.ProcessingMeters;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The part of a replica on one event loop: calls its handler there. Confined to that loop. */
final class LoopReplica {
  final ReplicaRuntime replica;
  final ReplicaLoop loop;
  final ProcessingMeters meters = new ProcessingMeters();
  int frameBytes; // of the last frame of a stream, up to the size of joined chunks
  private @Nullable HandlerInvoker invoker;
  private Map<String, HandlerInvoker> methods;
  private final HandleCache handles;
  volatile boolean stopped; // accepts nothing; set by another thread if stuck

  // Request outcomes as evidence of health. Written on the loop, read by the thread that ticks the
  // replica.
  private volatile long failed;
  private volatile long unanswered;

  LoopReplica(
      ReplicaRuntime replica,
      ReplicaLoop loop,
      HandlerInvoker invoker,
      Map<String, HandlerInvoker> methods,
      HandleCache handles) {
    this.replica = replica;
    this.loop = loop;
    this.invoker = invoker;
    this.methods = methods;
    this.handles = handles;
  }

  /** Returns the handler of a method; null when the method is unknown. */
  private @Nullable HandlerInvoker find(String method) {
    return method.isEmpty()
        ? Objects.requireNonNull(invoker, "invoker: null (expected: not retired)")
        : methods.get(method);
  }

  void invoke(Request request, HandledRequest invocation) {
    String method = invocation.methodName();
    HandlerInvoker found = find(method);
    if (found == null) {
      String known =
          methods.isEmpty()
              ? "none: it has no methods"
              : "one of " + new TreeSet<>(methods.keySet());
      invocation.settle(
          null,
          new BerthException.NoSuchMethod(
              "method of " + replica.deployment() + ": " + method + " (expected: " + known + ")"));
      return;
    }
    found.invoke(request, invocation);
  }

  /** Returns the handler of a method if it takes batches; null otherwise, or once retired. */
  @Nullable HandlerInvoker batched(String method) {
    HandlerInvoker found = method.isEmpty() ? invoker : methods.get(method);
    return found != null && found.takesBatches() ? found : null;
  }

  /** Returns the names of the methods that take batches. */
  Set<String> batchedMethods() {
    Set<String> names = new TreeSet<>(methods.keySet());
    names.add("");
    names.removeIf(method -> batched(method) == null);
    return names;
  }

  /** Returns a handle for calls made by a request's handler. Thread-safe. */
  DeploymentHandle handle(String deployment, RequestContext parent) {
    return handles.of(deployment).within(parent);
  }

  /** Returns whether the handler of a method streams request bodies. */
  boolean streamsRequests(String method) {
    HandlerInvoker found = find(method);
    return found != null && found.streamsRequests();
  }

  /** Returns whether the handler of a method may block. */
  boolean runsOnThread(String method) {
    HandlerInvoker found = find(method);
    return found != null && found.runsOnThread();
  }

  /**
   * Counts a request that failed or exceeded its deadline in the handler.
   *
   * @param how class of the handler's exception, for operators
   */
  void requestFailed(String how) {
    failed = failed + 1;
    replica.requestFailed(how);
  }

  /** Counts a request without a success of the handler. Call before the request counts as ended. */
  void endsUnanswered() {
    unanswered = unanswered + 1;
  }

  /** Returns the number of failed requests. Thread-safe. */
  long failedCount() {
    return failed;
  }

  /** Returns the number of successful requests. Thread-safe. */
  long answeredCount() {
    long ended = meters.times().count(); // read first: unanswered then covers all of these
    return ended - unanswered;
  }

  /**
   * Accepts nothing more, and drops the references to the handler, which may hold a model, and to
   * its code.
   */
  void retire() {
    assert loop.isHere();
    stopped = true;
    invoker = null;
    methods = Map.of();
    handles.retire();
  }
}
