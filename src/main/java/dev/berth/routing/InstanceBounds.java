package dev.berth.routing;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What all routers of an instance may hold together, so that Ray Serve's unbounded defaults stand
 * under bounds that always exist. Each is one atomic increment-then-check. Any thread.
 */
public final class InstanceBounds {
  private final int maxQueued; // requests: berth.max_queued_total
  private final long maxQueuedBytes; // bytes: berth.max_queued_bytes
  private final long maxStreamBytes; // bytes: berth.stream_bytes_total
  private final AtomicInteger queued = new AtomicInteger();
  private final AtomicLong queuedBytes = new AtomicLong();
  private final AtomicLong streamBytes = new AtomicLong();

  /**
   * @param maxQueued requests waiting for a slot, all deployments together; default 10 000
   * @param maxQueuedBytes bytes of their bodies; default 64 MiB
   * @param maxStreamBytes bytes of streamed responses in flight, all streams together; default 64
   *     MiB
   */
  public InstanceBounds(int maxQueued, long maxQueuedBytes, long maxStreamBytes) {
    this.maxQueued = maxQueued;
    this.maxQueuedBytes = maxQueuedBytes;
    this.maxStreamBytes = maxStreamBytes;
  }

  /** Bounds of the documented defaults. */
  public static InstanceBounds defaults() {
    return new InstanceBounds(10_000, 64L << 20, 64L << 20);
  }

  boolean tryQueue(int bytes) {
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
  void queueAgain(int bytes) {
    queued.incrementAndGet();
    queuedBytes.addAndGet(bytes);
  }

  void unqueue(int bytes) {
    queued.decrementAndGet();
    queuedBytes.addAndGet(-bytes);
  }

  boolean tryStream(int bytes) {
    if (streamBytes.addAndGet(bytes) > maxStreamBytes) {
      streamBytes.addAndGet(-bytes);
      return false;
    }
    return true;
  }

  void streamEnded(int bytes) {
    streamBytes.addAndGet(-bytes);
  }

  /** Whether a new stream should get a whole window, or one frame. */
  boolean hasStreamRoom(int bytes) {
    return streamBytes.get() + bytes <= maxStreamBytes;
  }

  /** Requests waiting now. */
  public int queued() {
    return queued.get();
  }

  /** Bytes of waiting requests now. */
  public long queuedBytes() {
    return queuedBytes.get();
  }

  /** The bound on {@link #streamBytes}. */
  long maxStreamBytes() {
    return maxStreamBytes;
  }

  /** Bytes of streamed responses that may be in flight now. */
  public long streamBytes() {
    return streamBytes.get();
  }
}
