package dev.berth.replica;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage.SlotOffer;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Queue of remote routers that one replica refused because it was full. A freed slot goes to the
 * longest waiter. A local waiter acquires it directly; a remote router receives an offer, a short
 * lease. An offer leaves the slot idle while in flight, so a remote router must have waited longer
 * by more than that time. No waiter starves, because its waiting time grows.
 *
 * <p>A router whose request needs more slots than are free keeps its place, and younger waiters get
 * them, local ones too. After {@code max_overtake_ms} they get none until the slots for its offer
 * are free.
 *
 * <p>A router that uses its offer is enqueued again, a router that returns its offer is not. The
 * routers' retries with backoff are then only the safety net.
 *
 * <p><b>Concurrency.</b> Thread-safe. With an empty queue a freed slot costs only a look at it. The
 * number of routers is limited; a router beyond the limit is counted but not registered.
 */
final class RemoteWaiters implements SlotObserver {
  /** Router index in the attempts made by replicas, which no router has. */
  static final int OFFERING = -1;

  /**
   * Minimum lead in nanoseconds of a remote router's waiting time over a local waiter's: the round
   * trip of an offer.
   */
  static final long OFFER_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** A router that is queued or holds an offer. */
  private static final class RemoteWaiter {
    final RouterAddress router;
    final AtomicBoolean inLine = new AtomicBoolean();
    volatile ReplicaAddress target; // the replica's address as that router knows it
    volatile long sinceNanos; // known start of its oldest wait
    volatile int cost = 1; // slots of the request that waits since then
    volatile long overtakenNanos = NOBODY; // since when it has been overtaken
    volatile long offeredSequence = -1; // of the last offered token

    RemoteWaiter(RouterAddress router, ReplicaAddress target) {
      this.router = router;
      this.target = target;
    }
  }

  private final ConcurrentHashMap<RouterAddress, RemoteWaiter> known = new ConcurrentHashMap<>();
  private final ConcurrentLinkedQueue<RemoteWaiter> line = new ConcurrentLinkedQueue<>();
  private final AtomicLong offers = new AtomicLong();
  final LongAdder forgotten = new LongAdder(); // routers beyond the limit
  private volatile SlotObserver own = SlotObserver.NONE;
  private final BusSender sender;
  private final LongSupplier nanoClock;
  private final long epoch;
  private final int bound; // maximum of routers
  private final long ttlNanos;

  /**
   * @param nanoClock nano clock of the instance
   * @param epoch incarnation of the replica, which identifies the attempts made here
   */
  RemoteWaiters(BusSender sender, LongSupplier nanoClock, long epoch, ReplicaLimits limits) {
    this.sender = sender;
    this.nanoClock = nanoClock;
    this.epoch = epoch;
    this.bound = limits.refusedRouters();
    this.ttlNanos = limits.offerTtlNanos();
  }

  /** Sets the local observer, which is this instance's router of the deployment. */
  void own(SlotObserver observer) {
    own = observer;
  }

  /**
   * Registers a router that was refused because the replica is full. Call after its refusal was
   * sent.
   *
   * @param cost slots of the refused request
   * @param waitedMicros waiting time of the refused request
   */
  void note(Slots slots, RouterAddress router, ReplicaAddress target, int cost, long waitedMicros) {
    RemoteWaiter noted = known.get(router);
    if (noted == null) {
      if (known.size() >= bound && !makeRoom()) {
        forgotten.increment();
        return;
      }
      noted = known.computeIfAbsent(router, any -> new RemoteWaiter(router, target));
    }
    noted.target = target;
    putInLine(noted, cost, waitedMicros);
    // A slot freed between the refusal and this registration notified no waiter: check again.
    if (isFree(slots)) {
      onSlotFreed(slots);
    }
  }

  /**
   * Enqueues a router. A queued router keeps its start of waiting, whichever of its requests was
   * refused now.
   */
  private void putInLine(RemoteWaiter noted, int cost, long waitedMicros) {
    if (!noted.inLine.get()) {
      noted.cost = cost;
      noted.overtakenNanos = NOBODY;
      noted.sinceNanos = nanoClock.getAsLong() - TimeUnit.MICROSECONDS.toNanos(waitedMicros);
      putInLine(noted);
    }
  }

  private void putInLine(RemoteWaiter noted) {
    if (noted.inLine.compareAndSet(false, true)) {
      line.add(noted);
    }
  }

  private boolean makeRoom() {
    for (RemoteWaiter noted : known.values()) {
      if (!noted.inLine.get() && known.remove(noted.router, noted)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public boolean completing(Slots slots, int done) {
    if (line.isEmpty()) {
      return own.completing(slots, done);
    }
    // An ordinary completion calls freed(), which offers the slot.
    return !isTheirs(oldest(Integer.MAX_VALUE)) && own.completing(slots, done);
  }

  /**
   * Returns whether a remote router has waited longer than the local waiter by the minimum lead.
   */
  private boolean isTheirs(@Nullable RemoteWaiter remote) {
    long here = own.waitingSince();
    return remote != null && (here == NOBODY || here - remote.sinceNanos > OFFER_NANOS);
  }

  /** Returns the router that waits longest for at most {@code free} slots; null for none. */
  private @Nullable RemoteWaiter oldest(int free) {
    RemoteWaiter oldest = null;
    for (RemoteWaiter each : line) {
      if (each.cost <= free && (oldest == null || each.sinceNanos - oldest.sinceNanos < 0)) {
        oldest = each;
      }
    }
    return oldest;
  }

  @Override
  public void onSlotFreed(Slots slots) {
    if (line.isEmpty()) {
      own.onSlotFreed(slots);
      return;
    }
    boolean paused = pauses(slots);
    while (isFree(slots) && isTheirs(oldest(free(slots))) && offerOne(slots)) {
      paused = pauses(slots);
    }
    if (paused) {
      return;
    }
    own.onSlotFreed(slots);
    while (isFree(slots) && offerOne(slots)) {
      // No local waiter could acquire it.
    }
  }

  /** Keeps the free slots for the first router if it has been overtaken for long. */
  private boolean pauses(Slots slots) {
    RemoteWaiter first = oldest(slots.maxOngoing());
    boolean waits = first != null && first.cost > Math.max(1, free(slots)) && isTheirs(first);
    boolean kept = false;
    if (waits) {
      long now = nanoClock.getAsLong();
      if (first.overtakenNanos == NOBODY) {
        first.overtakenNanos = now;
      }
      kept = now - first.overtakenNanos >= own.maxOvertakeNanos();
    }
    slots.keepForRemote(kept);
    return kept;
  }

  private static int free(Slots slots) {
    return slots.maxOngoing() - slots.ongoing();
  }

  @Override
  public void overtaking() {
    own.overtaking();
  }

  private static boolean isFree(Slots slots) {
    return !slots.draining() && free(slots) > 0;
  }

  /**
   * Reserves a slot for the first queued router that is reachable. Returns false when no offer was
   * sent.
   */
  private boolean offerOne(Slots slots) {
    for (RemoteWaiter noted = next(free(slots)); noted != null; noted = next(free(slots))) {
      AttemptId attempt = new AttemptId(epoch, OFFERING, offers.incrementAndGet());
      Slots.ReserveResult reservation = slots.reserve(attempt, noted.cost, ttlNanos);
      if (reservation instanceof Slots.ReserveResult.ReserveRefused refused) {
        if (refused.reason() == Refusal.FULL) {
          putInLine(noted); // another thread was faster: the router keeps its place
        }
        return false;
      }
      SlotLease lease = ((Slots.ReserveResult.ReserveGranted) reservation).lease();
      noted.offeredSequence = lease.token().sequence();
      SlotOffer offer =
          new SlotOffer(
              noted.target,
              attempt,
              lease.token(),
              TimeUnit.NANOSECONDS.toMicros(ttlNanos), // the slot is free after that
              slots.load(),
              noted.cost);
      if (sender.send(noted.router.node(), noted.router.busAddress(), offer).isSent()) {
        return true;
      }
      known.remove(noted.router, noted);
      lease.release(); // calls freed(), which continues with the next router
    }
    return false;
  }

  private @Nullable RemoteWaiter next(int free) {
    for (RemoteWaiter noted = oldest(free); noted != null; noted = oldest(free)) {
      if (line.remove(noted)) { // else another thread was faster
        noted.inLine.set(false);
        return noted;
      }
    }
    return null;
  }

  /**
   * Handles a request that acquired a slot by a token. If the token was an offer, its router is
   * enqueued again, as it may have another request with about the same waiting time.
   */
  void used(RouterAddress router, long tokenSequence, int cost, long waitedMicros) {
    RemoteWaiter noted = known.get(router);
    if (noted != null && noted.offeredSequence == tokenSequence) {
      putInLine(noted, cost, waitedMicros);
    }
  }

  /** Removes the routers of an instance that left. */
  void nodeLeft(String node, Slots slots) {
    known.values().removeIf(noted -> noted.router.node().equals(node));
    if (line.removeIf(noted -> noted.router.node().equals(node))) {
      pauses(slots);
      onSlotFreed(slots); // those kept for it are free
    }
  }

  /** Removes all routers: no slot will be offered again. */
  void clear() {
    while (next(Integer.MAX_VALUE) != null) {
      // next() dequeues each.
    }
    known.clear();
  }

  /** Returns the number of queued routers. */
  int waiting() {
    return line.size();
  }
}
