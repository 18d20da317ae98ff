package dev.berth.ingress;

import dev.berth.stream.Bound;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ObjLongConsumer;

/**
 * What the whole answers of an instance that are larger than a message take of its heap, or will as
 * far as {@link AnswerSizes} can tell, from before their handlers run until clients have them. A
 * request for one beyond the limit waits, at most for {@link #WAIT_NANOS}, in which those who stand
 * still are found and cut; one for a small answer or a stream never does. Any thread; a {@link
 * Queue} is its loop's.
 */
final class AnswerRoom {
  /** Twice what a client may stand still for when others wait. */
  static final long WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);

  final Bound bytes; // those expected included
  private final AtomicLong wanted = new AtomicLong(); // by those that wait

  /**
   * @param limit bytes
   */
  AnswerRoom(long limit) {
    this.bytes = new Bound(limit);
  }

  /** As much again is there for those of which nothing is known: most of them will be small. */
  private boolean tryTake(long more, boolean known) {
    return bytes.tryTake(more, known ? bytes.most() : 2 * bytes.most());
  }

  /** Bytes that must be given back for nobody to wait, or 0. */
  long needed() {
    return Math.max(0, bytes.taken() - bytes.most()) + wanted.get();
  }

  /** Bytes that those who wait will take. */
  long waiting() {
    return wanted.get();
  }

  /**
   * The requests of one loop that wait, first in first out.
   *
   * @param <R> a request
   */
  final class Queue<R> {
    /** One of them. */
    private record Waiting(AnswerSizes sizes, String path, long bytes, long since) {
      boolean isKnown() {
        return sizes.knows(path);
      }
    }

    private final Map<R, Waiting> queue = new LinkedHashMap<>();

    /** What is taken for a request before its handler runs; negative when it waits from now on. */
    long take(R request, AnswerSizes sizes, String path, long now) {
      long bytes = expected(sizes, path);
      boolean known = sizes.knows(path);
      if (bytes == 0 || ((queue.isEmpty() || !known) && tryTake(bytes, known))) {
        return bytes;
      }
      queue.put(request, new Waiting(sizes, path, bytes, now));
      wanted.addAndGet(bytes);
      return -1;
    }

    /** It waits no longer; nothing when it did not. */
    void forget(R request) {
      Waiting gone = queue.remove(request);
      if (gone != null) {
        wanted.addAndGet(-gone.bytes);
      }
    }

    private long expected(AnswerSizes sizes, String path) {
      return Math.min(
          sizes.expected(path), bytes.most() / 2); // or it would wait for all others to go
    }

    /**
     * Starts those for which there is room by now, and refuses those that have waited for too long:
     * if so much is known of them that they are, else they are let go.
     *
     * @param starter is told the bytes that a request has from now on; negative when it is refused
     */
    void look(long now, ObjLongConsumer<R> starter) {
      while (!queue.isEmpty()) {
        Map.Entry<R, Waiting> next = queue.entrySet().iterator().next();
        Waiting first = next.getValue();
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
