package dev.berth.dialect.mcp;

import java.util.Set;

/**
 * Rules of a route to servers of the Model Context Protocol.
 *
 * @param sessions ids of sessions
 * @param origins permitted values of {@code Origin}
 * @param resumeNanos time for which a call with event ids is read on without its client
 */
public record McpRouteRules(SessionIds sessions, Set<String> origins, long resumeNanos) {}
