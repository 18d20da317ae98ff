package dev.berth.replica;

import dev.berth.api.BerthException.Kind;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.protocol.BusMessage.RecallCall;
import dev.berth.protocol.BusMessage.ReleaseSlot;
import dev.berth.protocol.BusMessage.RenewLease;
import dev.berth.protocol.BusMessage.ReplicaLoad;
import dev.berth.protocol.BusMessage.RequestFrame;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.BusMessage.StreamCredit;
import dev.berth.protocol.BusMessage.ToReplica;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.SlotDemand;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.AttemptState;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.Slots;
import dev.berth.protocol.port.TickTimer;
import dev.berth.stream.StreamMemoryBudget;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The replicas of one event loop and their requests. Receives the messages of its bus address,
 * admits each request at most once, and handles deadlines and streams with one tick. Confined to
 * the event loop, except where noted.
 *
 * <p><b>At most once.</b> The ledger retains granted, refused and released attempts, so that a
 * duplicate is dropped, without a reply. A refusal would guarantee "did not run", and the router
 * would retry a request that runs.
 *
 * <p>Over 500 lines: each message changes the tables of replicas, routers and requests together,
 * and they have one owner. State that outlasts a message is separate: {@link Invocation}, {@link
 * RouterSession}, {@link RemoteWaiters}.
 */
public final class ReplicaLoop {
  /** Maximum of remote router loops with a table here; calls of further ones are refused. */
  public static final int MAX_PEERS = 4_096;

  /** Maximum of replicas per instance. */
  static final int MAX_ORDINALS = 65_536;

  /** Maximum of event loops per instance whose routers are found by index. */
  private static final int MAX_LOOPS = 1_024;

  private final String node;
  private final int index;
  final LoopDependencies ports; // thread-safe
  private final long originNanos; // origin of moments, so that they compare by <
  final ReplicaLimits limits;
  final BodyMemoryLimits bodyBounds;
  final StreamMemoryBudget streams;

  private @Nullable LoopReplica[] hosted = new LoopReplica[8]; // by ordinal
  private @Nullable RouterSession[] ownPeers =
      new RouterSession[4]; // by loop index of this instance
  private final Map<RouterAddress, RouterSession> peers =
      new ConcurrentHashMap<>(); // keys: read by any thread
  private @Nullable RouterSession lastPeer;
  private @Nullable Invocation first; // of the list of running requests
  private long earliest = InvocationContext.NEVER; // at most the earliest dueAt
  private final ArrayList<Invocation> due = new ArrayList<>();
  private final ArrayList<BooleanSupplier> leaving = new ArrayList<>(); // tasks repeated until true

  private final AtomicInteger invocations = new AtomicInteger(); // running; written on the loop

  /** Requests dropped because their attempt was repeated or released. */
  public final LongAdder duplicates = new LongAdder();

  /** Remote requests that falsely claimed to hold a slot here. */
  public final LongAdder falselyHeld = new LongAdder();

  /**
   * @param instance the instance of the loop
   * @param index index of the event loop within the instance
   * @param bodyBounds memory limits shared by the loops of an instance
   * @param streams memory of streamed responses; shared by the loops and routers of an instance
   */
  public ReplicaLoop(
      InstanceDependencies instance,
      int index,
      ReplicaLimits limits,
      BodyMemoryLimits bodyBounds,
      StreamMemoryBudget streams) {
    this.node = instance.node();
    this.index = index;
    this.ports = instance.loops().get(index);
    this.originNanos = ports.nanoClock().getAsLong();
    this.limits = limits;
    this.bodyBounds = bodyBounds;
    this.streams = streams;
  }

  /** Returns the index of the event loop within the instance. Thread-safe. */
  public int index() {
    return index;
  }

  // --- messages ---

  /** Handles one message to this loop's address. */
  public void onMessage(BusMessage message) {
    assert isHere();
    if (message instanceof CallRequest call) {
      onCall(call);
    } else if (message instanceof StreamCredit credit) {
      onCredit(credit);
    } else if (message instanceof RequestFrame frame) {
      onFrame(frame);
    } else if (message instanceof CancelCall cancel) {
      onCancel(cancel);
    } else if (message instanceof RecallCall recall) {
      onRecall(recall);
    } else if (message instanceof ReserveSlot reserve) {
      onReserve(reserve);
    } else if (message instanceof ReleaseSlot release) {
      onRelease(release);
    } else if (message instanceof RenewLease renew) {
      onRenew(renew);
    } // else a message to a router: ignored
  }

  private void onCall(CallRequest message) {
    LoopReplica host = find(message.target());
    if (host == null) {
      refuse(message, addressRefusal(message.target()), LoadReport.NONE);
      return;
    }
    boolean held = message.admission().isHeld();
    if (held && !node.equals(message.source().node())) {
      // Only this instance can acquire a slot without a message: the sender is faulty or lost.
      falselyHeld.increment();
      refuse(message, Refusal.UNKNOWN_TOKEN, host.replica.load());
      return;
    }
    RouterSession peer = peer(message.source());
    Invocation before = peer == null ? null : peer.find(message.callId());
    if (before != null && before.attempt.equals(message.attempt())) {
      duplicates.increment();
      return;
    }
    if (!held && peer != null && peer.isOutdated(message.callId(), message.attempt())) {
      duplicates.increment(); // its router gave up the call
      return;
    }
    Refusal refusal = held ? null : takeSlot(host, message);
    if (refusal == null) {
      refusal = unfit(host, peer, message);
      if (refusal == null && peer != null) {
        run(host, peer, message);
        return;
      }
      host.replica.settle(isSlotless(message), message.cost()); // also slots that the router held
      if (message.admission() instanceof Admission.BatchSeat seat) {
        seat.group().withdraw();
      }
    }
    if (refusal == Refusal.REVOKED) {
      duplicates.increment();
    } else if (refusal != null) {
      refuse(host, message, refusal, message.cost());
    }
  }

  /**
   * Accepts a request atomically with its slot. Precedes every other check, because only the slots
   * recognise a repeated attempt, which must never receive a "did not run".
   */
  private static @Nullable Refusal takeSlot(LoopReplica host, CallRequest message) {
    Slots slots = isSlotless(message) ? host.replica.slotless() : host.replica.slots();
    if (slots == null) {
      return Refusal.UNKNOWN_TOKEN; // it permits no request without a slot
    }
    if (host.stopped) {
      Refusal refusal = slots.tryAcquire(message.attempt(), 1); // never granted: it drains
      return refusal == Refusal.REVOKED ? refusal : Refusal.UNKNOWN_REPLICA;
    }
    if (message.admission() instanceof Admission.Token token) {
      Refusal refusal = slots.consume(token.token(), message.attempt(), message.cost());
      if (refusal == null) {
        host.replica.refused.onGranted(message, token.token());
      }
      return refusal;
    }
    Refusal refusal = slots.tryAcquire(message.attempt(), message.cost());
    if (refusal == null) {
      host.replica.refused.overtaking();
      if (SlotDemand.behind(message.demand()) > 0 && !isSlotless(message)) {
        host.replica.refused.onGranted(message, null);
      }
    }
    return refusal;
  }

  private static boolean isSlotless(ToReplica message) {
    return message instanceof CallRequest call && call.admission() == Admission.NoSlot.NO_SLOT;
  }

  /** Returns the reason why a request with a slot still cannot run; null when it can. */
  private static @Nullable Refusal unfit(
      LoopReplica host, @Nullable RouterSession peer, CallRequest message) {
    if (host.stopped) {
      return Refusal.UNKNOWN_REPLICA;
    }
    if (message.deadlineMicros() == 0 || message.acceptMicros() == 0) {
      return Refusal.TOO_LATE;
    }
    return peer == null || !RouterSession.hasPlace(message.callId()) ? Refusal.OVERLOADED : null;
  }

  private void run(LoopReplica host, RouterSession peer, CallRequest message) {
    long now = now();
    long deadline =
        message.deadlineMicros() < 0
            ? InvocationContext.NEVER
            : InvocationContext.plus(now, TimeUnit.MICROSECONDS.toNanos(message.deadlineMicros()));
    Invocation invocation =
        message.explained()
            ? new ExplainedInvocation(host, peer, message, now, deadline)
            : new Invocation(host, peer, message, now, deadline);
    ports.loop().worksFor(invocation);
    Invocation forgotten = peer.put(invocation);
    add(invocation);
    if (forgotten != null) {
      forgotten.cancel(); // its router reused the call's entry: the cancel was lost
    }
    boolean streams = message.bodyFollows() || host.streamsRequests(message.methodName());
    boolean accept =
        message.admission() == Admission.IfFree.IF_FREE || isSlotless(message) && peer.elsewhere;
    boolean later = accept && !streams && host.runsOnThread(message.methodName());
    if (accept && !later) {
      send(peer, new CallAccepted(message.callId(), host.replica.load()));
    }
    BatchGroup seat =
        message.admission() instanceof Admission.BatchSeat admitted ? admitted.group() : null;
    if (streams) {
      BatchRunner.giveUp(seat);
      invocation.receive(message);
    } else {
      invocation.invoke(message.request(), seat);
    }
    if (later && !invocation.hasEnded()) { // a thread was available
      send(peer, new CallAccepted(message.callId(), host.replica.load()));
    }
  }

  private void onCredit(StreamCredit message) {
    Invocation invocation = running(message.source(), message.callId());
    if (invocation != null) {
      ports.loop().worksFor(invocation);
      invocation.credit(message.limit());
    } else {
      repeatLastWord(message.source(), message.callId()); // else its stream would wait for ever
    }
  }

  private void onFrame(RequestFrame message) {
    Invocation invocation = running(message.source(), message.callId());
    if (invocation != null) { // else it has ended, and its sender will be notified
      ports.loop().worksFor(invocation);
      invocation.requestFrame(message);
    }
  }

  /** Prevents an attempt that has not arrived; a running one continues. */
  private void onRecall(RecallCall message) {
    LoopReplica host = find(message.target());
    long load = host == null ? LoadReport.NONE : host.replica.load();
    Invocation invocation = running(message.source(), message.callId());
    if (invocation != null && invocation.attempt.equals(message.attempt())) {
      send(invocation.source, new CallAccepted(message.callId(), load));
      return;
    }
    if (repeatLastWord(message.source(), message.callId())) {
      return;
    }
    AttemptState known =
        host == null ? AttemptState.FORGOTTEN : host.replica.recall(message.attempt());
    switch (known) {
      case NEVER, REVOKED, REFUSED -> refuse(message, Refusal.RECALLED, load);
      case GRANTED, LEASED, FORGOTTEN -> {
        String why = "the request ran, or may have, and its response was lost";
        fail(message, Kind.OUTCOME_UNKNOWN, why, load);
      }
    }
  }

  private void onCancel(CancelCall message) {
    if (!message.timedOut() && !node.equals(message.source().node())) {
      fail(message, Kind.CANCELLED, "", LoadReport.NONE);
    }
    Invocation invocation = running(message.source(), message.callId());
    if (invocation != null) {
      if (message.timedOut()) { // the router's clock was a tick ahead
        invocation.outOfTime();
      } else {
        invocation.cancel();
      }
      return;
    }
    LoopReplica host = find(message.target());
    if (host != null) {
      host.replica.release(message.attempt()); // prevents a request that arrives late
    }
  }

  private void onReserve(ReserveSlot message) {
    LoopReplica host = find(message.target());
    if (host == null || host.stopped) {
      refuse(message, addressRefusal(message.target()), LoadReport.NONE);
      return;
    }
    if (message.acceptMicros() == 0) {
      refuse(message, Refusal.TOO_LATE, host.replica.load());
      return;
    }
    RouterSession peer = peer(message.source());
    if (peer != null) { // else its leases end only by expiry if it is lost
      peer.incarnation = message.attempt().incarnation();
    }
    Slots slots = host.replica.slots();
    Slots.ReserveResult reservation =
        slots.reserve(
            message.attempt(),
            message.cost(),
            TimeUnit.MILLISECONDS.toNanos(Math.max(0, message.ttlMs())));
    if (reservation instanceof Slots.ReserveResult.ReserveRefused refused) {
      refuse(host, message, refused.reason(), message.cost());
      return;
    }
    ports.ticks().deadlines.need(); // while the loop is busy, expired leases are swept more often
    SlotLease lease = ((Slots.ReserveResult.ReserveGranted) reservation).lease();
    long ttlNanos = Math.max(0, lease.deadlineNanos() - ports.nanoClock().getAsLong());
    reserved(message, message.attempt(), lease.token(), ttlNanos, slots);
  }

  private void onRelease(ReleaseSlot message) {
    LoopReplica host = find(message.target());
    if (host != null) {
      boolean isFreed = host.replica.slots().release(message.attempt());
      if (isFreed && message.attempt().router() == RemoteWaiters.OFFERING) {
        host.replica.refused.onDeclined(message.source());
      }
    }
    long load = host == null ? LoadReport.NONE : host.replica.load();
    refuse(message, Refusal.RELEASED, load);
  }

  private void onRenew(RenewLease message) {
    LoopReplica host = find(message.target());
    if (host == null || host.stopped) {
      refuse(message, addressRefusal(message.target()), LoadReport.NONE);
      return;
    }
    if (message.acceptMicros() == 0) {
      refuse(message, Refusal.TOO_LATE, host.replica.load());
      return;
    }
    Slots slots = host.replica.slots();
    long wanted = TimeUnit.MILLISECONDS.toNanos(Math.max(0, message.ttlMs()));
    long ttlNanos = host.replica.renewableNanos(wanted);
    Refusal refusal = ttlNanos <= 0 ? Refusal.DRAINING : slots.renew(message.token(), ttlNanos);
    if (refusal != null) {
      refuse(message, refusal, slots.load());
      return;
    }
    reserved(message, message.attempt(), message.token(), ttlNanos, slots);
  }

  private void reserved(
      ToReplica message, AttemptId attempt, SlotToken token, long ttlNanos, Slots slots) {
    long micros = TimeUnit.NANOSECONDS.toMicros(ttlNanos);
    send(
        message.source(),
        new SlotReserved(
            message.callId(), attempt, message.target(), token, micros, slots.load(), 1));
  }

  private void refuse(LoopReplica host, ToReplica message, Refusal reason, int cost) {
    refuse(message, reason, host.replica.load());
    if (reason == Refusal.FULL
        && !node.equals(message.source().node())
        && !isSlotless(message)) { // local routers observe the slots
      host.replica.refused.note(host.replica.slots(), message, cost);
    }
  }

  // --- tables ---

  private @Nullable LoopReplica find(ReplicaAddress target) {
    LoopReplica host = at(target.ordinal());
    return host != null && host.replica.epoch() == target.epoch() ? host : null;
  }

  private @Nullable LoopReplica at(int ordinal) {
    return ordinal >= 0 && ordinal < hosted.length ? hosted[ordinal] : null;
  }

  private Refusal addressRefusal(ReplicaAddress target) {
    LoopReplica host = at(target.ordinal());
    return host == null || host.replica.epoch() == target.epoch()
        ? Refusal.UNKNOWN_REPLICA
        : Refusal.FOREIGN_EPOCH;
  }

  private @Nullable Invocation running(RouterAddress source, long callId) {
    RouterSession peer = knownPeer(source);
    return peer == null ? null : peer.find(callId);
  }

  private @Nullable RouterSession knownPeer(RouterAddress source) {
    RouterSession last = lastPeer;
    if (last != null && last.address.equals(source)) {
      return last;
    }
    if (isOwn(source)) {
      return source.loop() < ownPeers.length ? ownPeers[source.loop()] : null;
    }
    return peers.get(source);
  }

  private boolean isOwn(RouterAddress source) {
    return source.loop() >= 0 && source.loop() < MAX_LOOPS && node.equals(source.node());
  }

  /** Returns the table of a router; null when the maximum of tables is reached. */
  private @Nullable RouterSession peer(RouterAddress source) {
    RouterSession known = knownPeer(source);
    if (known == null) {
      known = newPeer(source);
    }
    if (known != lastPeer) { // storing a reference costs more than comparing it
      lastPeer = known;
    }
    return known;
  }

  private @Nullable RouterSession newPeer(RouterAddress source) {
    RouterSession fresh = new RouterSession(source, !isOwn(source));
    if (isOwn(source)) {
      if (source.loop() >= ownPeers.length) {
        ownPeers = Arrays.copyOf(ownPeers, source.loop() + 1);
      }
      ownPeers[source.loop()] = fresh;
      return fresh;
    }
    if (peers.size() >= MAX_PEERS) {
      lastPeer = null; // it may be removed below
      if (!peers.values().removeIf(RouterSession::isEmpty)) {
        return null;
      }
    }
    peers.put(source, fresh);
    return fresh;
  }

  private void add(Invocation invocation) {
    ports.ticks().deadlines.need(); // without a deadline, too: busy loops are watched
    Invocation second = first;
    invocation.next = second;
    if (second != null) {
      second.previous = invocation;
    }
    first = invocation;
    invocations.setRelease(invocations.getPlain() + 1);
    wakeAt(invocation.dueAt);
  }

  void remove(Invocation invocation) {
    Invocation previous = invocation.previous;
    Invocation next = invocation.next;
    if (previous == null) {
      first = next;
    } else {
      previous.next = next;
    }
    if (next != null) {
      next.previous = previous;
    }
    invocation.previous = null;
    invocation.next = null;
    invocations.setRelease(invocations.getPlain() - 1);
  }

  // --- time ---

  /**
   * Handles deadlines, graces, idle streams and drains. Called every {@link TickTimer#TICK_NANOS}
   * while {@link #needsTick}.
   */
  public void tick() {
    assert isHere();
    long now = now();
    if (first == null) {
      earliest = InvocationContext.NEVER;
    } else if (earliest <= now) {
      lookAtDue(now);
    }
    for (int i = leaving.size() - 1; i >= 0; i--) {
      if (leaving.get(i).getAsBoolean()) {
        leaving.remove(i);
      }
    }
  }

  /** Returns whether a request runs or a task is repeated. */
  public boolean needsTick() {
    return first != null || !leaving.isEmpty();
  }

  private void lookAtDue(long now) {
    for (Invocation each = first; each != null; each = each.next) {
      if (each.dueAt <= now) {
        due.add(each); // collect first: due() changes the list
      }
    }
    for (Invocation each : due) {
      each.due(now);
    }
    due.clear();
    earliest = InvocationContext.NEVER;
    for (Invocation each = first; each != null; each = each.next) {
      wakeAt(each.dueAt);
    }
  }

  void wakeAt(long moment) {
    if (moment < earliest) {
      earliest = moment;
    }
  }

  /** Returns the nanoseconds since this loop was created. Thread-safe. */
  long now() {
    return ports.nanoClock().getAsLong() - originNanos;
  }

  // --- operations of the instance ---

  /** Accepts requests for this replica. */
  void host(LoopReplica host) {
    assert isHere();
    int ordinal = host.replica.ordinal();
    if (ordinal >= hosted.length) {
      hosted = Arrays.copyOf(hosted, Math.max(2 * hosted.length, ordinal + 1));
    }
    hosted[ordinal] = host;
  }

  /** Removes a stopped replica after its retention time. */
  void unhost(LoopReplica host) {
    assert isHere();
    if (at(host.replica.ordinal()) == host) {
      hosted[host.replica.ordinal()] = null;
    }
  }

  /** Retires a drained replica, and ends its requests without a slot. */
  void retire(LoopReplica host) {
    assert isHere();
    host.retire();
    running().stream().filter(each -> each.host == host && each.slotless).forEach(Invocation::kill);
  }

  /** Ends the requests of a replica: their callers receive an unknown outcome. */
  void kill(LoopReplica host) {
    assert isHere();
    host.retire();
    running().stream().filter(each -> each.host == host).forEach(Invocation::kill);
  }

  /** Calls {@code lookAfter} each tick, until it returns true. */
  void watch(BooleanSupplier lookAfter) {
    assert isHere();
    ports.ticks().deadlines.need();
    leaving.add(lookAfter);
  }

  /**
   * Removes the routers of an instance that left or died: cancels their requests and releases their
   * leases. Not for a broken link, after which the routers may be alive. Thread-safe.
   *
   * @param lost bus name of that incarnation of the instance
   */
  public void routersLost(String lost) {
    run(
        () -> {
          running().stream()
              .filter(each -> each.source.address.node().equals(lost))
              .forEach(Invocation::cancel);
          lastPeer = null;
          peers.values().removeIf(peer -> peer.address.node().equals(lost) && forget(peer));
          replicas().forEach(each -> each.refused.nodeLeft(lost, each.slots));
        });
  }

  private boolean forget(RouterSession peer) {
    replicas().forEach(each -> each.slots.releaseOf(peer.incarnation));
    return true;
  }

  private Stream<ReplicaRuntime> replicas() {
    return Stream.of(hosted).flatMap(Stream::ofNullable).map(host -> host.replica);
  }

  private List<Invocation> running() {
    List<Invocation> all = new ArrayList<>();
    for (Invocation each = first; each != null; each = each.next) {
      all.add(each);
    }
    return all;
  }

  // --- the event loop ---

  /** Returns whether the caller is on this loop. Thread-safe. */
  boolean isHere() {
    return ports.loop().isHere();
  }

  /** Runs a task on this loop later. Thread-safe. */
  void execute(Runnable task) {
    ports.loop().execute(task);
  }

  /** Runs a task on this loop, at once if the caller is on the loop. Thread-safe. */
  void run(Runnable task) {
    ports.loop().run(task);
  }

  /**
   * Returns whether a response larger than a message may be sent as one, as messages within an
   * instance are not copied. On success its bytes are counted until its router releases them.
   */
  boolean tryCarry(RouterSession to, int bytes) {
    return node.equals(to.address.node()) && streams.tryCarry(bytes);
  }

  /** Sends the end of a request without a whole response, and retries until its link accepts it. */
  void sendLast(RouterSession to, BusMessage.Answer word) {
    to.recordEnd(word);
    if (send(to, word) == SendResult.NOT_NOW) {
      watch(() -> send(to, word) != SendResult.NOT_NOW);
    }
  }

  /** Resends the recorded end of a call to its router. Returns false when none is recorded. */
  private boolean repeatLastWord(RouterAddress source, long callId) {
    RouterSession peer = knownPeer(source);
    BusMessage word = peer == null ? null : peer.lastWord(callId);
    if (word != null) {
      send(source, word);
    }
    return word != null;
  }

  void duplicateDropped() {
    duplicates.increment();
  }

  private void refuse(ToReplica message, Refusal reason, long load) {
    send(message.source(), new CallRefused(message.callId(), reason, load));
  }

  /** Sends a load report to all remote routers. Thread-safe. */
  void tell(ReplicaLoad load) {
    peers.keySet().forEach(router -> send(router, load));
  }

  private void fail(ToReplica message, Kind kind, String why, long load) {
    send(message.source(), new CallFailed(message.callId(), kind, why, -1, -1, load, null));
  }

  private void send(RouterAddress to, BusMessage message) {
    ports.bus().send(to.node(), to.busAddress(), message);
  }

  SendResult send(RouterSession to, BusMessage message) {
    return ports.bus().send(to.address.node(), to.busAddress, message);
  }

  // --- metrics, thread-safe ---

  /** Returns the number of running requests, cancelled ones that have not settled included. */
  public int invocations() {
    return invocations.getAcquire();
  }

  /** Returns the number of remote router loops with a table here; approximate off the loop. */
  public int peers() {
    return peers.size();
  }
}
