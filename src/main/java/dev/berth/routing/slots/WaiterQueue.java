package dev.berth.routing.slots;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * FIFO queue of the waiters for slots of one deployment on one instance, shared by all event loops.
 *
 * <p><b>State.</b> Two concurrent queues take arrivals and departures from any thread. The order
 * itself is a linked list that only the current runner of the pump touches. {@link #size} counts
 * the admitted waiters that have not ended.
 *
 * <p><b>Concurrency.</b> One runner at a time drains the queues. A counter of work in progress
 * decides: a caller that raises it from 0 to 1 becomes the runner. Other callers only raise it, and
 * the runner then makes another round. No caller waits for a lock. A round that starts after a
 * {@link #pump} call sees all state that its caller settled before the call.
 *
 * <p><b>No lost wake-up.</b> A thread that frees a slot first settles the ledger and then reads
 * {@link #size}. A thread that enqueues first raises the size, then joins, and then pumps, which
 * reads the ledger. At least one of the two sees the other.
 *
 * <p><b>Exhaustion.</b> While all slots are in use, a round does not search all replicas for each
 * arrival, departure and hand-off. The result "nothing free" of one search stays valid until {@link
 * #pump} reports a slot that may be free. A thread that frees a slot calls {@link #pump} only while
 * a taker waits. The result is therefore discarded when a waiter arrives at a queue without takers.
 *
 * <p><b>Blocked loops.</b> The pump skips waiters of a blocked event loop until the loop runs
 * again, and they retain their places. A slot granted to such a waiter would stay unused while
 * other waiters need one.
 */
public final class WaiterQueue {

  /** Source of the slots that the pump grants. */
  public interface Source {
    /** Returns a slot for a waiter, or null if no replica that it accepts has one. */
    @Nullable Grant grantFor(Waiting owner);
  }

  private final Source source;
  private final BlockedLoops blocked;
  private final AtomicInteger size = new AtomicInteger(); // admitted waiters that have not ended
  final AtomicIntegerArray sizeByLoop; // joined ones only, indexed by loop
  private final AtomicLong sequences = new AtomicLong();
  private final ConcurrentLinkedQueue<Waiter> arrivals = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<Waiter> departures = new ConcurrentLinkedQueue<>();
  private final AtomicInteger workInProgress = new AtomicInteger();
  private final LongAdder handOffs = new LongAdder();

  // Fields of the runner.
  private final Waiter ends = Waiter.ends(); // before the head and after the tail
  private boolean nothingFree; // for all linked waiters, unless unseen is set

  private volatile boolean unseen; // a slot may be free that no round has searched for
  private volatile long oldestNanos; // start of the first taker's wait, as of the last round

  /**
   * @param blocked loops whose waiters are skipped; pump after a loop recovers
   */
  public WaiterQueue(Source source, BlockedLoops blocked) {
    this.source = source;
    this.blocked = blocked;
    this.sizeByLoop = new AtomicIntegerArray(blocked.loops());
  }

  public boolean isEmpty() {
    return size.get() == 0;
  }

  public int size() {
    return size.get();
  }

  /** Returns whether a waiter exists that could use a slot now. */
  public boolean hasTakers() {
    return size.get() != 0 && (!blocked.any() || takerBeside(-1));
  }

  /**
   * Returns {@link #hasTakers}, or whether this loop has a waiter: its new requests do not
   * overtake.
   */
  public boolean hasTakersOr(int loop) {
    return size.get() != 0 && (!blocked.any() || takerBeside(loop));
  }

  private boolean takerBeside(int here) {
    for (int loop = 0; loop < sizeByLoop.length(); loop++) {
      if (sizeByLoop.get(loop) > 0 && (loop == here || !blocked.contains(loop))) {
        return true;
      }
    }
    return false;
  }

  /** Returns the time since which the first taker waits; valid only while a taker exists. */
  long oldestNanos() {
    return oldestNanos;
  }

  /** Returns the number of slots that a completion granted to a waiter in one step. */
  public long handOffs() {
    return handOffs.sum();
  }

  /**
   * Admits a waiter if fewer than {@code max} wait: one increment, then a check, so that no two
   * arrivals share the last place.
   *
   * @param max maximum waiters, or -1 for no limit
   */
  public boolean tryAdmit(int max) {
    if (size.incrementAndGet() > max && max >= 0) {
      size.decrementAndGet();
      return false;
    }
    return true;
  }

  /** Returns an admitted place that was not used. */
  public void unadmit() {
    size.decrementAndGet();
  }

  /** Returns the next position in the order. */
  public long nextSequence() {
    return sequences.incrementAndGet();
  }

  /**
   * Enqueues an admitted waiter. The caller must call {@link #arrange} afterwards, never before.
   */
  public Waiter join(Waiting owner, long sequence) {
    Waiter waiter = new Waiter(owner, sequence);
    sizeByLoop.incrementAndGet(owner.loopIndex());
    arrivals.add(waiter);
    return waiter;
  }

  /** Ends a wait on cancel or deadline; returns false if it had ended. */
  public boolean leave(Waiter waiter) {
    if (!waiter.end()) {
      return false;
    }
    gone(waiter);
    departures.add(waiter);
    arrange();
    return true;
  }

  private void gone(Waiter waiter) {
    size.decrementAndGet();
    sizeByLoop.decrementAndGet(waiter.owner.loopIndex());
    waiter.owner.left();
  }

  /**
   * Grants free slots to the oldest waiters that accept them, until either are exhausted. Call when
   * a slot may have become free.
   */
  public void pump() {
    unseen = true; // set before the round that it causes
    arrange();
  }

  /**
   * Runs a round after an arrival or departure; grants as {@link #pump} unless nothing is known to
   * be free.
   */
  public void arrange() {
    if (workInProgress.getAndIncrement() == 0) {
      run();
    }
  }

  /** Runs rounds until no work is left. A failure in a round never leaves the counter raised. */
  private void run() {
    int seen = 1;
    Throwable broken = null;
    do {
      try {
        round();
      } catch (RuntimeException | Error failed) {
        broken = failed;
        unseen = true;
      }
      seen = workInProgress.addAndGet(-seen);
    } while (seen != 0);
    if (broken instanceof Error error) {
      throw error;
    } else if (broken != null) {
      throw (RuntimeException) broken;
    }
  }

  private void round() {
    if (unseen) {
      unseen = false; // a slot freed from now on causes another round
      nothingFree = false;
    }
    absorb();
    if (!nothingFree) {
      grantAll();
    }
    Waiter first = firstTaker();
    if (first != ends) {
      oldestNanos = first.owner.sinceNanos();
    }
  }

  private void grantAll() {
    boolean exhausted = false; // no slot for a waiter that accepts any replica, so none at all
    Waiter waiter = ends.after;
    while (waiter != ends && !exhausted) {
      Waiter next = waiter.after;
      if (!waiter.waiting()) {
        waiter.unlink();
      } else if (!waiter.owner.paused()) {
        Grant grant = source.grantFor(waiter.owner);
        if (grant != null) {
          waiter.unlink();
          hand(waiter, grant);
        } else {
          exhausted = !waiter.owner.picky(); // a picky waiter blocks none behind it
        }
      }
      waiter = next;
    }
    nothingFree = exhausted;
  }

  /**
   * Delivers a grant. If a cancel or deadline won, the grant is released and goes to the next
   * waiter.
   */
  private void hand(Waiter waiter, Grant grant) {
    if (waiter.end()) {
      gone(waiter);
      try {
        waiter.owner.granted(grant);
      } catch (RuntimeException rejected) { // the loop accepts no tasks: the instance stops
        grant.giveBack();
      }
    } else {
      grant.giveBack();
    }
  }

  /**
   * Completes a request and grants its slot to the oldest waiter that accepts it, so that the slot
   * never becomes free. Declines while another thread is the runner: then the ordinary path,
   * complete and pump, serves as well.
   *
   * @return whether the completion was made
   */
  boolean handOff(RoutedReplica replica) {
    if (!hasTakers() || !workInProgress.compareAndSet(0, 1)) {
      return false;
    }
    try {
      return handOffToOldest(replica);
    } finally {
      run(); // for the work that other threads left to this runner
    }
  }

  private boolean handOffToOldest(RoutedReplica replica) {
    absorb();
    Waiter waiter = ends.after;
    while (waiter != ends && !takes(waiter, replica)) {
      waiter = waiter.after;
    }
    Grant grant = waiter == ends ? null : Pick.passOn(replica, waiter.owner);
    if (grant == null) {
      return false;
    }
    handOffs.increment();
    waiter.unlink();
    hand(waiter, grant);
    return true;
  }

  private static boolean takes(Waiter waiter, RoutedReplica replica) {
    return waiter.waiting() && !waiter.owner.paused() && waiter.owner.accepts(replica);
  }

  /** Unlinks departed waiters, and links arrived ones in order. */
  private void absorb() {
    for (Waiter waiter = departures.poll(); waiter != null; waiter = departures.poll()) {
      waiter.unlink();
    }
    for (Waiter waiter = arrivals.poll(); waiter != null; waiter = arrivals.poll()) {
      if (waiter.waiting()) {
        // Without a waiter, slots are freed without a report: before this arrival one may have
        // been.
        nothingFree &= firstTaker() != ends;
        link(waiter);
      }
    }
  }

  /** Returns the first linked waiter that can use a slot, or the sentinel. */
  private Waiter firstTaker() {
    Waiter waiter = ends.after;
    while (waiter != ends && (!waiter.waiting() || waiter.owner.paused())) {
      waiter = waiter.after;
    }
    return waiter;
  }

  /**
   * Links a waiter by its sequence: nearly always at the tail; a returning one goes to its old
   * place.
   */
  private void link(Waiter waiter) {
    Waiter ahead = ends.before;
    while (ahead != ends && ahead.sequence > waiter.sequence) {
      ahead = ahead.before;
    }
    waiter.link(ahead);
  }
}
