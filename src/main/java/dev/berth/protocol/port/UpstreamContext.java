package dev.berth.protocol.port;

import dev.berth.api.ReplicaContext;

/** The context that the factory of an upstream's handler receives; user code does not see it. */
public interface UpstreamContext extends ReplicaContext {
  /** Returns the key of the upstream that the replica represents. */
  String upstream();

  /** Returns whether the replica runs its requests in batches. */
  boolean batches();

  /** Returns the gate of the replica's slots. */
  UpstreamGate gate();

  /** Returns the dependencies of the replica's event loop. */
  LoopDependencies ports();
}
