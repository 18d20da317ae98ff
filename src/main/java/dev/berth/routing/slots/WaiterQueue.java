package dev.berth.routing.slots;

import dev.berth.protocol.BatchGroup;
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
 * arrival, departure and hand-off. The result of one search, "no replica has n free slots", stays
 * valid for n and more until {@link #pump} reports a slot that may be free. A thread that frees a
 * slot calls {@link #pump} only while a taker waits. The round therefore discards the result when a
 * waiter arrives at a queue without takers.
 *
 * <p><b>Large waiters.</b> A waiter that needs more slots than any replica has free stays at its
 * place, and younger waiters that need fewer are granted past it. Once the oldest such waiter has
 * been overtaken for the source's maximum time, one replica is set aside for it: waiters behind it
 * get no slot there, and remote routers neither, until it is granted or leaves.
 *
 * <p><b>Blocked loops.</b> The pump skips the waiters of a blocked event loop until the loop runs
 * again, and these waiters keep their places. A slot granted to such a waiter would stay unused
 * while other waiters need a slot.
 */
public final class WaiterQueue {

  private static final int NONE = Integer.MAX_VALUE;
  private static final long NEVER = Waiter.NEVER;

  final GrantSource source;
  private final BatchForming forming; // used by the runner
  private final RoutingExclusions blocked;
  private final AtomicInteger size = new AtomicInteger(); // admitted waiters that have not ended
  final AtomicIntegerArray sizeByLoop; // waiters that joined, indexed by loop
  private final AtomicLong sequences = new AtomicLong();
  private final ConcurrentLinkedQueue<Waiter> arrivals = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<Waiter> departures = new ConcurrentLinkedQueue<>();
  private final AtomicInteger workInProgress = new AtomicInteger();
  private final LongAdder handOffs = new LongAdder();

  // Fields that only the runner uses.
  final Waiter ends = Waiter.ends(); // before the head and after the tail
  private final Set<String> full = new HashSet<>(); // limits without room in this round
  private int unfit = NONE; // no replica has as many free slots; valid unless unseen is set
  private boolean news; // a waiter arrived that needs fewer
  private boolean exhausted; // a waiter of one slot that accepts every replica got none
  private boolean unusable; // offers may be left for a waiter of several slots that has left
  @Nullable Waiter keeper; // has the replica set aside
  @Nullable RoutedReplica kept;

  final AtomicInteger moreSlots = new AtomicInteger(); // needed beside one per waiter
  private volatile boolean overtaken; // a remote router took slots while a waiter waited
  private volatile boolean unseen; // a slot may be free that no round has searched for
  private volatile long oldestNanos; // since when the first taker waits, as of the last round

  /**
   * @param blocked loops whose waiters the pump skips; call {@link #pump} after a loop recovers
   * @param forming forms the batches of waiters with a {@link WaiterOwner#batchKey}
   */
  public WaiterQueue(GrantSource source, RoutingExclusions blocked, BatchForming forming) {
    this.source = source;
    this.forming = forming;
    this.blocked = blocked;
    this.sizeByLoop = new AtomicIntegerArray(blocked.loops());
  }

  public boolean isEmpty() {
    return size.get() == 0;
  }

  public int size() {
    return size.get();
  }

  /** Returns the number of slots that the waiters need. */
  public int slotsNeeded() {
    return size.get() + moreSlots.get();
  }

  long maxOvertakeNanos() {
    return source.maxOvertakeNanos();
  }

  /** Records that a remote router took slots while a waiter waited. Any thread. */
  void overtaken() {
    if (moreSlots.get() > 0) {
      overtaken = true;
    }
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
    if (waiter.cost > 1) {
      moreSlots.addAndGet(waiter.cost - 1);
    }
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
    if (waiter.cost > 1) {
      moreSlots.addAndGet(1 - waiter.cost);
    }
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
      unfit = NONE;
      forming.forgetStuck();
    }
    absorb();
    if (unfit == NONE || news) {
      grantAll();
    }
    if (unusable && moreSlots.get() == 0) {
      unusable = false;
      source.declineOffers();
    }
    Waiter first = firstTaker();
    if (first != ends) {
      oldestNanos = first.owner.sinceNanos();
    }
  }

  private void grantAll() {
    boolean passedOver = false; // a waiter got none
    boolean offered = moreSlots.get() > 0 && source.isOffered(2, NONE);
    exhausted = false;
    RoutedReplica closed = null; // set aside for a waiter ahead
    Waiter large = null; // of several slots, passed over for the first time
    news = false;
    forming.begin(this);
    Waiter waiter = ends.after;
    while (waiter != ends && !forming.isSettled() && (!exhausted || offered)) {
      Waiter ahead = waiter.before; // stays, whichever waiters behind it leave
      if (!waiter.waiting()) {
        unlink(waiter);
      } else if (waiter.owner.paused()) {
        ahead = waiter;
      } else if (grant(waiter, closed, offered)) {
        overtake(large);
        large = null;
      } else {
        ahead = waiter;
        passedOver = true;
        if (waiter.cost > 1 && closed == null && isOverdue(waiter)) {
          RoutedReplica holds = source.replicaFor(waiter.owner, kept);
          if (holds != null || waiter == keeper) { // none can hold it any longer
            closed = keep(waiter, holds);
          }
        } else if (waiter.cost > 1 && large == null && waiter.overtakenNanos == NEVER) {
          large = waiter;
        }
      }
      waiter = ahead.after;
    }
    full.clear();
    boolean all = waiter == ends;
    if (closed == null && all) {
      keep(null, null);
    }
    if (passedOver && (all || forming.isSettled()) && !unseen) {
      source.declineOffers();
    }
    forming.end(all);
  }

  /** Grants a waiter its slots, or a batch that begins with it. Returns whether one left. */
  private boolean grant(Waiter waiter, @Nullable RoutedReplica closed, boolean offered) {
    if (waiter.batchKey != null && forming.forms()) {
      return forming.form(this, waiter, closed);
    }
    WaiterOwner owner = waiter.owner;
    boolean isFull =
        !owner.picky()
            && (waiter.cost >= unfit || !full.isEmpty() && full.contains(owner.limit()))
            && !(offered && waiter.cost > 1 && source.isOffered(waiter.cost, waiter.cost));
    Grant grant = isFull ? null : source.grantFor(owner, closed);
    if (grant != null) {
      give(waiter, grant);
      return true;
    }
    if (!owner.picky() && !source.waitersMayLeave()) {
      // Without a limit, no waiter behind gets as many slots either.
      String limit = owner.limit();
      boolean anyLimit = !source.isLimited(limit);
      exhausted |= anyLimit && waiter.cost == 1;
      if (!anyLimit || !limit.isEmpty()) { // a later slot may be without room for the limit
        if (waiter.cost == 1) {
          full.add(limit);
        }
      } else if (!isFull) {
        int beyond = waiter.cost == 1 ? 1 : Math.max(1, source.mostFree() + 1);
        unfit = Math.min(unfit, Math.min(waiter.cost, beyond));
      }
    }
    return false;
  }

  /** Returns whether younger waiters or remote routers have overtaken a waiter for long enough. */
  private boolean isOverdue(Waiter large) {
    if (overtaken) {
      overtaken = false;
      overtake(large);
    }
    return isLate(large);
  }

  /** Records that a younger waiter got slots past a waiter of several; no effect for null. */
  void overtake(@Nullable Waiter large) {
    if (large != null && large.overtakenNanos == NEVER) {
      large.overtakenNanos = source.now();
    }
  }

  /** Returns whether a waiter has been overtaken for long enough. */
  boolean isLate(Waiter large) {
    return large.overtakenNanos != NEVER
        && source.now() - large.overtakenNanos >= source.maxOvertakeNanos();
  }

  /** Ends the wait of a linked waiter with a grant. Called by the runner. */
  void give(Waiter waiter, Grant grant) {
    unlink(waiter);
    hand(waiter, grant);
  }

  /** Seats waiters in a batch that a replica opened; no effect while another thread is runner. */
  void fill(RoutedReplica replica, BatchGroup group) {
    if (!workInProgress.compareAndSet(0, 1)) {
      return;
    }
    try {
      absorb();
      if (replica != kept) {
        forming.fill(this, replica, group);
      }
    } finally {
      run(); // for the work that other threads left to this runner
    }
  }

  private void unlink(Waiter waiter) {
    if (waiter.isLinked()) {
      forming.onUnlinked(waiter);
    }
    waiter.unlink();
    unusable |= waiter.cost > 1;
    if (waiter == keeper) {
      keep(null, null);
    }
  }

  private @Nullable RoutedReplica keep(@Nullable Waiter by, @Nullable RoutedReplica replica) {
    if (kept != replica) {
      if (kept != null) {
        kept.keep(false);
        pump(); // its slots are free for others
      }
      if (replica != null) {
        replica.keep(true);
      }
      kept = replica;
    }
    keeper = replica == null ? null : by;
    return replica;
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
   * @param done slots of the request
   * @return whether this method completed the request
   */
  boolean handOff(RoutedReplica replica, int done) {
    if (!hasTakers() || !workInProgress.compareAndSet(0, 1)) {
      return false;
    }
    try {
      return handOffToOldest(replica, done);
    } finally {
      run(); // for the work that other threads left to this runner
    }
  }

  private boolean handOffToOldest(RoutedReplica replica, int done) {
    absorb();
    Waiter waiter = forming.isAlone() ? ends : ends.after;
    Waiter large = null; // joins a batch, and is passed
    while (waiter != ends && !waiter.takesSlotsOf(replica)) {
      large = large == null && waiter.cost > 1 ? waiter : large;
      waiter = isLate(waiter) ? ends : waiter.after;
    }
    Grant grant = waiter == ends ? null : Pick.passOn(replica, done, waiter.owner);
    if (grant == null) {
      return false;
    }
    if (waiter.cost < done) {
      unseen = true;
    }
    handOffs.increment();
    overtake(large);
    unlink(waiter);
    hand(waiter, grant);
    return true;
  }

  /** Unlinks departed waiters, and links arrived ones in order. */
  private void absorb() {
    for (Waiter waiter = departures.poll(); waiter != null; waiter = departures.poll()) {
      unlink(waiter);
    }
    for (Waiter waiter = arrivals.poll(); waiter != null; waiter = arrivals.poll()) {
      if (waiter.waiting()) {
        // Without a taker, threads free slots without a call of pump. A slot may have become free
        // before this arrival.
        boolean ahead = keeper != null && waiter.sequence < keeper.sequence;
        if (ahead || firstTaker() == ends) { // one ahead of the keeper may take its slots
          unfit = NONE;
          forming.forgetStuck();
        }
        news |= waiter.cost < unfit;
        waiter.linkInOrder(ends);
        forming.onLinked(waiter);
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
}
