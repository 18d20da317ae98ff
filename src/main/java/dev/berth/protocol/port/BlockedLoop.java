package dev.berth.protocol.port;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * An event loop that executes no tasks, as its watchdog last saw it.
 *
 * @param loop index within the instance
 * @param sinceMs wall time at which the watchdog submitted the task that still waits
 * @param nanos age of that task
 * @param deployment deployment of the request that the loop works for; empty when unknown
 * @param replicaId replica of that request; empty when unknown
 * @param requestId id of that request; empty when unknown
 * @param at stack of the handler that blocks the loop; empty when no handler runs and the loop only
 *     lacks processor time
 * @param lasting whether a handler has blocked the loop for {@code
 *     berth.health.blocked_loop_unready_s}
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

  /** Returns one line for logs and status. */
  public String text() {
    Instant since = Instant.ofEpochMilli(sinceMs).truncatedTo(ChronoUnit.SECONDS);
    String by = deployment.isEmpty() ? "" : " by " + deployment + ", request " + requestId;
    return at.isEmpty()
        ? "event loop " + loop + " has had no processor time since " + since
        : "event loop " + loop + " is blocked since " + since + by + ": " + at;
  }
}
