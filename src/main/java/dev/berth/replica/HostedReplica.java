package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.metrics.ProcessingMeters;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** A replica's part on one event loop: how its handler there is called. Belongs to that loop. */
final class HostedReplica {
  final Replica replica;
  final ReplicaLoop loop;
  final ProcessingMeters meters = new ProcessingMeters();
  private @Nullable HandlerInvoker invoker;
  private Map<String, HandlerInvoker> methods;
  private final boolean streamsRequests;
  private final boolean runsOnThread;
  boolean stopped; // takes nothing more

  HostedReplica(
      Replica replica,
      ReplicaLoop loop,
      HandlerInvoker invoker,
      Map<String, HandlerInvoker> methods) {
    this.replica = replica;
    this.loop = loop;
    this.invoker = invoker;
    this.methods = methods;
    this.streamsRequests = invoker.streamsRequests();
    this.runsOnThread = invoker.runsOnThread();
  }

  void invoke(Request request, Invocation invocation) {
    String method = invocation.methodName();
    if (!method.isEmpty()) {
      invoke(method, request, invocation);
      return;
    }
    Objects.requireNonNull(invoker, "invoker: null (expected: not retired)")
        .invoke(request, invocation);
  }

  private void invoke(String method, Request request, Invocation invocation) {
    HandlerInvoker named = methods.get(method);
    if (named == null) {
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
    named.invoke(request, invocation);
  }

  /** Whether the handler of a method wants bodies as they arrive. */
  boolean streamsRequests(String method) {
    if (method.isEmpty()) {
      return streamsRequests;
    }
    HandlerInvoker named = methods.get(method);
    return named != null && named.streamsRequests();
  }

  /** Whether the handler of a method may block. */
  boolean runsOnThread(String method) {
    if (method.isEmpty()) {
      return runsOnThread;
    }
    HandlerInvoker named = methods.get(method);
    return named != null && named.runsOnThread();
  }

  /** Takes nothing more, and lets go of the handler, which may hold a model. */
  void retire() {
    stopped = true;
    invoker = null;
    methods = Map.of();
  }
}
