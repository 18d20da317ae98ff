package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.RequestContext;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.port.SendResult;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.slots.Grant;
import dev.berth.routing.slots.Pick;
import dev.berth.routing.slots.RemoteReplica;
import dev.berth.routing.slots.ReplicaSet;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.routing.slots.Waiter;
import dev.berth.routing.slots.WaiterOwner;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A request for {@link #cost} slots of one replica, in general one: the common part of a call and a
 * choose.
 *
 * <pre>
 *   NEW --free slot--> SENT --reply--> DONE
 *       --none--> QUEUED --grant--> GRANTED (a task on its own loop) --use--> SENT
 *   SENT --typed refusal--> QUEUED again, in its old place
 *   any  --cancel, deadline, failure--> DONE
 * </pre>
 *
 * Confined to its loop, except {@link #onGranted} and {@link #onLeftQueue}, which the pump calls.
 * In each state exactly one object owns the slot: the posted grant, or the request that was sent.
 * The class has over 500 lines, as only all of these moves together show the owner.
 */
public abstract class SlotRequest extends RingEntry implements WaiterOwner, PendingEntry, Runnable {
  /** Maximum retries of a request that replicas refuse because no handler thread is free. */
  private static final int MAX_OVERLOADS = 3;

  DeploymentRouter router; // a fallback replaces it
  final RouterLoop loop;
  final long callDeadlineNanos; // or NO_DEADLINE
  private long queueDeadlineNanos;
  long sequence; // position in the queue; 0 while it has none
  private long sinceNanos; // time at which sequence was assigned
  private boolean admitted; // passed the queue limit once; not refused when it queues again
  @Nullable Waiter waiter; // set while QUEUED or GRANTED
  @Nullable Grant grant; // written by the pump, read by the task that the pump posts
  @Nullable RequestRecorder recorder; // set if the request is explained
  boolean done;
  boolean keyed; // the ranker has read the routing key
  @Nullable PastAttempts attempts; // null unless a replica did not run it, or it moved
  private byte overloads; // number of such refusals; a byte fits beside the flags
  private @Nullable Runnable leaveParent; // unregisters the cancel from the parent request

  // Fields set while SENT.
  long pendingId = PendingTable.FULL;
  @Nullable RoutedReplica replica;
  @Nullable AttemptId attempt;
  RemoteReplica.@Nullable Offer offer; // offer whose slot the message uses

  SlotRequest(DeploymentRouter router, RouterLoop loop, long callDeadlineNanos) {
    this.router = router;
    this.loop = loop;
    this.callDeadlineNanos = callDeadlineNanos;
  }

  // --- implemented by subclasses ---

  /** Returns the hold time, in nanoseconds, of a slot free at once, or {@link Grant#RUN}. */
  abstract long holdAtOnce();

  /**
   * Uses a slot.
   *
   * @param waited whether the grant was posted to this loop
   * @return false if the slot was lost meanwhile
   */
  abstract boolean use(Grant granted, boolean waited);

  /** Notifies the replica that the reply is no longer needed, if a message was sent. */
  abstract void revoke(boolean timedOut);

  /** Returns the message to send, under an id of the pending table. */
  abstract BusMessage message(RoutedReplica to, long id);

  /** Records the send. */
  abstract void recordSending(RequestRecorder into, RoutedReplica to);

  /** Releases the slot acquired for a message that was not sent. */
  void unsend(RoutedReplica to) {
    to.limits.giveBack(limit());
    to.untake(cost());
    if (offer != null) {
      // else the slot idles until its lease expires
      loop.release(to.info.address(), offer.attempt());
      offer = null;
    }
  }

  /** Delivers the failure, as the last step. */
  abstract void fail(BerthException failure);

  /** Returns the request whose handler makes this one; null if none. */
  abstract @Nullable RequestContext parent();

  /** Handles a missing reply of a remote replica: the message or its reply may be lost. */
  abstract void unanswered(RoutedReplica by);

  /** Returns the number of bytes held while waiting. */
  abstract int queuedBytes();

  abstract long routingKey();

  /** Returns whether the request waits if no slot is free; otherwise it is refused. */
  abstract boolean waits();

  /** Returns whether the request continues after a refusal; otherwise it is cancelled. */
  boolean isWanted() {
    return true;
  }

  /** Returns the failure to report, if an earlier attempt has another outcome. */
  BerthException outcome(BerthException failure) {
    return failure;
  }

  // --- acquiring a slot ---

  /** Starts as part of a handler's request, whose cancel then cancels this one. */
  public final void begin(@Nullable RequestContext parent) {
    assert loop.isHere();
    if (parent == null) {
      begin();
    } else if (parent.cancelled() && !isPastDeadline()) {
      cancelNow();
    } else {
      begin();
      follow(parent);
    }
  }

  /** Follows the parent's cancel from now on, until {@link #leaveParent}. */
  final void follow(@Nullable RequestContext parent) {
    if (parent != null && !done) {
      leaveParent = parent.onCancel(() -> loop.run(this::parentCancelled));
    }
  }

  /** Stops following the parent's cancel. */
  final void leaveParent() {
    Runnable leave = leaveParent;
    if (leave != null) {
      leaveParent = null;
      leave.run();
    }
  }

  private void parentCancelled() {
    if (isPastDeadline()) {
      deadlinePassed(loop.now()); // the parent timed out, and so did this request
    } else {
      cancelNow();
    }
  }

  final void begin() {
    assert loop.isHere();
    if (done) {
      return; // cancelled before it reached its loop
    }
    if (!router.available()) {
      end(router.reach.unavailable(" because it failed to deploy"), false);
      return;
    }
    if (loop.pending().isFull()) {
      end(router.pendingFull(loop), false);
      return;
    }
    if (isPastDeadline()) {
      end(timeout(), false);
      return;
    }
    scheduleDeadline();
    acquire();
  }

  /** Sends a request that takes no slot. Returns false for every other request. */
  boolean sendsWithoutSlot() {
    return false;
  }

  /** Returns whether the request counts as one in a slot of its replica. */
  boolean countsSlot() {
    return true;
  }

  private void acquire() {
    if (sendsWithoutSlot()) {
      return;
    }
    if ((router.queue.hasTakersOr(loop.index()) || !takeAtOnce()) && !leaves()) {
      enqueue();
    }
  }

  @Override
  public final long deadlineNanos() {
    return callDeadlineNanos;
  }

  /** Starts again at another deployment, in a new place of its queue. */
  final void moveTo(DeploymentRouter next) {
    router = next;
    sequence = 0;
    admitted = false;
    next.counters.calls.increment();
    acquire();
  }

  /**
   * Moves the request to another deployment, or fails it, if no replica of this one can run it.
   *
   * @return whether it did; else the request may wait
   */
  boolean leaves() {
    return false;
  }

  /** Uses a free slot, with a batch of its own if an idle replica is eager. Returns whether. */
  private boolean takeAtOnce() {
    String key = batchKey();
    BatchSettings rules = key == null ? null : router.settings().batching();
    if (rules != null && !rules.eager()) {
      return false; // others may join its batch
    }
    ReplicaSet set = router.replicas;
    RandomGenerator random = loop.ports.random();
    Pick.rank(set, this, loop.ranking, random);
    if (recorder != null) {
      recorder.recordRanking(set, loop.ranking, keyed ? routingKey() : 0);
    }
    Grant taken =
        key == null || rules == null
            ? Pick.from(set, loop.ranking, this, holdAtOnce(), random, null)
            : Pick.atIdle(set, loop.ranking, this, key, rules, loop.now());
    if (taken == null && rules != null) {
      router.pumpIfWaiting();
    }
    return taken != null && use(taken, false);
  }

  final void scheduleDeadline() {
    if (callDeadlineNanos != NO_DEADLINE) {
      loop.ring().schedule(this, callDeadlineNanos);
    }
  }

  /** Replaces the end of the wait, or the next check for a reply, by the deadline. */
  private void rescheduleDeadline() {
    if (callDeadlineNanos == NO_DEADLINE) {
      loop.ring().cancel(this);
    } else {
      loop.ring().schedule(this, callDeadlineNanos);
    }
  }

  @Override
  public final long key() {
    keyed = true;
    return routingKey();
  }

  private void enqueue() {
    if (isTooLarge()) {
      end(tooLarge(), false);
      return;
    }
    if (!waits()) {
      end(router.backPressure("no slot is free"), false);
      return;
    }
    int max = router.settings().maxQueued();
    if (!router.queue.tryAdmit(max)) {
      end(router.queueFull(max), false);
      return;
    }
    if (!router.bounds.tryQueue(queuedBytes())) {
      router.queue.unadmit();
      end(router.backPressure("the instance's limits on queued requests"), false);
      return;
    }
    admitted = true;
    takePlace();
    if (recorder != null) {
      recorder.recordQueued(router.queue.size() - 1, max, cost());
    }
    long timeout = loop.now() + router.settings().queueTimeoutNanos();
    queueDeadlineNanos = earlier(callDeadlineNanos, timeout);
    await();
  }

  /** Queues again after a refusal, in the old place: the first request stays first. */
  final void enqueueAgain() {
    router.counters.retries.increment();
    replica = null;
    if (isPastDeadline()) { // else it could be refused and queue again until the next tick
      end(timeout(), false);
      return;
    }
    if (!isWanted()) {
      end(cancelled(), false);
      return;
    }
    rescheduleDeadline();
    if (mayTryAgain() && batchKey() == null && takeAtOnce()) {
      return;
    }
    if (!admitted) {
      enqueue();
      return;
    }
    router.queue.tryAdmit(-1); // -1: never refused
    router.bounds.queueAgain(queuedBytes());
    if (recorder != null) {
      recorder.recordRequeued();
    }
    await();
  }

  /** Returns whether the request may try another replica at once after a refusal. */
  boolean mayTryAgain() {
    return false;
  }

  /**
   * Assigns the queue position: at the first wait, or before a send that may be refused. A refused
   * request thus returns ahead of later arrivals.
   */
  final void takePlace() {
    if (sequence == 0) {
      sequence = router.queue.nextSequence();
      sinceNanos = loop.now();
    }
  }

  /** Records the wait of a request that has its replica; a slot free at once reads no clock. */
  final void fulfilled() {
    router.fulfilled(loop, sequence == 0 ? 0 : loop.now() - sinceNanos);
  }

  private void await() {
    attempts = PastAttempts.lastingOf(attempts); // else this waiter could block those behind it
    awaitUntil(lateNanos());
    waiter = router.queue.join(this, sequence);
    router.queue.arrange();
    router.onWaiterJoined();
  }

  /** Schedules the end of the wait, or {@link #onLate} if that is earlier. */
  final void awaitUntil(long lateNanos) {
    loop.ring().schedule(this, earlier(queueDeadlineNanos, lateNanos));
  }

  /** Returns the time of {@link #onLate}; {@link #NO_DEADLINE} for none. */
  long lateNanos() {
    return NO_DEADLINE;
  }

  /** Handles a wait that is long enough for a fallback. */
  void onLate(long now) {
    awaitUntil(NO_DEADLINE);
  }

  /** Leaves the queue to move elsewhere; returns false if a grant is posted. */
  final boolean leavesQueue() {
    if (!router.queue.leave(java.util.Objects.requireNonNull(waiter))) {
      return false;
    }
    waiter = null;
    rescheduleDeadline();
    return true;
  }

  @Override
  public final void onGranted(Grant given) {
    grant = given;
    loop.post(parent(), this);
  }

  @Override
  public final void onLeftQueue() {
    router.bounds.unqueue(queuedBytes());
  }

  @Override
  public final long sinceNanos() {
    return sinceNanos;
  }

  @Override
  public final int loopIndex() {
    return loop.index();
  }

  @Override
  public final boolean paused() {
    return router.blocked.contains(loop.index());
  }

  /** Runs the task that a grant posts to this loop. */
  @Override
  public final void run() {
    assert loop.isHere();
    Grant given = grant;
    grant = null;
    waiter = null;
    if (given == null) {
      throw new IllegalStateException("grant: none (expected: one for each task)");
    }
    if (done || isPastDeadline()) {
      given.giveBack(this);
      router.pumpIfWaiting();
      if (!done) { // else cancelled or timed out before this task ran
        end(timeout(), false);
      }
      return;
    }
    if (recorder != null) {
      recorder.recordGrant(given.replica());
    }
    rescheduleDeadline();
    if (given.replica() == null) {
      onNoReplica();
      return;
    }
    if (!use(given, true)) {
      enqueueAgain();
    }
  }

  /** Handles the end of a wait without a slot. */
  void onNoReplica() {
    end(unavailable(), false);
  }

  /** Returns the failure of a waiter that will receive no slot. */
  BerthException unavailable() {
    return isTooLarge() ? tooLarge() : router.reach.unavailable("");
  }

  /** Returns whether each replica that the request accepts has fewer slots than it needs. */
  final boolean isTooLarge() {
    return cost() > 1 && router.replicas.areAllBelow(cost(), this);
  }

  private BerthException tooLarge() {
    return new BerthException.CostTooLarge(
        "cost: " + cost() + " (expected: at most max_ongoing_requests of a replica)");
  }

  @Override
  public boolean hopeless() {
    return isTooLarge();
  }

  // --- sending ---

  /**
   * Enters the pending table and sends. A full table fails the request. If the message certainly
   * was not sent, the replica receives no other for now, and the request waits again.
   */
  final void send(RoutedReplica to) {
    long id = loop.pending().add(this);
    if (id == PendingTable.FULL) {
      unsend(to);
      router.pumpIfWaiting();
      end(router.pendingFull(loop), false);
      return;
    }
    pendingId = id;
    replica = to;
    if (recorder != null) {
      recordSending(recorder, to);
    }
    SendResult result;
    try {
      result = loop.send(to, message(to, id));
    } catch (RuntimeException broken) { // for example a head that is too large
      result = SendResult.unfit(broken);
    }
    if (result.kind() == SendResult.SendResultKind.UNFIT) {
      notSent(to, result.reason());
    } else if (!result.isSent()) {
      leaveTable();
      unsend(to);
      router.unsent(to);
      if (recorder != null) {
        recorder.recordLoss(to);
      }
      unsent();
    } else if (!to.here()) {
      lookAgainAfter(loop.limits.recallNanos());
    }
  }

  /** Schedules the next check for a reply, or the deadline if that is earlier. */
  final void lookAgainAfter(long nanos) {
    loop.ring().schedule(this, earlier(callDeadlineNanos, loop.now() + nanos));
  }

  /** Fails a request that no replica could receive, even if the release of its slot throws. */
  private void notSent(RoutedReplica to, String reason) {
    leaveTable();
    BerthException failure =
        new BerthException.HandlerFailed("the request could not be sent: " + reason, null);
    try {
      unsend(to);
      router.pumpIfWaiting();
    } catch (RuntimeException alsoFailed) {
      failure.addSuppressed(alsoFailed);
    }
    end(failure, false);
  }

  /** Handles a message that was not sent. */
  void unsent() {
    enqueueAgain();
  }

  /** Leaves the pending table. */
  final void leaveTable() {
    loop.pending().remove(pendingId);
    pendingId = PendingTable.FULL;
  }

  /** Leaves the pending table on the reply, or without one, and returns a remote slot. */
  final void settle(long load) {
    leaveTable();
    RoutedReplica from = replica;
    if (from != null && !from.here()) {
      if (countsSlot()) {
        from.giveBack(cost());
      }
      from.recordLoadReport(load);
    }
    if (from != null && (from.limits.giveBack(limit()) | !from.here())) {
      router.pumpIfWaiting();
    }
  }

  @Override
  public boolean onReply(BusMessage.Answer answer) {
    if (answer instanceof BusMessage.CallRefused refused) {
      onRefused(refused.reason(), refused.load());
      return true;
    }
    return false;
  }

  /** Handles a typed refusal: the request did not run, so another replica may be tried. */
  void onRefused(Refusal reason, long load) {
    RoutedReplica refuser = replica;
    if (reason == Refusal.TOO_LATE && refuser != null && !isPastDeadline()) {
      refuser.unanswered(); // else a retry would go to the same replica at once
      settle(LoadReport.NONE);
    } else {
      settle(load);
    }
    if (recorder != null) {
      recorder.recordRefusal(refuser, reason);
    }
    if (refuser != null) {
      router.refusedBy(refuser, reason);
    }
    if (reason != Refusal.OVERLOADED) {
      enqueueAgain();
      return;
    }
    router.counters.retries.increment();
    replica = null;
    attempts = PastAttempts.with(java.util.Objects.requireNonNull(refuser), false, attempts);
    if (overloads++ == MAX_OVERLOADS || !takeAtOnce()) {
      end(router.backPressure("no thread for its handler"), false);
    }
  }

  @Override
  public final void onRepliesLost(Predicate<ReplicaAddress> gone, boolean forGood) {
    RoutedReplica at = replica;
    if (at != null && gone.test(at.info.address()) && !done) {
      peerLost(forGood);
    }
  }

  /** Handles the loss of the replica ({@code forGood}), or of only its reply. */
  abstract void peerLost(boolean forGood);

  // --- ending ---

  /** Ends the request at once with {@link BerthException.Cancelled}. Thread-safe. */
  public final void cancel() {
    loop.run(this::cancelNow);
  }

  /** Ends the request at once for its caller; no effect if it has ended. */
  final void cancelNow() {
    assert loop.isHere();
    if (done) {
      return;
    }
    if (waiter != null) {
      router.queue.leave(waiter); // or a grant is posted, and its task releases the slot
    }
    end(cancelled(), true);
  }

  @Override
  protected final void deadlinePassed(long now) {
    if (done) {
      return;
    }
    boolean callOver = callDeadlineNanos != NO_DEADLINE && callDeadlineNanos - now <= 0;
    if (waiter != null && !callOver && now - queueDeadlineNanos < 0) {
      onLate(now);
      return;
    }
    // Read before the wait ends: limits are forgotten once no request waits.
    String awaited = waiter != null && !callOver ? awaited() : "";
    if (waiter != null && !router.queue.leave(waiter) && !callOver) {
      return; // a grant is posted
    }
    if (callOver) {
      end(timeout(), true);
    } else if (waiter != null) {
      end(router.backPressure("queue_timeout_s reached while waiting for " + awaited), false);
    } else if (replica != null) {
      unanswered(replica);
    }
  }

  /** Returns the thing that the request waits for, in words. */
  String awaited() {
    boolean closed = !router.replicas.anyFor(null, true); // upstreams that do not answer
    return closed ? "an open replica" : "a slot";
  }

  /** Returns the earlier of two deadlines. Either may be {@link #NO_DEADLINE}. */
  public static long earlier(long a, long b) {
    return a != NO_DEADLINE && (b == NO_DEADLINE || a - b < 0) ? a : b;
  }

  final boolean isPastDeadline() {
    return loop.isPast(callDeadlineNanos);
  }

  public static BerthException cancelled() {
    return new BerthException.Cancelled("cancelled by the caller");
  }

  public static BerthException timeout() {
    return new BerthException.Timeout("its deadline passed");
  }

  /** Ends the request with a failure. Releases everything before it reports the failure. */
  final void end(BerthException ending, boolean revoke) {
    BerthException failure = outcome(ending);
    done = true;
    loop.ring().cancel(this);
    if (revoke && pendingId != PendingTable.FULL) {
      revoke(failure instanceof BerthException.Timeout);
      settle(LoadReport.NONE);
    }
    if (failure instanceof BerthException.BackPressure) {
      router.counters.backPressured.increment();
    }
    if (recorder != null) {
      recorder.recordFailure(failure);
    }
    fail(failure);
  }
}
