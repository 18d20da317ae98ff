package dev.berth.routing;

import dev.berth.api.RequestContext;
import org.jspecify.annotations.Nullable;

/**
 * One of several slots that are wanted together.
 *
 * @param router of its deployment
 * @param ttlNanos how long its lease lasts once all are there; cut to the configured maximum
 * @param methodName what a dispatch of the selection calls, or "" for the handler itself
 * @param sessionId who the dispatch is for, or ""
 * @param parent what takes the selection with it when cancelled
 * @param useDeadlineNanos by when the dispatch must be over, on the loop's clock; {@link
 *     Long#MAX_VALUE} for no deadline
 * @param useNanos what the dispatch may take beside that; {@link Long#MAX_VALUE} for no bound
 */
public record Leg(
    DeploymentRouter router,
    long ttlNanos,
    String requestId,
    String methodName,
    String sessionId,
    @Nullable RequestContext parent,
    long useDeadlineNanos,
    long useNanos) {}
