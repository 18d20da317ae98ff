package dev.berth.routing.slots;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * FIFO queue of the waiters for slots of one deployment on one instance. All event loops share it.
 * The pump is the code that grants free slots to the oldest waiters. A taker is a waiter whose
 * event loop is not blocked.
 *
 * <p><b>State.</b> Two concurrent queues take arrivals and departures from any thread. A linked
 * list contains the waiters in order, and only the runner uses this list: the thread that runs the
 * pump now. {@link #size} counts the admitted waiters that have not ended.
 *
 * <p><b>Concurrency.</b> One runner at a time drains the queues. A counter of work in progress
 * selects the runner: the caller that raises the counter from 0 to 1. Other callers only raise the
 * counter, and the runner then makes another round. No caller waits for a lock. A round that starts
 * after a call of {@link #pump} sees all state that the caller wrote before the call.
 *
 * <p><b>No lost wake-up.</b> A thread that frees a slot first updates the ledger and then reads
 * {@link #size}. A thread that enqueues a waiter first raises the size, then adds the waiter, and
 * then runs the pump, which reads the ledger. At least one of the two threads sees the change of
 * the other.
 *
 * <p><b>Exhaustion.</b> While all slots are in use, a round does not search all replicas for each
 * arrival, departure and hand-off. The result "nothing free" of one search stays valid until {@link
 * #pump} reports a slot that may be free. A thread that frees a slot calls {@link #pump} only while
 * a taker waits. The round therefore discards the result when a waiter arrives at a queue without
 * takers.
 *
 * <p><b>Blocked loops.</b> The pump skips the waiters of a blocked event loop until the loop runs
 * again, and these waiters keep their places. A slot granted to such a waiter would stay unused
 * while other waiters need a slot.
 */
public final class WaiterQueue {

  /** Source of the slots that the pump grants. */
  public interface GrantSource {
    /** Returns a slot for a waiter, or null if no replica that the waiter accepts is free. */
    @Nullable Grant grantFor(WaiterOwner owner);

    /** Returns whether a replica has a known limit of this name. */
    default boolean isLimited(String limit) {
      return false;
    }

    /** Returns whether waiters may leave the queue although no slot is free. */
    default boolean waitersMayLeave() {
      return false;
    }

    /** Declines the offered slots: each waiter was looked at, and none accepts them. */
    default void declineOffers() {}
  }

  private final GrantSource source;
  private final RoutingExclusions blocked;
  private final AtomicInteger size = new AtomicInteger(); // admitted waiters that have not ended
  final AtomicIntegerArray sizeByLoop; // waiters that joined, indexed by loop
  private final AtomicLong sequences = new AtomicLong();
  private final ConcurrentLinkedQueue<Waiter> arrivals = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<Waiter> departures = new ConcurrentLinkedQueue<>();
  private final AtomicInteger workInProgress = new AtomicInteger();
  private final LongAdder handOffs = new LongAdder();

  // Fields that only the runner uses.
  private final Waiter ends = Waiter.ends(); // before the head and after the tail
  private final Set<String> full = new HashSet<>(); // limits without room in this round
  private boolean nothingFree; // the last search found no slot; valid unless unseen is set

  private volatile boolean unseen; // a slot may be free that no round has searched for
  private volatile long oldestNanos; // since when the first taker waits, as of the last round

  /**
   * @param blocked loops whose waiters the pump skips; call {@link #pump} after a loop recovers
   */
  public WaiterQueue(GrantSource source, RoutingExclusions blocked) {
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
   * Returns whether a taker exists, or a waiter of this loop. A new request of the loop must not
   * overtake them.
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

  /** Returns how often a completion granted its slot to a waiter in one step. */
  public long handOffs() {
    return handOffs.sum();
  }

  /**
   * Admits a waiter if fewer than {@code max} wait. The method increments the size and then checks
   * it, so that two arrivals cannot both get the last place.
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

  /** Gives back the place of an admitted waiter that did not join. */
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
  public Waiter join(WaiterOwner owner, long sequence) {
    Waiter waiter = new Waiter(owner, sequence);
    sizeByLoop.incrementAndGet(owner.loopIndex());
    arrivals.add(waiter);
    return waiter;
  }

  /** Ends a wait after a cancel or a deadline; returns false if the wait had ended before. */
  public boolean leave(Waiter waiter) {
    if (!waiter.end()) {
      return false;
    }
    onWaitEnded(waiter);
    departures.add(waiter);
    arrange();
    return true;
  }

  private void onWaitEnded(Waiter waiter) {
    size.decrementAndGet();
    sizeByLoop.decrementAndGet(waiter.owner.loopIndex());
    waiter.owner.onLeftQueue();
  }

  /**
   * Grants free slots to the oldest waiters that accept them, until no such slot or no waiter is
   * left. Call when a slot may have become free.
   */
  public void pump() {
    unseen = true; // set before the round that it causes
    arrange();
  }

  /**
   * Runs a round after an arrival or departure. The round grants slots as {@link #pump} does, but
   * not after a search that found no free slot.
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
        full.clear();
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
    boolean exhausted = false; // a waiter that accepts every replica got no slot
    boolean nothing = false; // and no slot is free for any other
    boolean passedOver = false; // a waiter that accepts only some replicas got none
    Waiter waiter = ends.after;
    while (waiter != ends && !exhausted) {
      Waiter next = waiter.after;
      if (!waiter.waiting()) {
        waiter.unlink();
      } else if (!waiter.owner.paused()) {
        Grant grant = isFull(waiter.owner) ? null : source.grantFor(waiter.owner);
        if (grant != null) {
          waiter.unlink();
          hand(waiter, grant);
        } else {
          if (!waiter.owner.picky() && !source.waitersMayLeave()) {
            // Without a limit, no waiter behind gets a slot either.
            String limit = waiter.owner.limit();
            exhausted = !source.isLimited(limit);
            nothing = exhausted && limit.isEmpty(); // a later slot may be without room for it
            full.add(limit);
          }
          passedOver = true;
        }
      }
      waiter = next;
    }
    full.clear();
    nothingFree = nothing;
    if (passedOver && !exhausted && !unseen) {
      source.declineOffers();
    }
  }

  /** Returns whether a waiter with the same limit, which accepts every replica, got nothing. */
  private boolean isFull(WaiterOwner owner) {
    return !full.isEmpty() && !owner.picky() && full.contains(owner.limit());
  }

  /**
   * Delivers a grant. If a cancel or deadline ended the wait before, releases the grant, and the
   * slot goes to the next waiter.
   */
  private void hand(Waiter waiter, Grant grant) {
    if (waiter.end()) {
      onWaitEnded(waiter);
      try {
        waiter.owner.onGranted(grant);
      } catch (RuntimeException rejected) { // the loop accepts no tasks: the instance stops
        grant.giveBack(waiter.owner);
      }
    } else {
      grant.giveBack(waiter.owner);
    }
  }

  /**
   * Completes a request and grants its slot to the oldest waiter that accepts it, so that the slot
   * never becomes free. Does nothing while another thread is the runner; the caller then completes
   * the request and calls {@link #pump}.
   *
   * @return whether this method completed the request
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
    return waiter.waiting()
        && !waiter.owner.paused()
        && waiter.owner.accepts(replica)
        && replica.limits.hasRoom(waiter.owner.limit());
  }

  /** Unlinks departed waiters, and links arrived ones in order. */
  private void absorb() {
    for (Waiter waiter = departures.poll(); waiter != null; waiter = departures.poll()) {
      waiter.unlink();
    }
    for (Waiter waiter = arrivals.poll(); waiter != null; waiter = arrivals.poll()) {
      if (waiter.waiting()) {
        // Without a taker, threads free slots without a call of pump. A slot may have become free
        // before this arrival.
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
   * Links a waiter at the place of its sequence. This is nearly always the tail; a request that
   * waits again goes to its old place.
   */
  private void link(Waiter waiter) {
    Waiter ahead = ends.before;
    while (ahead != ends && ahead.sequence > waiter.sequence) {
      ahead = ahead.before;
    }
    waiter.link(ahead);
  }
}
