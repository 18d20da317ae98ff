package dev.berth.routing.slots;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Who waits for the slots of one deployment on one instance, oldest first, shared by all event
 * loops.
 *
 * <p>Any thread adds and cancels, through two concurrent queues. The order itself is a list that
 * only the runner of {@link #pump} touches, and there is one runner at a time: a counter of work in
 * progress that goes 0 to 1 makes the caller the runner; others only raise it, and the runner goes
 * round again. So no one waits for a lock, and what the last caller settled before its pump is seen
 * by a round that starts after it.
 *
 * <p>No wake-up is lost: whoever frees a slot settles the ledger and then looks at {@link #size};
 * whoever waits raises the size, joins, and then pumps, which looks at the ledger. One of the two
 * sees the other.
 *
 * <p>Where everything is full, the slots of all replicas are looked at once and not again for each
 * request that comes, leaves, or is served by a hand-off: what a round found, that nothing is free,
 * stands until someone says that a slot may be ({@link #pump}). Whoever frees one says so if
 * someone waits; so it stands only for those who came while someone else waited.
 *
 * <p>Who waits on a blocked event loop is passed over until the loop runs again, and then has its
 * place: a slot granted to it would be held for nothing, while others wait for one.
 */
public final class WaiterQueue {

  /** Where the pump gets slots. */
  public interface Source {
    /** A slot for this waiter, or null when no replica it accepts has one. */
    @Nullable Grant grantFor(Waiting owner);
  }

  private final Source source;
  private final BlockedLoops blocked;
  private final AtomicInteger size = new AtomicInteger(); // waiters that wait
  final AtomicIntegerArray sizeByLoop; // of those that joined
  private final AtomicLong sequences = new AtomicLong();
  private final ConcurrentLinkedQueue<Waiter> arrivals = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<Waiter> departures = new ConcurrentLinkedQueue<>();
  private final AtomicInteger workInProgress = new AtomicInteger();
  private final LongAdder handOffs = new LongAdder();

  // The runner's own.
  private final Waiter ends = Waiter.ends(); // before the oldest, and behind the youngest
  private boolean nothingFree; // for whoever is linked, unless a slot is unseen

  private volatile boolean unseen; // a slot may be free that no round has looked for
  private volatile long oldestNanos; // since when the first taker waits, as of the last round

  /**
   * @param blocked loops whose waiters are passed over; whoever heals one pumps
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

  /** Whether someone waits who could take a slot now. */
  public boolean hasTakers() {
    return size.get() != 0 && (!blocked.any() || takerBeside(-1));
  }

  /** As {@link #hasTakers}, or someone waits on this loop: its newcomers do not overtake them. */
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

  /** Since when the first of those waits who are takers; meaningful while someone is. */
  long oldestNanos() {
    return oldestNanos;
  }

  /** Slots that went from a completed request to a waiter in one step. */
  public long handOffs() {
    return handOffs.sum();
  }

  /**
   * Takes a place, if fewer than {@code max} wait: one increment, then a check, so that no two
   * arrivals share the last place.
   *
   * @param max places, or -1 for no bound
   */
  public boolean tryAdmit(int max) {
    if (size.incrementAndGet() > max && max >= 0) {
      size.decrementAndGet();
      return false;
    }
    return true;
  }

  /** Gives a place back that was admitted and not used. */
  public void unadmit() {
    size.decrementAndGet();
  }

  /** The next place in the order. */
  public long nextSequence() {
    return sequences.incrementAndGet();
  }

  /** Joins, in a place that was admitted. The caller arranges afterwards, never before. */
  public Waiter join(Waiting owner, long sequence) {
    Waiter waiter = new Waiter(owner, sequence);
    sizeByLoop.incrementAndGet(owner.loopIndex());
    arrivals.add(waiter);
    return waiter;
  }

  /** Ends a wait, at the caller's wish or as its time is over; false when it had ended. */
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
   * A slot may be free: grants free slots to the oldest waiters they suit, until one or the other
   * is exhausted.
   */
  public void pump() {
    unseen = true; // before the round that it causes
    arrange();
  }

  /** Someone came or left: as {@link #pump}, if it is not known that nothing is free. */
  public void arrange() {
    if (workInProgress.getAndIncrement() == 0) {
      run();
    }
  }

  /** Whatever fails in a round, the last of them gives the pump back. */
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
      unseen = false; // what is freed from now on causes another round
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
    boolean exhausted = false; // nothing for one that takes any replica, so nothing for anyone
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
          exhausted = !waiter.owner.picky(); // a picky one blocks nobody behind it
        }
      }
      waiter = next;
    }
    nothingFree = exhausted;
  }

  /** A grant that loses to a cancel or a deadline goes back, and from there to the next. */
  private void hand(Waiter waiter, Grant grant) {
    if (waiter.end()) {
      gone(waiter);
      try {
        waiter.owner.granted(grant);
      } catch (RuntimeException rejected) { // its loop takes no more tasks: the instance stops
        grant.giveBack();
      }
    } else {
      grant.giveBack();
    }
  }

  /**
   * Hands the slot of a request that is about to complete to the oldest waiter it suits, without
   * its ever being free. Declines when someone else is pumping: then the ordinary path, complete
   * and pump, serves as well.
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
      run(); // for what others left to this runner meanwhile
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

  /** Lets go of who left, and takes in who arrived, in order. */
  private void absorb() {
    for (Waiter waiter = departures.poll(); waiter != null; waiter = departures.poll()) {
      waiter.unlink();
    }
    for (Waiter waiter = arrivals.poll(); waiter != null; waiter = arrivals.poll()) {
      if (waiter.waiting()) {
        // Before it came a slot may have been freed without a word, unless someone waited then.
        nothingFree &= firstTaker() != ends;
        link(waiter);
      }
    }
  }

  /** The first of those who are linked and have been among the takers up to now, or the ends. */
  private Waiter firstTaker() {
    Waiter waiter = ends.after;
    while (waiter != ends && (!waiter.waiting() || waiter.owner.paused())) {
      waiter = waiter.after;
    }
    return waiter;
  }

  /** Nearly always at the end; one that waits again goes back to its place. */
  private void link(Waiter waiter) {
    Waiter ahead = ends.before;
    while (ahead != ends && ahead.sequence > waiter.sequence) {
      ahead = ahead.before;
    }
    waiter.link(ahead);
  }
}
