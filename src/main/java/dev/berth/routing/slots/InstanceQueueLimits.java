package dev.berth.routing.slots;

import dev.berth.stream.CountingLimit;
import dev.berth.stream.StreamMemoryBudget;

/**
 * Limits that all routers of an instance share. They apply even to deployments without a limit of
 * their own, which is Ray Serve's default. Thread-safe.
 */
public final class InstanceQueueLimits {
  private final CountingLimit queued; // requests; berth.limits.max_queued_total
  private final CountingLimit queuedBytes; // bytes; berth.limits.max_queued_bytes
  public final StreamMemoryBudget streams;

  /**
   * @param maxQueued maximum requests of all deployments that wait for a slot; default 10 000
   * @param maxQueuedBytes maximum bytes of the bodies of these requests
   * @param maxStreamBytes maximum bytes in flight of all responses
   */
  public InstanceQueueLimits(int maxQueued, long maxQueuedBytes, long maxStreamBytes) {
    this.queued = new CountingLimit(maxQueued);
    this.queuedBytes = new CountingLimit(maxQueuedBytes);
    this.streams = new StreamMemoryBudget(maxStreamBytes);
  }

  public boolean tryQueue(int bytes) {
    if (!queued.tryTake(1)) {
      return false;
    }
    boolean fits = queuedBytes.tryTake(bytes);
    if (!fits) {
      queued.give(1);
    }
    return fits;
  }

  /**
   * Counts a request that waits again. The router cannot refuse an admitted request, so this method
   * ignores the limits.
   */
  public void queueAgain(int bytes) {
    queued.take(1);
    queuedBytes.take(bytes);
  }

  public void unqueue(int bytes) {
    queued.give(1);
    queuedBytes.give(bytes);
  }

  /** Returns the number of requests waiting now. */
  public long queued() {
    return queued.inUse();
  }

  /** Returns the bytes of the requests waiting now. */
  public long queuedBytes() {
    return queuedBytes.inUse();
  }
}
