package dev.berth.routing;

import dev.berth.api.RequestContext;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.port.TickTimer;
import dev.berth.routing.explain.ExplainLoop;
import dev.berth.routing.slots.InstanceQueueLimits;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.stream.StreamMemoryBudget;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The routing state of one event loop: operations that await replies, and their deadlines. The
 * methods that return confined state assert that they run on the loop.
 */
public final class RouterLoop {
  final LoopDependencies ports;
  final LoopLimits limits;
  final RouterAddress address;
  final ExplainLoop explain;
  final ReplicaRanker.Ranking ranking = new ReplicaRanker.Ranking();

  /**
   * Attempt id of messages whose slot is held already. It is never looked up, so one serves all.
   */
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
  public final StreamMemoryBudget streams;
  private final long mostFirstCredits;
  private int firstCredits; // granted with requests that have no reply yet

  /** Replies that arrived after their request had ended. */
  public final LongAdder lateAnswers = new LongAdder();

  /** Duplicate messages. */
  public final LongAdder duplicates = new LongAdder();

  /** Recalls sent for calls to other instances without a reply. */
  public final LongAdder recalls = new LongAdder();

  RouterLoop(Routers routers, InstanceDependencies instance, int index, LoopLimits limits) {
    this.routers = routers;
    this.ports = instance.loops().get(index);
    this.limits = limits;
    this.address = new RouterAddress(instance.node(), index);
    this.incarnation = instance.incarnation();
    this.explain = new ExplainLoop(ports.nanoClock(), address, routers.explain);
    this.heldAttempt = new AttemptId(incarnation, index, 0);
    this.pending = new PendingTable<>(limits.pendingRequests(), incarnation);
    this.ring = new DeadlineRing(ports.nanoClock().getAsLong(), ports.ticks().deadlines);
    this.cancelled = new CancelledCalls(this);
    this.streams = routers.bounds.streams;
    this.mostFirstCredits = streams.boundBytes() / routers.loops() / StreamMemoryBudget.FIRST_BYTES;
    this.requestIdPrefix = Long.toHexString(incarnation) + "-" + index + "-";
  }

  int index() {
    return address.loop();
  }

  /** Returns the limits that all loops of the instance share. */
  public InstanceQueueLimits bounds() {
    return routers.bounds;
  }

  /** Returns whether both loops belong to one instance. */
  public boolean isBeside(RouterLoop other) {
    return routers == other.routers;
  }

  /** Returns whether values of user code pass between loops of the instance without conversion. */
  public boolean sharesValues() {
    return ports.bus().sharesValues();
  }

  public long now() {
    return ports.nanoClock().getAsLong();
  }

  /** Returns whether a deadline exists and has passed. */
  public boolean isPast(long deadlineNanos) {
    return deadlineNanos != RingEntry.NO_DEADLINE && deadlineNanos - now() <= 0;
  }

  /**
   * Returns microseconds to a deadline, rounded up so that only a passed one gives 0; -1 for none.
   */
  long remainingMicros(long deadlineNanos) {
    return deadlineNanos == RingEntry.NO_DEADLINE ? -1 : micros(Math.max(0, deadlineNanos - now()));
  }

  /**
   * Returns the accept time, in microseconds, of a message to a replica from a request with this
   * deadline.
   */
  long acceptMicros(RoutedReplica to, long deadlineNanos) {
    return to.here() ? BusMessage.NO_LIMIT : acceptMicros(deadlineNanos);
  }

  /** Returns the accept time, in microseconds, of a message to another instance. */
  long acceptMicros(long deadlineNanos) {
    long most = micros(limits.acceptNanos());
    return deadlineNanos == RingEntry.NO_DEADLINE
        ? most
        : Math.min(most, remainingMicros(deadlineNanos));
  }

  private static long micros(long nanos) {
    return (nanos + 999) / 1_000;
  }

  /** Returns the loop's random generator; not for secrets. */
  public RandomGenerator random() {
    return ports.random();
  }

  /** Returns whether the caller runs on the loop. */
  public boolean isHere() {
    return ports.loop().isHere();
  }

  /** Returns the operations that await replies. */
  PendingTable<PendingEntry> pending() {
    assert isHere();
    return pending;
  }

  /** Returns the scheduled deadlines. */
  public DeadlineRing ring() {
    assert isHere();
    return ring;
  }

  /** Returns the attempt ids of remote leases that selections and dispatches hold. */
  Set<AttemptId> heldAttempts() {
    assert isHere();
    return heldAttempts;
  }

  /** Runs an action on the loop: at once if the caller is on it already. */
  public void run(Runnable action) {
    ports.loop().run(action);
  }

  /** Runs an action on the loop, never on the caller's stack. */
  public void post(Runnable action) {
    ports.loop().execute(action);
  }

  /** Posts an action that belongs to a handler's request; null if it belongs to none. */
  public void post(@Nullable RequestContext within, Runnable action) {
    if (within == null) {
      post(action);
    } else {
      ports.loop().executeFor(within, action);
    }
  }

  /** Attributes the current message's work to a handler's request; null for other user code. */
  public void worksFor(@Nullable RequestContext within) {
    ports.loop().worksFor(within);
  }

  /** Returns whether the loop runs no tasks now. Thread-safe. */
  public boolean isBlocked() {
    return routers.blocked.contains(index());
  }

  /** Returns whether the pending table is full. */
  public boolean isFull() {
    return pending.isFull();
  }

  /**
   * Returns the bytes that a streamed response may send at once; {@link #firstCreditAnswered}
   * returns this credit. The credits of all loops together stay within the budget without a shared
   * counter.
   */
  int firstCredit() {
    assert isHere();
    if (firstCredits >= mostFirstCredits || !streams.hasRoom()) {
      return 0;
    }
    firstCredits++;
    return StreamMemoryBudget.FIRST_BYTES;
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

  /** Returns a new id for a request without one: unique, cheap, and not secret. */
  String nextRequestId() {
    assert isHere();
    return requestIdPrefix + Long.toHexString(++requestIds);
  }

  SendResult send(RoutedReplica to, BusMessage message) {
    return ports.bus().send(to.info.address().node(), to.busAddressFor(index()), message);
  }

  /** Fires passed deadlines and runs retries. Called every {@link TickTimer#TICK_NANOS}. */
  public void tick() {
    ring().advance(now());
    if (!blocked.isEmpty()) {
      List<Runnable> again = List.copyOf(blocked);
      blocked.clear();
      again.forEach(Runnable::run);
    }
  }

  /** Runs an action with the next tick, to retry a send that the transport did not accept. */
  void retryWithNextTick(Runnable again) {
    assert isHere();
    ports.ticks().deadlines.need();
    blocked.add(again);
  }

  /** Returns whether a deadline or a retry waits for the next tick. */
  public boolean needsTick() {
    return ring.size() > 0 || !blocked.isEmpty();
  }

  /** Returns the event loop. */
  public LoopExecutor loop() {
    return ports.loop();
  }

  /** Returns the timer of the event loop's ticks. */
  public TickTimer ticks() {
    return ports.ticks();
  }

  /** Fires every deadline up to now: a tick for a clock that stops until the next one. */
  public void tickExactly() {
    ring().advanceExactly(now());
  }

  // --- replies ---

  /** Handles a message addressed to this loop. */
  public void onMessage(BusMessage message) {
    assert isHere();
    if (message instanceof BusMessage.Answer answer) {
      if (answer instanceof BusMessage.CallResponse response
          && response.length() > LoopLimits.MAX_FRAME_BYTES) {
        streams.release(response.length()); // from here on its receiver counts the bytes
      }
      PendingEntry asked = pending.get(answer.callId());
      if (asked == null || !asked.onReply(answer)) {
        late(answer);
      }
    } else if (message instanceof BusMessage.ReplicaLoad load) {
      onLoadReport(load.target(), load.load());
    } else if (message instanceof BusMessage.SlotOffer offer) {
      routers.offered(offer, now());
    } else if (message instanceof BusMessage.AskReservation ask) {
      routers.keeper.accept(ask);
    } else {
      throw new IllegalArgumentException(
          "message: " + message.getClass().getSimpleName() + " (expected: a reply to a router)");
    }
  }

  /**
   * Handles a reply that no operation awaits. Its lease is released at once; the time to live is
   * only for dead requesters.
   */
  private void late(BusMessage.Answer answer) {
    if (answer instanceof BusMessage.SlotReserved reserved) {
      if (heldAttempts.contains(reserved.attempt())) {
        duplicates.increment();
        return;
      }
      release(reserved.target(), reserved.attempt());
    }
    if (!(answer instanceof BusMessage.CallAccepted)) { // the response came first; not late
      lateAnswers.increment();
    }
  }

  /** Sends a reply to a router. Thread-safe. */
  public void answer(RouterAddress to, BusMessage.Answer given) {
    ports.bus().send(to.node(), to.busAddress(), given);
  }

  /**
   * Releases the remote lease of an attempt id, and repeats the release until it is confirmed.
   * Thread-safe.
   */
  void release(ReplicaAddress target, AttemptId attempt) {
    run(() -> cancelled.release(target, attempt));
  }

  /** Records a load report of a remote replica. */
  void onLoadReport(ReplicaAddress by, long load) {
    routers.onLoadReport(by, load);
  }

  void duplicateDropped() {
    duplicates.increment();
  }

  /** Fails all operations that await replies from matching replicas, at once. */
  void onRepliesLost(Predicate<ReplicaAddress> gone, boolean forGood) {
    pending().forEach(asked -> asked.onRepliesLost(gone, forGood));
  }

  // --- status ---

  /**
   * Returns the number of cancels and releases that are repeated until they are confirmed; exact on
   * the loop, approximate elsewhere.
   */
  public int cancelsRepeated() {
    return cancelled.size();
  }

  /** Returns the number of cancels and releases sent only once because too many were repeated. */
  public long cancelsNotRepeated() {
    return cancelled.unrepeated.sum();
  }

  /** Returns the entries of the pending table; exact on the loop, approximate elsewhere. */
  public int pendingRequests() {
    return pending.size();
  }

  /** Returns the number of scheduled deadlines; exact on the loop, approximate elsewhere. */
  public int deadlines() {
    return ring.size();
  }
}
