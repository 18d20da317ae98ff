package dev.berth.routing;

import dev.berth.api.RequestContext;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.port.InstancePorts;
import dev.berth.protocol.port.LoopPorts;
import dev.berth.protocol.port.SendResult;
import dev.berth.routing.explain.ExplainLoop;
import dev.berth.routing.slots.InstanceBounds;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.stream.StreamLedger;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The routers' share of one event loop: what its requests wait for, and their deadlines. What is
 * confined to the loop is reached through here, which asserts it.
 */
public final class RouterLoop {
  final LoopPorts ports;
  final LoopLimits limits;
  final RouterAddress address;
  final ExplainLoop explain;
  final ReplicaRanker.Ranking ranking = new ReplicaRanker.Ranking();

  /** Named by messages whose slot is held already: never looked up, so one serves all. */
  final AttemptId heldAttempt;

  final PendingTable<PendingEntry> pending;
  final DeadlineRing ring;
  final CancelledCalls cancelled;
  final Set<AttemptId> heldAttempts = new HashSet<>();
  private final List<Runnable> blocked = new ArrayList<>();
  private final Routers routers;
  private final long incarnation;
  private final String requestIdPrefix;
  private long attempts;
  private long requestIds;
  private final StreamLedger streams;
  private final long mostFirstCredits;
  private int firstCredits; // given with requests, and not yet answered
  private final LongAdder lateAnswers = new LongAdder();
  private final LongAdder duplicates = new LongAdder();
  final LongAdder recalls = new LongAdder();

  RouterLoop(Routers routers, InstancePorts instance, int index, LoopLimits limits) {
    this.routers = routers;
    this.ports = instance.loops().get(index);
    this.limits = limits;
    this.address = new RouterAddress(instance.node(), index);
    this.incarnation = instance.incarnation();
    this.explain = new ExplainLoop(ports.nanoClock(), address, routers.explain);
    this.heldAttempt = new AttemptId(incarnation, index, 0);
    this.pending = new PendingTable<>(limits.pendingRequests(), incarnation);
    this.ring = new DeadlineRing(ports.nanoClock().getAsLong());
    this.cancelled = new CancelledCalls(this);
    this.streams = routers.bounds().streams();
    this.mostFirstCredits = streams.boundBytes() / routers.loops() / StreamLedger.FIRST_BYTES;
    this.requestIdPrefix = Long.toHexString(incarnation) + "-" + index + "-";
  }

  int index() {
    return address.loop();
  }

  /** What all loops of the instance may hold together. */
  public InstanceBounds bounds() {
    return routers.bounds();
  }

  /** Whether both are of one instance. */
  public boolean isBeside(RouterLoop other) {
    return routers == other.routers;
  }

  /** Whether values of user code may stay as they are on their way inside the instance. */
  public boolean sharesValues() {
    return ports.bus().sharesValues();
  }

  public long now() {
    return ports.nanoClock().getAsLong();
  }

  /** Whether a deadline has passed, if it is one. */
  public boolean isPast(long deadlineNanos) {
    return deadlineNanos != RingEntry.NO_DEADLINE && deadlineNanos - now() <= 0;
  }

  /** Until a deadline, rounded up, as what is not over yet is not 0; -1 when it is none. */
  long remainingMicros(long deadlineNanos) {
    return deadlineNanos == RingEntry.NO_DEADLINE ? -1 : micros(Math.max(0, deadlineNanos - now()));
  }

  /** How long a replica may take up what is sent to it now, for one with this deadline. */
  long acceptMicros(RoutedReplica to, long deadlineNanos) {
    return to.here() ? BusMessage.NO_LIMIT : acceptMicros(deadlineNanos);
  }

  /** The same of what is sent to another instance. */
  long acceptMicros(long deadlineNanos) {
    long most = micros(limits.acceptNanos());
    return deadlineNanos == RingEntry.NO_DEADLINE
        ? most
        : Math.min(most, remainingMicros(deadlineNanos));
  }

  private static long micros(long nanos) {
    return (nanos + 999) / 1_000;
  }

  /** The loop's own; no secret. */
  public RandomGenerator random() {
    return ports.random();
  }

  /** Whether the caller is on the loop. */
  public boolean isHere() {
    return ports.loop().isHere();
  }

  /** What waits for answers. */
  PendingTable<PendingEntry> pending() {
    assert isHere();
    return pending;
  }

  /** What waits for its time. */
  public DeadlineRing ring() {
    assert isHere();
    return ring;
  }

  /** The names of leases elsewhere that selections and dispatches hold. */
  Set<AttemptId> heldAttempts() {
    assert isHere();
    return heldAttempts;
  }

  /** Runs an action on the loop: at once when it is there already. */
  public void run(Runnable action) {
    ports.loop().run(action);
  }

  /** Runs an action on the loop, never on the caller's stack. */
  public void post(Runnable action) {
    ports.loop().execute(action);
  }

  /** As the other, for what a request's handler began; null for what none did. */
  public void post(@Nullable RequestContext within, Runnable action) {
    if (within == null) {
      post(action);
    } else {
      ports.loop().executeFor(within, action);
    }
  }

  /** What the message that is being taken has to say is for user code: a handler's, or null. */
  public void worksFor(@Nullable RequestContext within) {
    ports.loop().worksFor(within);
  }

  /** Whether it takes no tasks now. Any thread. */
  public boolean isBlocked() {
    return routers.blocked.contains(index());
  }

  /** Whether nothing more may wait for an answer. */
  public boolean isFull() {
    return pending.isFull();
  }

  /** What all answers of the instance hold. */
  public StreamLedger streams() {
    return streams;
  }

  /**
   * What the answer to a request may send at once if it streams; {@link #firstCreditAnswered} gives
   * it back. All that is out on all loops is no more than the bound, and no counter is shared for
   * it.
   */
  int firstCredit() {
    assert isHere();
    if (firstCredits >= mostFirstCredits || !streams.hasRoom()) {
      return 0;
    }
    firstCredits++;
    return StreamLedger.FIRST_BYTES;
  }

  void firstCreditAnswered(int bytes) {
    assert isHere();
    if (bytes > 0) {
      firstCredits--;
    }
  }

  AttemptId nextAttempt() {
    assert isHere();
    return new AttemptId(incarnation, index(), ++attempts);
  }

  /** An id for a request that came without one: unique, cheap, and no secret. */
  String nextRequestId() {
    assert isHere();
    return requestIdPrefix + Long.toHexString(++requestIds);
  }

  SendResult send(RoutedReplica to, BusMessage message) {
    return ports.bus().send(to.info.address().node(), to.busAddressFor(index()), message);
  }

  /** Called every {@link DeadlineRing#TICK_NANOS}. */
  public void tick() {
    ring().advance(now());
    if (!blocked.isEmpty()) {
      List<Runnable> again = List.copyOf(blocked);
      blocked.clear();
      again.forEach(Runnable::run);
    }
  }

  /** Runs again what the transport did not take. */
  void retryWithNextTick(Runnable again) {
    assert isHere();
    blocked.add(again);
  }

  /** A tick that misses no deadline up to now: for a clock that stands still until the next. */
  public void tickExactly() {
    ring().advanceExactly(now());
  }

  // --- answers ---

  /** Takes a message addressed to this loop. */
  public void onMessage(BusMessage message) {
    assert isHere();
    if (message instanceof BusMessage.Answer answer) {
      if (answer instanceof BusMessage.CallResponse response
          && response.length() > LoopLimits.MAX_FRAME_BYTES) {
        streams.release(response.length()); // from here on whoever has it counts it
      }
      PendingEntry asked = pending.get(answer.callId());
      if (asked == null || !asked.answered(answer)) {
        late(answer);
      }
    } else if (message instanceof BusMessage.ReplicaLoad load) {
      reported(load.target(), load.load());
    } else if (message instanceof BusMessage.SlotOffer offer) {
      routers.offered(offer, now());
    } else if (message instanceof BusMessage.AskReservation ask) {
      routers.keeper.accept(ask);
    } else {
      throw new IllegalArgumentException(
          "message: " + message.getClass().getSimpleName() + " (expected: an answer to a router)");
    }
  }

  /** A lease that no one awaits any more is released at once: the time to live is for the dead. */
  private void late(BusMessage.Answer answer) {
    if (answer instanceof BusMessage.SlotReserved reserved) {
      if (heldAttempts.contains(reserved.attempt())) {
        duplicates.increment();
        return;
      }
      release(reserved.target(), reserved.attempt());
    }
    if (!(answer instanceof BusMessage.CallAccepted)) { // its answer came first, and is no news
      lateAnswers.increment();
    }
  }

  /** Answers a router. Any thread. */
  public void answer(RouterAddress to, BusMessage.Answer given) {
    ports.bus().send(to.node(), to.busAddress(), given);
  }

  /** Ends what a replica elsewhere holds under this name, surely. Any thread. */
  void release(ReplicaAddress target, AttemptId attempt) {
    run(() -> cancelled.release(target, attempt));
  }

  /** Takes note of what a replica elsewhere says of its slots. */
  void reported(ReplicaAddress by, long load) {
    routers.reported(by, load);
  }

  void duplicateDropped() {
    duplicates.increment();
  }

  /** Answers of these replicas will not come: fails what waits for them, at once. */
  void lost(Predicate<ReplicaAddress> gone, boolean forGood) {
    pending().forEach(asked -> asked.lost(gone, forGood));
  }

  // --- what operators see ---

  /** Answers that came after their request was over. */
  public long lateAnswers() {
    return lateAnswers.sum();
  }

  /** Messages that came twice. */
  public long duplicates() {
    return duplicates.sum();
  }

  /** Calls to other instances that were asked after, as nothing was heard of them. */
  public long recalls() {
    return recalls.sum();
  }

  /**
   * Cancels and releases that are repeated until they are answered; exact on the loop, approximate
   * elsewhere.
   */
  public int cancelsRepeated() {
    return cancelled.size();
  }

  /** Cancels and releases that were sent once, as too many were repeated. */
  public long cancelsNotRepeated() {
    return cancelled.unrepeated();
  }

  /** Entries of the pending table; exact on the loop, approximate elsewhere. */
  public int pendingRequests() {
    return pending.size();
  }

  /** Deadlines scheduled; exact on the loop, approximate elsewhere. */
  public int deadlines() {
    return ring.size();
  }
}
