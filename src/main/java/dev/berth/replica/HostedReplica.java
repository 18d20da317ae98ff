package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.metrics.ProcessingMeters;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** A replica's part on one event loop: how its handler there is called. Belongs to that loop. */
final class HostedReplica {
  final ServedReplica replica;
  final ReplicaLoop loop;
  final ProcessingMeters meters = new ProcessingMeters();
  private @Nullable HandlerInvoker invoker;
  private Map<String, HandlerInvoker> methods;
  private final KnownHandles handles;
  volatile boolean stopped; // takes nothing more; written off the loop while that is stuck

  // What its requests say of the replica. Written on the loop, read by who looks at its health.
  private volatile long failed;
  private volatile long unanswered;

  HostedReplica(
      ServedReplica replica,
      ReplicaLoop loop,
      HandlerInvoker invoker,
      Map<String, HandlerInvoker> methods,
      KnownHandles handles) {
    this.replica = replica;
    this.loop = loop;
    this.invoker = invoker;
    this.methods = methods;
    this.handles = handles;
  }

  /** Who handles calls of a method; null when there is none of that name. */
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
      invocation.settled(
          null,
          new BerthException.NoSuchMethod(
              "method of " + replica.deployment() + ": " + method + " (expected: " + known + ")"));
      return;
    }
    found.invoke(request, invocation);
  }

  /** A handle for what a request's handler calls in turn; any thread. */
  DeploymentHandle handle(String deployment, RequestContext parent) {
    return handles.of(deployment).within(parent);
  }

  /** Whether the handler of a method wants bodies as they arrive. */
  boolean streamsRequests(String method) {
    HandlerInvoker found = find(method);
    return found != null && found.streamsRequests();
  }

  /** Whether the handler of a method may block. */
  boolean runsOnThread(String method) {
    HandlerInvoker found = find(method);
    return found != null && found.runsOnThread();
  }

  /**
   * A request failed, or ran out of its time, in the handler's hands.
   *
   * @param how for people: the class of what the handler threw
   */
  void requestFailed(String how) {
    failed = failed + 1;
    replica.requestFailed(how);
  }

  /** A request ends that says nothing good of the replica; before it is counted as ended. */
  void endsUnanswered() {
    unanswered = unanswered + 1;
  }

  /** Requests that failed; any thread. */
  long failed() {
    return failed;
  }

  /** Requests that were answered well; any thread. */
  long answered() {
    long ended = meters.times().count(); // first: of these, all that were not answered are known
    return ended - unanswered;
  }

  /** Takes nothing more, and lets go of the handler, which may hold a model, and of its code. */
  void retire() {
    assert loop.isHere();
    stopped = true;
    invoker = null;
    methods = Map.of();
    handles.retire();
  }
}
