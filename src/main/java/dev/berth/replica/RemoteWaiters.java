package dev.berth.replica;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.SlotOffer;
import dev.berth.protocol.BusMessage.ToReplica;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.SlotDemand;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import java.util.ArrayList;
import java.util.List;
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
 * them, local ones too. Once the oldest request has waited for {@code max_overtake_ms}, they get
 * none until the slots for its offer are free.
 *
 * <p>A router that uses its offer is enqueued again, a router that returns its offer is not. The
 * routers' retries with backoff are then only the safety net.
 *
 * <p>A request for a batch names the number of requests behind it. Its router is enqueued without a
 * refusal, and one offer holds the slots of as many of them as one batch takes.
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
    final RouterAddress key; // in the table of known routers
    volatile RouterAddress router; // sender of its last request
    final AtomicBoolean inLine = new AtomicBoolean();
    volatile ReplicaAddress target; // the replica's address as that router knows it
    volatile long sinceNanos; // known start of its oldest wait
    volatile int cost = 1; // slots of the request that waits since then
    volatile int wanted = 1; // requests that wait, as far as known
    volatile String batchKey = ""; // of its last request
    volatile String offeredKey = ""; // batch key at the last offer
    volatile List<SlotToken> offered = List.of(); // at the last offer

    RemoteWaiter(RouterAddress key, RouterAddress router, ReplicaAddress target) {
      this.key = key;
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
  private final @Nullable BatchRunner batches; // null when requests run alone

  /**
   * @param nanoClock nano clock of the instance
   * @param epoch incarnation of the replica, which identifies the attempts made here
   */
  RemoteWaiters(
      BusSender sender,
      LongSupplier nanoClock,
      long epoch,
      ReplicaLimits limits,
      @Nullable BatchRunner batches) {
    this.batches = batches;
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
   */
  void note(Slots slots, ToReplica refused, int cost) {
    RemoteWaiter noted = find(refused.source(), refused.target());
    if (noted == null) {
      return;
    }
    if (refused instanceof CallRequest call) {
      putInLine(noted, call, 1 + SlotDemand.behind(call.demand()));
    } else {
      noted.wanted = 1; // a choice
      putInLine(noted, cost, 0);
    }
    // A slot freed between the refusal and this registration notified no waiter: check again.
    if (isFree(slots)) {
      onSlotFreed(slots);
    }
  }

  /** Returns a registered router, which it registers before; null beyond the limit. */
  private @Nullable RemoteWaiter find(RouterAddress router, ReplicaAddress target) {
    RouterAddress key = keyOf(router);
    RemoteWaiter noted = known.get(key);
    if (noted == null) {
      if (known.size() >= bound && !makeRoom()) {
        forgotten.increment();
        return null;
      }
      noted = known.computeIfAbsent(key, any -> new RemoteWaiter(key, router, target));
    }
    noted.target = target;
    noted.router = router;
    return noted;
  }

  /**
   * Returns the key of a router. The routers of an instance share one queue, so that a request of
   * one loop may use the offer that another loop received.
   */
  private static RouterAddress keyOf(RouterAddress router) {
    return new RouterAddress(router.node(), 0);
  }

  /** Enqueues a router for a request, and records the number of requests that wait. */
  private void putInLine(RemoteWaiter noted, CallRequest request, int wanted) {
    noted.router = request.source(); // not the one of a loop that is blocked
    noted.wanted = wanted;
    if (batches != null) {
      noted.batchKey = batches.rules().keyOf(request.methodName(), request.request().headers());
    }
    putInLine(noted, request.cost(), request.waitedMicros());
  }

  /**
   * Enqueues a router. A queued router keeps its start of waiting, whichever of its requests was
   * refused now.
   */
  private void putInLine(RemoteWaiter noted, int cost, long waitedMicros) {
    if (!noted.inLine.get()) {
      noted.cost = cost;
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
      if (!noted.inLine.get() && known.remove(noted.key, noted)) {
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
  public void onBatchOpen(BatchGroup group) {
    own.onBatchOpen(group);
  }

  /** Lets local waiters join the batch of a remote request that has arrived. */
  void onLoose(Slots slots) {
    own.onSlotFreed(slots);
  }

  @Override
  public void onSlotFreed(Slots slots) {
    if (line.isEmpty()) {
      own.onSlotFreed(slots);
      return;
    }
    removeTooLarge(slots.maxOngoing());
    while (!pauses(slots) && isFree(slots) && isTheirs(oldest(free(slots))) && offerOne(slots, 0)) {
      // Offers the next free slots.
    }
    if (pauses(slots)) {
      return;
    }
    own.onSlotFreed(slots);
    boolean isFull = batches != null && batches.table.isFull();
    int kept = isFull ? own.slotsNeeded() : 0; // they wait for the end of a batch
    while (isFree(slots) && offerOne(slots, kept)) {
      // No local waiter could acquire it.
    }
  }

  /** Removes the routers whose requests a lowered maximum excludes; a closed replica may reopen. */
  private void removeTooLarge(int max) {
    for (RemoteWaiter each : line) {
      if (max > 0 && each.cost > max && line.remove(each)) {
        each.inLine.set(false);
      }
    }
  }

  /** Keeps the free slots for the oldest request if they are too few and it has waited for long. */
  private boolean pauses(Slots slots) {
    RemoteWaiter first = oldest(slots.maxOngoing());
    boolean kept =
        first != null
            && first.cost > Math.max(1, free(slots))
            && isTheirs(first)
            && nanoClock.getAsLong() - first.sinceNanos >= own.maxOvertakeNanos();
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
   * Reserves a slot for the first queued router that is reachable, or slots for a batch of its
   * requests. Returns false when no offer was sent.
   *
   * @param kept free slots to leave
   */
  private boolean offerOne(Slots slots, int kept) {
    int free = free(slots) - kept;
    for (RemoteWaiter noted = next(free); noted != null; noted = next(free(slots) - kept)) {
      int batch = batches == null ? 1 : Math.min(batches.rules().maxSize(), SlotDemand.MAX_LEASES);
      int cost = noted.cost; // another thread may register a request meanwhile
      int room = (free(slots) - kept) / cost;
      int most = Math.max(1, Math.min(Math.min(noted.wanted, batch), room));
      long number = offers.incrementAndGet() * SlotDemand.MAX_LEASES;
      AttemptId first = new AttemptId(epoch, OFFERING, number);
      List<SlotLease> leases = new ArrayList<>(most);
      Slots.ReserveResult last = slots.reserve(first, cost, ttlNanos);
      while (last instanceof Slots.ReserveResult.ReserveGranted granted) {
        leases.add(granted.lease());
        if (leases.size() == most) {
          break;
        }
        last = slots.reserve(first.plus(leases.size()), cost, ttlNanos);
      }
      if (leases.isEmpty()) {
        if (((Slots.ReserveResult.ReserveRefused) last).reason() == Refusal.FULL) {
          putInLine(noted); // another thread was faster: the router keeps its place
        }
        return false;
      }
      if (offer(noted, first, leases, cost, slots.load())) {
        return true;
      }
      known.remove(noted.key, noted);
      leases.forEach(SlotLease::release); // calls freed(), which continues with the next router
    }
    return false;
  }

  private boolean offer(
      RemoteWaiter noted, AttemptId first, List<SlotLease> leases, int cost, long load) {
    List<SlotToken> tokens = leases.stream().map(SlotLease::token).toList();
    noted.offered = tokens;
    noted.offeredKey = noted.batchKey;
    expect(noted, leases.size()); // before they can arrive
    SlotOffer offer =
        new SlotOffer(
            noted.target,
            first,
            tokens,
            TimeUnit.NANOSECONDS.toMicros(ttlNanos), // the slots are free after that
            load,
            cost);
    boolean isSent = sender.send(noted.router.node(), noted.router.busAddress(), offer).isSent();
    if (!isSent) {
      expect(noted, -leases.size());
    }
    return isSent;
  }

  private void expect(@Nullable RemoteWaiter noted, int requests) {
    if (batches != null && noted != null) {
      batches.table.expect(noted.offeredKey, requests);
    }
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
   * Handles a request that acquired a slot. If its token was an offer, its router is enqueued
   * again, as it may have another request with about the same waiting time. A router of requests
   * for batches is enqueued if others are behind the request.
   */
  void onGranted(CallRequest request, @Nullable SlotToken token) {
    int behind = SlotDemand.behind(request.demand());
    RemoteWaiter noted =
        behind > 0 ? find(request.source(), request.target()) : known.get(keyOf(request.source()));
    if (noted != null && (behind > 0 || token != null && noted.offered.contains(token))) {
      putInLine(noted, request, Math.max(1, behind));
    }
  }

  /** Handles a slot that a router declined: none of its requests could use it. */
  void onDeclined(RouterAddress router) {
    expect(known.get(keyOf(router)), -1);
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
