package dev.berth.routing.slots;

import dev.berth.stream.Bound;
import dev.berth.stream.StreamLedger;

/**
 * Limits that all routers of an instance share, so that Ray Serve's unlimited defaults still have a
 * limit. Thread-safe.
 */
public final class InstanceBounds {
  private final Bound queued; // requests; berth.max_queued_total
  private final Bound queuedBytes; // bytes; berth.max_queued_bytes
  public final StreamLedger streams;

  /**
   * @param maxQueued maximum requests that wait for a slot, of all deployments; default 10 000
   * @param maxQueuedBytes maximum bytes of their bodies; default 64 MiB
   * @param maxStreamBytes maximum bytes in flight of all responses; default 64 MiB
   */
  public InstanceBounds(int maxQueued, long maxQueuedBytes, long maxStreamBytes) {
    this.queued = new Bound(maxQueued);
    this.queuedBytes = new Bound(maxQueuedBytes);
    this.streams = new StreamLedger(maxStreamBytes);
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
   * Counts a request that waits again. An admitted request cannot be refused, so this ignores the
   * limits.
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
    return queued.taken();
  }

  /** Returns the bytes of the requests waiting now. */
  public long queuedBytes() {
    return queuedBytes.taken();
  }
}
