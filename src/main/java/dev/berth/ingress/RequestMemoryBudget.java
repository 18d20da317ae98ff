package dev.berth.ingress;

import dev.berth.stream.CountingLimit;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Memory budget of an instance for in-flight requests. Each loop acquires memory in larger units,
 * so that a request touches no counter of other loops. Thread-safe, except {@link LoopMemoryShare},
 * which is confined to its event loop.
 *
 * <p>A connection with several requests may hold 1/32 of the free memory, so that dozens of them
 * leave memory for others: the fuller the budget, the less each may add. Source: dynamic thresholds
 * for shared-memory switch queues (Choudhury and Hahne, 1998).
 */
final class RequestMemoryBudget {
  /** Bytes of a request without its body and headers: measured, rounded up. */
  static final int REQUEST_BYTES = 8 << 10;

  /** Bytes of one header: measured, rounded up. */
  static final int HEADER_BYTES = 256;

  /** Bytes that a loop acquires at a time. It retains at most twice as much. */
  static final int PIECE_BYTES = 64 << 10;

  private static final int SHARE_OF_REST = 32;

  private final CountingLimit bytes;
  private final List<LoopMemoryShare> shares = new CopyOnWriteArrayList<>();

  /**
   * @param limit bytes
   */
  RequestMemoryBudget(long limit) {
    this.bytes = new CountingLimit(limit);
  }

  LoopMemoryShare newShare() {
    LoopMemoryShare share = new LoopMemoryShare();
    shares.add(share);
    return share;
  }

  /** Returns the bytes that requests hold now. */
  long heldBytes() {
    return bytes.inUse() - shares.stream().mapToLong(share -> share.free.get()).sum();
  }

  /** Share of one loop. */
  final class LoopMemoryShare {
    private final AtomicLong free = new AtomicLong(); // written only by the loop

    /**
     * Acquires bytes for a request until {@link #release}. Returns whether it succeeded.
     *
     * @param own bytes of its connection, if that may have several requests; else 0
     */
    boolean tryHold(int wanted, long own) {
      long here = free.getPlain();
      if (own > 0 && own * SHARE_OF_REST > bytes.most - bytes.inUse() + here) {
        return false;
      }
      if (here < wanted) {
        long more = Math.max(PIECE_BYTES, wanted - here);
        if (!bytes.tryTake(more)) {
          more = wanted - here;
          if (!bytes.tryTake(more)) {
            return false;
          }
        }
        here += more;
      }
      free.lazySet(here - wanted);
      return true;
    }

    void release(int held) {
      long here = free.getPlain() + held;
      if (here > 2 * PIECE_BYTES) {
        bytes.give(here - PIECE_BYTES);
        here = PIECE_BYTES;
      }
      free.lazySet(here);
    }
  }
}
