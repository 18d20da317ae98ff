package dev.berth.replica;

import dev.berth.protocol.port.BareHandle;
import java.util.function.Function;

/**
 * An event loop that will serve a replica. A replica that is spread has one seat per loop.
 *
 * @param loop where its handler runs
 * @param handles makes the handles the handler calls other deployments with, bound to that loop, by
 *     deployment name; throws {@link IllegalArgumentException} for an unknown one
 */
public record ReplicaSeat(ReplicaLoop loop, Function<String, BareHandle> handles) {}
