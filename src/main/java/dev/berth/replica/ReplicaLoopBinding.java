package dev.berth.replica;

import dev.berth.protocol.port.HandleFactory;
import java.util.function.Function;

/**
 * An event loop that will serve a replica. A spread replica has one seat per loop.
 *
 * @param loop the loop of the seat's handler
 * @param handles creates the handles by which the handler calls other deployments, bound to that
 *     loop, by deployment name; throws {@link IllegalArgumentException} for an unknown one
 */
public record ReplicaLoopBinding(ReplicaLoop loop, Function<String, HandleFactory> handles) {}
