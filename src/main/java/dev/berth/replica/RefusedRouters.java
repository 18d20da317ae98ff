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
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Routers on other instances that found one replica full. A freed slot goes in turn to this
 * instance's own queue and to one of them, as a short lease it is offered; so neither side starves
 * the other. A router that uses its offer stays noted, one that gives it back does not: the
 * routers' retries with backoff are then only the safety net.
 *
 * <p>Any thread of the instance may call. With nobody noted a freed slot costs one volatile read.
 * Bounded: a router beyond the bound is not noted, and counted.
 */
final class RefusedRouters implements SlotObserver {
  /** The router index in attempts that replicas make: no router has it. */
  static final int OFFERING = -1;

  /** One router, in the line or holding an offer. */
  private static final class Noted {
    final RouterAddress router;
    final AtomicBoolean inLine = new AtomicBoolean();
    volatile ReplicaAddress target; // as that router reaches the replica
    volatile long offeredSequence = -1; // of the token last offered

    Noted(RouterAddress router, ReplicaAddress target) {
      this.router = router;
      this.target = target;
    }
  }

  private final ConcurrentHashMap<RouterAddress, Noted> known = new ConcurrentHashMap<>();
  private final ConcurrentLinkedDeque<Noted> line = new ConcurrentLinkedDeque<>();
  private final AtomicInteger waiting = new AtomicInteger(); // in the line
  private final AtomicLong offers = new AtomicLong();
  final LongAdder forgotten = new LongAdder(); // routers that were not noted, for the bound
  private volatile boolean theirTurn = true;

  private volatile SlotObserver own = SlotObserver.NONE;
  private final BusSender sender;
  private final long epoch;
  private final int bound; // routers
  private final long ttlNanos;

  /**
   * @param epoch the replica's incarnation, which names the attempts made here
   */
  RefusedRouters(BusSender sender, long epoch, ReplicaLimits limits) {
    this.sender = sender;
    this.epoch = epoch;
    this.bound = limits.refusedRouters();
    this.ttlNanos = limits.offerTtlNanos();
  }

  /** Sets this instance's router of the deployment, in place of the one before. */
  void own(SlotObserver observer) {
    own = observer;
  }

  /** A router was refused because the slots were taken. Call after its refusal was sent. */
  void note(Slots slots, RouterAddress router, ReplicaAddress target) {
    Noted noted = known.get(router);
    if (noted == null) {
      if (known.size() >= bound && !makeRoom()) {
        forgotten.increment();
        return;
      }
      noted = known.computeIfAbsent(router, any -> new Noted(router, target));
    }
    noted.target = target;
    putInLine(noted, true);
    // A slot freed between the refusal and the note told nobody: look again, as a waiter does.
    if (isFree(slots)) {
      freed(slots);
    }
  }

  private void putInLine(Noted noted, boolean last) {
    if (noted.inLine.compareAndSet(false, true)) {
      if (last) {
        line.addLast(noted);
      } else {
        line.addFirst(noted);
      }
      waiting.incrementAndGet();
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
    if (waiting.get() == 0) {
      return own.completing(slots);
    }
    if (theirTurn) {
      return false; // completed in the ordinary way, the slot reaches freed(), which offers it
    }
    boolean taken = own.completing(slots);
    theirTurn = taken;
    return taken;
  }

  @Override
  public void freed(Slots slots) {
    if (waiting.get() == 0) {
      own.freed(slots);
      return;
    }
    boolean theirsFirst = theirTurn;
    if (theirsFirst && offerOne(slots)) {
      theirTurn = false;
    }
    own.freed(slots);
    if (!theirsFirst && !isFree(slots)) {
      theirTurn = true; // ours took it
      return;
    }
    while (isFree(slots) && offerOne(slots)) {
      theirTurn = false;
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
          putInLine(noted, false); // someone was faster: it keeps its place
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
              TimeUnit.NANOSECONDS.toMillis(ttlNanos),
              TimeUnit.NANOSECONDS.toMicros(ttlNanos), // then its slot is another's
              slots.load());
      if (sender.send(noted.router.node(), noted.router.busAddress(), offer)) {
        return true;
      }
      known.remove(noted.router, noted);
      lease.release(); // tells freed() again, which goes on with the next
    }
    return false;
  }

  private @Nullable Noted next() {
    Noted noted = line.pollFirst();
    if (noted != null) {
      waiting.decrementAndGet();
      noted.inLine.set(false);
    }
    return noted;
  }

  /** A request from this router took a slot by this token: if it was an offer, it may want more. */
  void used(RouterAddress router, long tokenSequence) {
    Noted noted = known.get(router);
    if (noted != null && noted.offeredSequence == tokenSequence) {
      putInLine(noted, true);
    }
  }

  /** The instance has left, and its routers with it. */
  void nodeLeft(String node) {
    known.values().removeIf(noted -> noted.router.node().equals(node));
    for (Noted noted : line) {
      if (noted.router.node().equals(node) && line.remove(noted)) {
        waiting.decrementAndGet();
      }
    }
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
    return waiting.get();
  }
}
