package dev.berth.routing.slots;

import dev.berth.protocol.StreamLedger;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What all routers of an instance may hold together, so that Ray Serve's unbounded defaults stand
 * under bounds that always exist. Each is one atomic increment-then-check. Any thread.
 */
public final class InstanceBounds {
  private final int maxQueued; // requests: berth.max_queued_total
  private final long maxQueuedBytes; // bytes: berth.max_queued_bytes
  private final StreamLedger streams;
  private final AtomicInteger queued = new AtomicInteger();
  private final AtomicLong queuedBytes = new AtomicLong();

  /**
   * @param maxQueued requests waiting for a slot, all deployments together; default 10 000
   * @param maxQueuedBytes bytes of their bodies; default 64 MiB
   * @param maxStreamBytes bytes of answers under way, all together; default 64 MiB
   */
  public InstanceBounds(int maxQueued, long maxQueuedBytes, long maxStreamBytes) {
    this.maxQueued = maxQueued;
    this.maxQueuedBytes = maxQueuedBytes;
    this.streams = new StreamLedger(maxStreamBytes);
  }

  public boolean tryQueue(int bytes) {
    if (queued.incrementAndGet() > maxQueued) {
      queued.decrementAndGet();
      return false;
    }
    if (queuedBytes.addAndGet(bytes) > maxQueuedBytes) {
      unqueue(bytes);
      return false;
    }
    return true;
  }

  /** A request that was accepted before waits again: it cannot be refused, but it counts. */
  public void queueAgain(int bytes) {
    queued.incrementAndGet();
    queuedBytes.addAndGet(bytes);
  }

  public void unqueue(int bytes) {
    queued.decrementAndGet();
    queuedBytes.addAndGet(-bytes);
  }

  /** Requests waiting now. */
  public int queued() {
    return queued.get();
  }

  /** Bytes of waiting requests now. */
  public long queuedBytes() {
    return queuedBytes.get();
  }

  /** The bytes of answers under way, which the instance's replicas and ingress count in too. */
  public StreamLedger streams() {
    return streams;
  }

  /** Bytes of answers under way now. */
  public long streamBytes() {
    return streams.bytes();
  }
}
