package dev.berth.replica;

import dev.berth.api.Request;
import dev.berth.metrics.ProcessingMeters;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A replica's part on one event loop: how its handler there is called. Belongs to that loop. */
final class HostedReplica {
  final Replica replica;
  final ReplicaLoop loop;
  final ProcessingMeters meters = new ProcessingMeters();
  private @Nullable HandlerInvoker invoker;
  boolean stopped; // takes nothing more

  HostedReplica(Replica replica, ReplicaLoop loop, HandlerInvoker invoker) {
    this.replica = replica;
    this.loop = loop;
    this.invoker = invoker;
  }

  void invoke(Request request, Invocation invocation) {
    Objects.requireNonNull(invoker, "invoker: null (expected: not retired)")
        .invoke(request, invocation);
  }

  /** Takes nothing more, and lets go of the handler, which may hold a model. */
  void retire() {
    stopped = true;
    invoker = null;
  }
}
