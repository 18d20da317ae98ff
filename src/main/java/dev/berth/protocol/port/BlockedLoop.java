package dev.berth.protocol.port;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * An event loop that takes no tasks, as its watch last saw it.
 *
 * @param loop index within the instance
 * @param sinceMs wall time of the task that it has not taken
 * @param nanos age of that task
 * @param deployment of the request that it works for; empty when unknown
 * @param replicaId likewise
 * @param requestId likewise
 * @param at the handler that blocks it, as a stack; empty when it runs none and only lacks
 *     processor time
 * @param lasting whether a handler has blocked it for {@code berth.health.blocked_loop_unready_s}
 */
public record BlockedLoop(
    int loop,
    long sinceMs,
    long nanos,
    String deployment,
    String replicaId,
    String requestId,
    String at,
    boolean lasting) {

  /** One line for people. */
  public String text() {
    Instant since = Instant.ofEpochMilli(sinceMs).truncatedTo(ChronoUnit.SECONDS);
    String by = deployment.isEmpty() ? "" : " by " + deployment + ", request " + requestId;
    return at.isEmpty()
        ? "event loop " + loop + " has had no processor time since " + since
        : "event loop " + loop + " is blocked since " + since + by + ": " + at;
  }
}
