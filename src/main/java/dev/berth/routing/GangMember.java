package dev.berth.routing;

import dev.berth.api.RequestContext;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of one request for slots of a replica, alone or together with others.
 *
 * @param router router of its deployment
 * @param ttlNanos time to live of its lease once all slots are acquired; limited to the configured
 *     maximum
 * @param methodName handler method that a dispatch of the selection calls, or "" for the handler
 *     itself
 * @param sessionId session id of the dispatch, or ""
 * @param parent request whose cancel closes the selection
 * @param useDeadlineNanos deadline of the dispatched call on the loop's clock; {@link
 *     Long#MAX_VALUE} for no deadline
 * @param useNanos additional timeout of the dispatched call; {@link Long#MAX_VALUE} for no timeout
 * @param cost number of slots, also of the dispatched call
 */
public record GangMember(
    DeploymentRouter router,
    long ttlNanos,
    String requestId,
    String methodName,
    String sessionId,
    @Nullable RequestContext parent,
    long useDeadlineNanos,
    long useNanos,
    int cost) {
  /** Returns a member for a lease of another number of slots. */
  GangMember withCost(int slots) {
    return new GangMember(
        router,
        ttlNanos,
        requestId,
        methodName,
        sessionId,
        parent,
        useDeadlineNanos,
        useNanos,
        slots);
  }
}
