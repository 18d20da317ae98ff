package dev.berth.protocol.port;

import dev.berth.api.ReplicaContext;
import io.vertx.core.Context;

/** The context that the factory of a web handler receives. */
public interface VertxContext extends ReplicaContext {
  /** Returns the context of Vert.x that belongs to the replica on its event loop. */
  Context vertxContext();
}
