package dev.berth.replica;

import dev.berth.api.ReplicaHandler;

/** A replica's part on one event loop: its handler object there. Belongs to that loop. */
final class HostedReplica {
  final Replica replica;
  final ReplicaLoop loop;
  final ReplicaHandler handler;
  final HandlerInvoker invoker;
  boolean stopped; // takes nothing more; stays in the table until its slots have come back

  HostedReplica(Replica replica, ReplicaLoop loop, ReplicaHandler handler, HandlerInvoker invoker) {
    this.replica = replica;
    this.loop = loop;
    this.handler = handler;
    this.invoker = invoker;
  }
}
