package dev.berth.ingress;

import dev.berth.stream.Bound;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the requests under way of an instance take of its heap, and how much of it they may. Each
 * loop takes room in pieces, so that a request touches no counter of other loops. Any thread; a
 * {@link Share} is its loop's.
 *
 * <p>A connection with several requests may hold 1/32 of what is left, so that some dozens of them
 * leave room for others: the more is taken, the fewer each may add. Source: the dynamic thresholds
 * of Choudhury and Hahne, 1998, for queues of a switch that share its memory.
 */
final class RequestRoom {
  /** A request without its body, bytes: what was measured, rounded up. */
  static final int REQUEST_BYTES = 8 << 10;

  /** Each of its headers, bytes, likewise. */
  static final int HEADER_BYTES = 256;

  /** What a loop takes at a time, bytes, and keeps at most twice. */
  static final int PIECE_BYTES = 64 << 10;

  private static final int SHARE_OF_REST = 32;

  private final Bound bytes;
  private final List<Share> shares = new CopyOnWriteArrayList<>();

  /**
   * @param limit bytes
   */
  RequestRoom(long limit) {
    this.bytes = new Bound(limit);
  }

  Share newShare() {
    Share share = new Share();
    shares.add(share);
    return share;
  }

  /** Bytes that requests hold now. */
  long held() {
    return bytes.taken() - shares.stream().mapToLong(share -> share.free.get()).sum();
  }

  /** What one loop has taken. */
  final class Share {
    private final AtomicLong free = new AtomicLong(); // written by the loop alone

    /**
     * Whether a request may have so many bytes; if so they are its until {@link #release}.
     *
     * @param own what its connection holds, if it may have others; else 0
     */
    boolean tryHold(int wanted, long own) {
      long here = free.getPlain();
      if (own > 0 && own * SHARE_OF_REST > bytes.most() - bytes.taken() + here) {
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
