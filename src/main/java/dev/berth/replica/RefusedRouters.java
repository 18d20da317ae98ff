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
 * Routers on other instances that found one replica full. A freed slot goes to whoever has waited
 * longest: who waits here, or one of them, as a short lease it is offered; but an offer idles the
 * slot for as long as it is on its way, so a router has to be older by more than that. Nobody
 * starves, as who waits grows older. A router that uses its offer stays noted, one that gives it
 * back does not: the routers' retries with backoff are then only the safety net.
 *
 * <p>Any thread of the instance may call. With nobody noted a freed slot costs a look at an empty
 * queue. Bounded: a router beyond the bound is not noted, and counted.
 */
final class RefusedRouters implements SlotObserver {
  /** The router index in attempts that replicas make: no router has it. */
  static final int OFFERING = -1;

  /** By how much longer a router must have waited than who waits here: an offer's round trip. */
  static final long OFFER_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** One router, in the line or holding an offer. */
  private static final class Noted {
    final RouterAddress router;
    final AtomicBoolean inLine = new AtomicBoolean();
    volatile ReplicaAddress target; // as that router reaches the replica
    volatile long sinceNanos; // its oldest waits, as far as it is known
    volatile long offeredSequence = -1; // of the token last offered

    Noted(RouterAddress router, ReplicaAddress target) {
      this.router = router;
      this.target = target;
    }
  }

  private final ConcurrentHashMap<RouterAddress, Noted> known = new ConcurrentHashMap<>();
  private final ConcurrentLinkedQueue<Noted> line = new ConcurrentLinkedQueue<>();
  private final AtomicLong offers = new AtomicLong();
  final LongAdder forgotten = new LongAdder(); // routers that were not noted, for the bound
  private volatile SlotObserver own = SlotObserver.NONE;
  private final BusSender sender;
  private final LongSupplier nanoClock;
  private final long epoch;
  private final int bound; // routers
  private final long ttlNanos;

  /**
   * @param nanoClock the instance's
   * @param epoch the replica's incarnation, which names the attempts made here
   */
  RefusedRouters(BusSender sender, LongSupplier nanoClock, long epoch, ReplicaLimits limits) {
    this.sender = sender;
    this.nanoClock = nanoClock;
    this.epoch = epoch;
    this.bound = limits.refusedRouters();
    this.ttlNanos = limits.offerTtlNanos();
  }

  /** Sets this instance's router of the deployment, in place of the one before. */
  void own(SlotObserver observer) {
    own = observer;
  }

  /**
   * A router was refused because the slots were taken. Call after its refusal was sent.
   *
   * @param waitedMicros of who was refused
   */
  void note(Slots slots, RouterAddress router, ReplicaAddress target, long waitedMicros) {
    Noted noted = known.get(router);
    if (noted == null) {
      if (known.size() >= bound && !makeRoom()) {
        forgotten.increment();
        return;
      }
      noted = known.computeIfAbsent(router, any -> new Noted(router, target));
    }
    noted.target = target;
    putInLine(noted, waitedMicros);
    // A slot freed between the refusal and the note told nobody: look again, as a waiter does.
    if (isFree(slots)) {
      freed(slots);
    }
  }

  /** One that stands there has been waiting since it was put there, whoever it asks for now. */
  private void putInLine(Noted noted, long waitedMicros) {
    if (!noted.inLine.get()) {
      noted.sinceNanos = nanoClock.getAsLong() - TimeUnit.MICROSECONDS.toNanos(waitedMicros);
      putInLine(noted);
    }
  }

  private void putInLine(Noted noted) {
    if (noted.inLine.compareAndSet(false, true)) {
      line.add(noted);
    }
  }

  private boolean makeRoom() {
    for (Noted noted : known.values()) {
      if (!noted.inLine.get() && known.remove(noted.router, noted)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public boolean completing(Slots slots) {
    if (line.isEmpty()) {
      return own.completing(slots);
    }
    // Completed in the ordinary way, the slot reaches freed(), which offers it.
    return !isTheirs() && own.completing(slots);
  }

  /** Whether one of them has waited for longer than who waits here, and long enough. */
  private boolean isTheirs() {
    Noted oldest = oldest();
    long here = own.waitingSince();
    return oldest != null && (here == NOBODY || here - oldest.sinceNanos > OFFER_NANOS);
  }

  private @Nullable Noted oldest() {
    Noted oldest = null;
    for (Noted each : line) {
      if (oldest == null || each.sinceNanos - oldest.sinceNanos < 0) {
        oldest = each;
      }
    }
    return oldest;
  }

  @Override
  public void freed(Slots slots) {
    if (line.isEmpty()) {
      own.freed(slots);
      return;
    }
    while (isFree(slots) && isTheirs() && offerOne(slots)) {
      // The next one's.
    }
    own.freed(slots);
    while (isFree(slots) && offerOne(slots)) {
      // Nobody here could take it.
    }
  }

  private static boolean isFree(Slots slots) {
    return !slots.draining() && slots.ongoing() < slots.maxOngoing();
  }

  /** Holds a slot for the first in the line that can be reached; false when nobody got one. */
  private boolean offerOne(Slots slots) {
    for (Noted noted = next(); noted != null; noted = next()) {
      AttemptId attempt = new AttemptId(epoch, OFFERING, offers.incrementAndGet());
      Slots.Reservation reservation = slots.reserve(attempt, ttlNanos);
      if (reservation instanceof Slots.Reservation.Refused refused) {
        if (refused.reason() == Refusal.FULL) {
          putInLine(noted); // someone was faster: it keeps its place
        }
        return false;
      }
      SlotLease lease = ((Slots.Reservation.Granted) reservation).lease();
      noted.offeredSequence = lease.token().sequence();
      SlotOffer offer =
          new SlotOffer(
              noted.target,
              attempt,
              lease.token(),
              TimeUnit.NANOSECONDS.toMicros(ttlNanos), // then its slot is another's
              slots.load());
      if (sender.send(noted.router.node(), noted.router.busAddress(), offer).isSent()) {
        return true;
      }
      known.remove(noted.router, noted);
      lease.release(); // tells freed() again, which goes on with the next
    }
    return false;
  }

  private @Nullable Noted next() {
    for (Noted noted = oldest(); noted != null; noted = oldest()) {
      if (line.remove(noted)) { // else another thread was faster
        noted.inLine.set(false);
        return noted;
      }
    }
    return null;
  }

  /**
   * A request from this router took a slot by this token: if it was an offer, it may want more, for
   * one that has waited about as long.
   */
  void used(RouterAddress router, long tokenSequence, long waitedMicros) {
    Noted noted = known.get(router);
    if (noted != null && noted.offeredSequence == tokenSequence) {
      putInLine(noted, waitedMicros);
    }
  }

  /** The instance has left, and its routers with it. */
  void nodeLeft(String node) {
    known.values().removeIf(noted -> noted.router.node().equals(node));
    line.removeIf(noted -> noted.router.node().equals(node));
  }

  /** Nothing will be offered any more. */
  void clear() {
    while (next() != null) {
      // Each is out of the line.
    }
    known.clear();
  }

  /** Routers in the line. */
  int waiting() {
    return line.size();
  }
}
