package dev.berth.routing.slots;

import dev.berth.stream.Bound;
import dev.berth.stream.StreamLedger;

/**
 * What all routers of an instance may hold together, so that Ray Serve's unbounded defaults stand
 * under bounds that always exist. Any thread.
 */
public final class InstanceBounds {
  private final Bound queued; // requests: berth.max_queued_total
  private final Bound queuedBytes; // berth.max_queued_bytes
  private final StreamLedger streams;

  /**
   * @param maxQueued requests waiting for a slot, all deployments together; default 10 000
   * @param maxQueuedBytes bytes of their bodies; default 64 MiB
   * @param maxStreamBytes bytes of answers under way, all together; default 64 MiB
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

  /** A request that was accepted before waits again: it cannot be refused, but it counts. */
  public void queueAgain(int bytes) {
    queued.take(1);
    queuedBytes.take(bytes);
  }

  public void unqueue(int bytes) {
    queued.give(1);
    queuedBytes.give(bytes);
  }

  /** Requests waiting now. */
  public long queued() {
    return queued.taken();
  }

  /** Bytes of waiting requests now. */
  public long queuedBytes() {
    return queuedBytes.taken();
  }

  /** The bytes of answers under way, which the instance's replicas and ingress count in too. */
  public StreamLedger streams() {
    return streams;
  }
}
