package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.RequestContext;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Load;
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
import dev.berth.routing.slots.Waiting;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Something that needs a slot: the part a call and a choose have in common.
 *
 * <pre>
 *   NEW --a slot at once--> SENT --answer--> DONE
 *       --none--> QUEUED --grant--> GRANTED (a task on its own loop) --taken--> SENT
 *   SENT --typed refusal--> QUEUED again, in its old place
 *   any  --cancel, deadline, failure--> DONE
 * </pre>
 *
 * Confined to its loop, but for {@link #granted} and {@link #left}, which the pump calls. In each
 * state exactly one thing owes the slot: the grant on its way, or the request that was sent. It is
 * over 500 lines, as who owes it is to be seen over all of these moves together.
 */
public abstract class SlotRequest extends RingEntry implements Waiting, PendingEntry, Runnable {
  /** Retries of a request that replicas refuse for want of a thread. */
  private static final int MAX_OVERLOADS = 3;

  final DeploymentRouter router;
  final RouterLoop loop;
  final long callDeadlineNanos; // or NO_DEADLINE
  private long queueDeadlineNanos;
  long sequence; // place in the queue; 0 while it has none
  private long sinceNanos; // it has that place; meaningful with one
  private boolean admitted; // to the queue, once: who waits again is not refused
  @Nullable Waiter waiter; // while QUEUED or GRANTED
  @Nullable Grant grant; // written by the pump, read by the task it posts
  @Nullable RequestRecorder recorder; // when it is explained
  boolean done;
  boolean keyed; // the ranker asked for its key
  @Nullable RoutedReplica overloaded; // refused it last, for want of a thread
  private byte overloads; // how often it was refused so; a byte has room beside the flags
  private @Nullable Runnable leaveParent; // withdraws our cancel from the request we are within

  // While SENT.
  long pendingId = PendingTable.FULL;
  @Nullable RoutedReplica replica;
  @Nullable AttemptId attempt;
  RemoteReplica.@Nullable Offer offer; // whose slot it was sent for

  SlotRequest(DeploymentRouter router, RouterLoop loop, long callDeadlineNanos) {
    this.router = router;
    this.loop = loop;
    this.callDeadlineNanos = callDeadlineNanos;
  }

  // --- what differs ---

  /** How a slot that is free at once is taken: held so long, or {@link Grant#RUN}. */
  abstract long holdAtOnce();

  /**
   * Uses a slot.
   *
   * @param waited whether it was on its way to this loop
   * @return false when it was lost on the way
   */
  abstract boolean use(Grant granted, boolean waited);

  /** Tells the replica, if anything was sent, that the answer is no longer wanted. */
  abstract void revoke(boolean timedOut);

  /** What is sent, under an id of the pending table. */
  abstract BusMessage message(RoutedReplica to, long id);

  /** Tells the recorder what is sent. */
  abstract void recordSending(RequestRecorder into, RoutedReplica to);

  /** Gives back the slot taken for a message that was not sent. */
  void unsend(RoutedReplica to) {
    to.untake();
    if (offer != null) {
      loop.release(to.info.address(), offer.attempt()); // else it stands idle until its end
      offer = null;
    }
  }

  /** Delivers the failure: the last thing that happens. */
  abstract void fail(BerthException failure);

  /** The request within which it is made, if any. */
  abstract @Nullable RequestContext parent();

  /** Nothing was heard of what was sent to another instance, for so long that it may be lost. */
  abstract void unanswered(RoutedReplica by);

  /** Bytes held while waiting. */
  abstract int queuedBytes();

  abstract long routingKey();

  /** Whether it waits where no slot is free; else it is refused. */
  abstract boolean waits();

  // --- getting a slot ---

  /**
   * Starts on behalf of a request that a handler runs, which takes this one with it when it is
   * cancelled.
   */
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

  /** Is cancelled with its parent from now on, until {@link #leaveParent}. */
  final void follow(@Nullable RequestContext parent) {
    if (parent != null && !done) {
      leaveParent = parent.onCancel(() -> loop.run(this::parentCancelled));
    }
  }

  /** Over: its parent need not know it any more. */
  final void leaveParent() {
    Runnable leave = leaveParent;
    if (leave != null) {
      leaveParent = null;
      leave.run();
    }
  }

  private void parentCancelled() {
    if (isPastDeadline()) {
      deadlinePassed(loop.now()); // the parent ran out of time, and so did we
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
    if (!router.queue.hasTakersOr(loop.index()) && takeAtOnce()) {
      return;
    }
    enqueue();
  }

  /** Whether a slot was free, and is used. */
  private boolean takeAtOnce() {
    ReplicaSet set = router.replicas;
    RandomGenerator random = loop.ports.random();
    Pick.rank(set, this, loop.ranking, random);
    if (recorder != null) {
      recorder.ranked(set, loop.ranking, keyed ? routingKey() : 0);
    }
    Grant taken = Pick.from(set, loop.ranking, this, holdAtOnce(), random);
    return taken != null && use(taken, false);
  }

  final void scheduleDeadline() {
    if (callDeadlineNanos != NO_DEADLINE) {
      loop.ring().schedule(this, callDeadlineNanos);
    }
  }

  @Override
  public final long key() {
    keyed = true;
    return routingKey();
  }

  private void enqueue() {
    if (!waits()) {
      end(router.backPressure("no slot is free"), false);
      return;
    }
    int max = router.settings().maxQueued();
    if (!router.queue.tryAdmit(max)) {
      end(router.backPressure("max_queued_requests: " + max), false);
      return;
    }
    if (!router.bounds.tryQueue(queuedBytes())) {
      router.queue.unadmit();
      end(router.backPressure("the instance's bounds on queued requests"), false);
      return;
    }
    admitted = true;
    takePlace();
    if (recorder != null) {
      recorder.queued(router.queue.size() - 1, max);
    }
    long timeout = loop.now() + router.settings().queueTimeoutNanos();
    queueDeadlineNanos = earlier(callDeadlineNanos, timeout);
    await();
  }

  /** Waits again after a refusal, in the place it had: a request that came first stays first. */
  final void enqueueAgain() {
    router.counters.retries.increment();
    replica = null;
    if (isPastDeadline()) { // else it would be refused and wait again until the next tick
      end(timeout(), false);
      return;
    }
    if (mayTryAgain() && takeAtOnce()) {
      return;
    }
    if (!admitted) {
      enqueue();
      return;
    }
    router.queue.tryAdmit(-1); // whatever the bound
    router.bounds.queueAgain(queuedBytes());
    if (recorder != null) {
      recorder.waitsAgain();
    }
    await();
  }

  /** Whether one that does not wait may look for another replica after a refusal. */
  boolean mayTryAgain() {
    return false;
  }

  /**
   * Takes its place in the order: when it first waits, or before it is sent to where it may be
   * refused, so that it does not come back behind those who came after it.
   */
  final void takePlace() {
    if (sequence == 0) {
      sequence = router.queue.nextSequence();
      sinceNanos = loop.now();
    }
  }

  /** It has its replica: tells how long it waited. A slot that was free at once reads no clock. */
  final void fulfilled() {
    router.fulfilled(loop, sequence == 0 ? 0 : loop.now() - sinceNanos);
  }

  private void await() {
    overloaded = null; // else it would hold up those behind it
    loop.ring().schedule(this, queueDeadlineNanos);
    waiter = router.queue.join(this, sequence);
    router.queue.arrange();
    router.joined();
  }

  @Override
  public final void granted(Grant given) {
    grant = given;
    loop.post(parent(), this);
  }

  @Override
  public final void left() {
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

  /** The task a grant posts to our loop. */
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
      given.giveBack();
      router.pumpIfWaiting();
      if (!done) { // else cancelled or timed out while the grant was on its way
        end(timeout(), false);
      }
      return;
    }
    if (recorder != null) {
      recorder.granted(given.replica());
    }
    if (given.replica() == null) {
      end(unavailable(), false);
      return;
    }
    if (callDeadlineNanos == NO_DEADLINE) {
      loop.ring().cancel(this);
    } else {
      loop.ring().schedule(this, callDeadlineNanos);
    }
    if (!use(given, true)) {
      enqueueAgain();
    }
  }

  /** What waits for a slot is told that there will be none. */
  BerthException unavailable() {
    return router.reach.unavailable("");
  }

  // --- sending ---

  /**
   * Enters the pending table and sends. When the table is full the request fails; when the message
   * surely did not leave, the replica gets no other for now and the request waits again.
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
    } catch (RuntimeException broken) { // its head is too large, say
      result = SendResult.unfit(broken);
    }
    if (result.kind() == SendResult.Kind.UNFIT) {
      notSent(to, result.reason());
    } else if (!result.isSent()) {
      leaveTable();
      unsend(to);
      router.unsent(to);
      if (recorder != null) {
        recorder.lost(to);
      }
      unsent();
    } else if (!to.here()) {
      lookAgainAfter(loop.limits.recallNanos());
    }
  }

  /** Whether it is answered then; at its deadline, if that is earlier. */
  final void lookAgainAfter(long nanos) {
    loop.ring().schedule(this, earlier(callDeadlineNanos, loop.now() + nanos));
  }

  /** No replica could take it. It ends with the reason, whatever giving its slot back throws. */
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

  /** The message did not leave. */
  void unsent() {
    enqueueAgain();
  }

  /** It waits for no answer any more. */
  final void leaveTable() {
    loop.pending().remove(pendingId);
    pendingId = PendingTable.FULL;
  }

  /** The answer to what was sent has come, or will not: out of the pending table. */
  final void settle(long load) {
    leaveTable();
    RoutedReplica from = replica;
    if (from != null && !from.here()) {
      from.giveBack();
      from.reported(load);
      router.pumpIfWaiting();
    }
  }

  @Override
  public boolean answered(BusMessage.Answer answer) {
    if (answer instanceof BusMessage.CallRefused refused) {
      refused(refused.reason(), refused.load());
      return true;
    }
    return false;
  }

  /** A typed refusal came: it did not run, so it may be tried elsewhere. */
  void refused(Refusal reason, long load) {
    RoutedReplica refuser = replica;
    if (reason == Refusal.TOO_LATE && refuser != null && !isPastDeadline()) {
      refuser.unanswered(); // else who is refused at once would go there again at once
      settle(Load.NONE);
    } else {
      settle(load);
    }
    if (recorder != null) {
      recorder.refused(refuser, reason);
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
    overloaded = refuser;
    if (overloads++ == MAX_OVERLOADS || !takeAtOnce()) {
      end(router.backPressure("no thread for its handler"), false);
    }
  }

  @Override
  public final void lost(Predicate<ReplicaAddress> gone, boolean forGood) {
    RoutedReplica at = replica;
    if (at != null && gone.test(at.info.address()) && !done) {
      peerLost(forGood);
    }
  }

  /** Its peer is lost with the answer; or, if not for good, only the answer. */
  abstract void peerLost(boolean forGood);

  // --- ending ---

  /** Ends it at once with {@link BerthException.Cancelled}. Any thread. */
  public final void cancel() {
    loop.run(this::cancelNow);
  }

  /** Ends it at the caller's wish, at once; nothing when it has ended. */
  final void cancelNow() {
    assert loop.isHere();
    if (done) {
      return;
    }
    if (waiter != null) {
      router.queue.leave(waiter); // or a grant is on its way, which then goes back
    }
    end(cancelled(), true);
  }

  @Override
  protected final void deadlinePassed(long now) {
    if (done) {
      return;
    }
    boolean callOver = callDeadlineNanos != NO_DEADLINE && callDeadlineNanos - now <= 0;
    if (waiter != null && !router.queue.leave(waiter) && !callOver) {
      return; // its slot is on its way
    }
    if (callOver) {
      end(timeout(), true);
    } else if (waiter != null) {
      end(router.backPressure("queue_timeout_s reached while waiting for a slot"), false);
    } else if (replica != null) {
      unanswered(replica);
    }
  }

  /** Of two times on a loop's clock; either may be no deadline. */
  public static long earlier(long a, long b) {
    return a != NO_DEADLINE && (b == NO_DEADLINE || a - b < 0) ? a : b;
  }

  final boolean isPastDeadline() {
    return loop.isPast(callDeadlineNanos);
  }

  public static BerthException cancelled() {
    return new BerthException.Cancelled("the caller cancelled");
  }

  public static BerthException timeout() {
    return new BerthException.Timeout("its deadline passed");
  }

  /** Over, with a failure. Settles everything, then tells. */
  final void end(BerthException failure, boolean revoke) {
    done = true;
    loop.ring().cancel(this);
    if (revoke && pendingId != PendingTable.FULL) {
      revoke(failure instanceof BerthException.Timeout);
      settle(Load.NONE);
    }
    if (failure instanceof BerthException.BackPressure) {
      router.counters.backPressured.increment();
    }
    if (recorder != null) {
      recorder.failed(failure);
    }
    fail(failure);
  }
}
