package dev.berth.ingress;

import dev.berth.stream.CountingLimit;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ObjLongConsumer;

/**
 * Memory budget of an instance for whole responses larger than one message. A response counts from
 * before its handler runs, at the size that {@link ResponseSizeEstimator} expects, until its client
 * has received it.
 *
 * <p>A request whose expected response exceeds the limit waits for at most {@link #WAIT_NANOS}. In
 * this time, stalled clients are detected and their responses evicted. Requests for small responses
 * and streams never wait. Thread-safe, except {@link ResponseMemoryQueue}, which is confined to its
 * event loop.
 */
final class ResponseMemoryBudget {
  /** Maximum wait in nanoseconds: twice the time after which a client counts as stalled. */
  static final long WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);

  final CountingLimit bytes; // including expected responses
  final AtomicLong wanted = new AtomicLong(); // bytes of waiting requests

  /**
   * @param limit bytes
   */
  ResponseMemoryBudget(long limit) {
    this.bytes = new CountingLimit(limit);
  }

  /**
   * Acquires bytes. The limit is twice as high for responses of unknown size, since they are
   * usually small.
   */
  private boolean tryTake(long more, boolean known) {
    return bytes.tryTake(more, known ? bytes.most : 2 * bytes.most);
  }

  /** Returns the bytes that must be released until no request waits, or 0. */
  long needed() {
    return Math.max(0, bytes.inUse() - bytes.most) + wanted.get();
  }

  /**
   * FIFO queue of the waiting requests of one loop.
   *
   * @param <R> a request
   */
  final class ResponseMemoryQueue<R> {
    /** A queued request. */
    private record ResponseMemoryWaiter(
        ResponseSizeEstimator sizes, String path, long bytes, long since) {
      boolean isKnown() {
        return sizes.knows(path);
      }
    }

    private final Map<R, ResponseMemoryWaiter> queue = new LinkedHashMap<>();

    /**
     * Acquires the expected bytes of a response before its handler runs. Returns these bytes, or a
     * negative number if the request was enqueued.
     */
    long take(R request, ResponseSizeEstimator sizes, String path, long now) {
      long bytes = expected(sizes, path);
      boolean known = sizes.knows(path);
      if (bytes == 0 || ((queue.isEmpty() || !known) && tryTake(bytes, known))) {
        return bytes;
      }
      queue.put(request, new ResponseMemoryWaiter(sizes, path, bytes, now));
      wanted.addAndGet(bytes);
      return -1;
    }

    /** Removes a request from the queue, if it is queued. */
    void forget(R request) {
      ResponseMemoryWaiter gone = queue.remove(request);
      if (gone != null) {
        wanted.addAndGet(-gone.bytes);
      }
    }

    private long expected(ResponseSizeEstimator sizes, String path) {
      return Math.min(
          // else a large response would wait for all others to end
          sizes.expected(path), bytes.most / 2);
    }

    /**
     * Starts waiting requests as far as the budget allows. After {@link #WAIT_NANOS}, refuses a
     * request of known response size, and starts one of unknown size with 0 bytes.
     *
     * @param starter receives the bytes acquired for a request; negative if the request is refused
     */
    void look(long now, ObjLongConsumer<R> starter) {
      while (!queue.isEmpty()) {
        Map.Entry<R, ResponseMemoryWaiter> next = queue.entrySet().iterator().next();
        ResponseMemoryWaiter first = next.getValue();
        long bytes = expected(first.sizes, first.path);
        if (bytes > 0 && !tryTake(bytes, first.isKnown())) {
          if (now - first.since < WAIT_NANOS) {
            return;
          }
          bytes = first.isKnown() ? -1 : 0;
        }
        R request = next.getKey();
        forget(request);
        starter.accept(request, bytes);
      }
    }

    boolean isEmpty() {
      return queue.isEmpty();
    }
  }
}
