package dev.berth.replica;

import dev.berth.api.BerthException.Kind;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
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
import dev.berth.protocol.Load;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.AttemptState;
import dev.berth.protocol.port.InstancePorts;
import dev.berth.protocol.port.LoopPorts;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.Slots;
import dev.berth.stream.StreamLedger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The replicas of one event loop, and what runs on them: takes the messages of its bus address,
 * admits requests at most once, and looks after deadlines and streams with one tick.
 *
 * <p>At most once: an attempt that was granted, refused or released is remembered, so that a
 * duplicate is dropped. It is dropped without an answer: a refusal says "did not run", and would
 * make the router try a request again that runs.
 *
 * <p>All methods belong to the loop unless they say otherwise.
 *
 * <p>Over 500 lines: what each message does to the tables of replicas, routers and requests, which
 * change together and have one owner. What lasts beyond a message stands apart: {@link Invocation},
 * {@link RouterPeer}, {@link RefusedRouters}.
 */
public final class ReplicaLoop {
  /** How often {@link #tick} is to be called. */
  public static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

  /** Router loops of other instances this loop keeps tables for; more are refused. */
  public static final int MAX_PEERS = 4_096;

  /** Replicas of an instance. */
  static final int MAX_ORDINALS = 65_536;

  /** Event loops of an instance whose routers are found by index. */
  private static final int MAX_LOOPS = 1_024;

  private final String node;
  private final int index;
  final LoopPorts ports; // any thread
  private final long originNanos; // moments count from here, so that they compare by <
  final ReplicaLimits limits;
  final BodyBounds bodyBounds;
  final StreamLedger streams;

  private @Nullable HostedReplica[] hosted = new HostedReplica[8]; // by ordinal
  private @Nullable RouterPeer[] ownPeers = new RouterPeer[4]; // by loop of this instance
  private final Map<RouterAddress, RouterPeer> peers =
      new ConcurrentHashMap<>(); // keys: any thread
  private @Nullable RouterPeer lastPeer;
  private @Nullable Invocation first; // of all that run
  private long earliest = InvocationContext.NEVER; // no later than the first moment anything wants
  private final ArrayList<Invocation> due = new ArrayList<>();
  private final ArrayList<BooleanSupplier> leaving = new ArrayList<>(); // with last words to send

  private final AtomicInteger invocations = new AtomicInteger(); // running now; the loop writes
  private final LongAdder duplicates = new LongAdder();
  private final LongAdder falselyHeld = new LongAdder();

  /**
   * @param instance where it is
   * @param index the event loop's index within it
   * @param bodyBounds shared by the loops of an instance
   * @param streams what answers hold; shared by the loops and routers of an instance
   */
  public ReplicaLoop(
      InstancePorts instance,
      int index,
      ReplicaLimits limits,
      BodyBounds bodyBounds,
      StreamLedger streams) {
    this.node = instance.node();
    this.index = index;
    this.ports = instance.loops().get(index);
    this.originNanos = ports.nanoClock().getAsLong();
    this.limits = limits;
    this.bodyBounds = bodyBounds;
    this.streams = streams;
  }

  /** The event loop's index within the instance. Any thread. */
  public int index() {
    return index;
  }

  // --- messages ---

  /** Takes one message of this loop's address. */
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
    } // else it is for a router, and means nothing here
  }

  private void onCall(CallRequest message) {
    HostedReplica host = find(message.target());
    if (host == null) {
      refuse(message, addressRefusal(message.target()), Load.NONE);
      return;
    }
    boolean held = message.admission() == Admission.Held.HELD;
    if (held && !node.equals(message.source().node())) {
      // Only this instance can take a slot without a message: the sender lies, or is lost.
      falselyHeld.increment();
      refuse(message, Refusal.UNKNOWN_TOKEN, host.replica.load());
      return;
    }
    RouterPeer peer = peer(message.source());
    Invocation before = peer == null ? null : peer.find(message.callId());
    if (before != null && before.attempt.equals(message.attempt())) {
      duplicates.increment();
      return;
    }
    if (!held && peer != null && peer.isOutdated(message.callId(), message.attempt())) {
      duplicates.increment(); // its router waits for it no more
      return;
    }
    Refusal refusal = held ? null : takeSlot(host, message);
    if (refusal == null) {
      refusal = unfit(host, peer, message);
      if (refusal == null && peer != null) {
        run(host, peer, message);
        return;
      }
      host.replica.settleSlot(); // a held one's too: its slot came with the message
    }
    if (refusal == Refusal.REVOKED) {
      duplicates.increment();
    } else if (refusal != null) {
      refuse(host, message, refusal, message.waitedMicros());
    }
  }

  /**
   * Acceptance, atomically with the slot. Comes before every other check: it alone knows a repeated
   * attempt, which must not be told "did not run" for whatever reason.
   */
  private static @Nullable Refusal takeSlot(HostedReplica host, CallRequest message) {
    Slots slots = host.replica.slots();
    if (host.stopped) {
      Refusal refusal = slots.tryAcquire(message.attempt()); // never granted: it drains
      return refusal == Refusal.REVOKED ? refusal : Refusal.UNKNOWN_REPLICA;
    }
    if (message.admission() instanceof Admission.Token token) {
      Refusal refusal = slots.consume(token.token(), message.attempt());
      if (refusal == null) {
        host.replica.refused.used(
            message.source(), token.token().sequence(), message.waitedMicros());
      }
      return refusal;
    }
    return slots.tryAcquire(message.attempt());
  }

  /** Why a request that has a slot does not run all the same. */
  private static @Nullable Refusal unfit(
      HostedReplica host, @Nullable RouterPeer peer, CallRequest message) {
    if (host.stopped) {
      return Refusal.UNKNOWN_REPLICA;
    }
    if (message.deadlineMicros() == 0 || message.acceptMicros() == 0) {
      return Refusal.TOO_LATE;
    }
    return peer == null || !RouterPeer.hasPlace(message.callId()) ? Refusal.OVERLOADED : null;
  }

  private void run(HostedReplica host, RouterPeer peer, CallRequest message) {
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
      forgotten.cancel(); // its router gave its place to another: its cancel was lost on the way
    }
    boolean streams = message.bodyFollows() || host.streamsRequests(message.methodName());
    boolean accept = message.admission() == Admission.IfFree.IF_FREE;
    boolean later = accept && !streams && host.runsOnThread(message.methodName());
    if (accept && !later) {
      send(peer, new CallAccepted(message.callId(), host.replica.load()));
    }
    if (streams) {
      invocation.receive(message);
    } else {
      invocation.invoke(message.request());
    }
    if (later && !invocation.hasEnded()) { // there is a thread for it
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
    if (invocation != null) { // else it is over, and its sender will learn it
      ports.loop().worksFor(invocation);
      invocation.requestFrame(message);
    }
  }

  /** What has not come by now never runs; what runs goes on. */
  private void onRecall(RecallCall message) {
    HostedReplica host = find(message.target());
    long load = host == null ? Load.NONE : host.replica.load();
    Invocation invocation = running(message.source(), message.callId());
    if (invocation != null && invocation.attempt.equals(message.attempt())) {
      send(invocation.source, new CallAccepted(message.callId(), load));
      return;
    }
    if (repeatLastWord(message.source(), message.callId())) {
      return;
    }
    AttemptState known =
        host == null ? AttemptState.FORGOTTEN : host.replica.slots().recall(message.attempt());
    switch (known) {
      case NEVER, REVOKED, REFUSED -> refuse(message, Refusal.RECALLED, load);
      case GRANTED, LEASED, FORGOTTEN -> {
        String why = "the request ran, or may have, and its answer was lost";
        fail(message, Kind.OUTCOME_UNKNOWN, why, load);
      }
    }
  }

  private void onCancel(CancelCall message) {
    if (!message.timedOut() && !node.equals(message.source().node())) {
      fail(message, Kind.CANCELLED, "", Load.NONE);
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
    HostedReplica host = find(message.target());
    if (host != null) {
      host.replica
          .slots()
          .release(message.attempt()); // its request may be late: keep it from running
    }
  }

  private void onReserve(ReserveSlot message) {
    HostedReplica host = find(message.target());
    if (host == null || host.stopped) {
      refuse(message, addressRefusal(message.target()), Load.NONE);
      return;
    }
    if (message.acceptMicros() == 0) {
      refuse(message, Refusal.TOO_LATE, host.replica.load());
      return;
    }
    RouterPeer peer = peer(message.source());
    if (peer != null) { // else what it holds runs out by itself when it is lost
      peer.incarnation = message.attempt().incarnation();
    }
    Slots slots = host.replica.slots();
    Slots.Reservation reservation =
        slots.reserve(
            message.attempt(), TimeUnit.MILLISECONDS.toNanos(Math.max(0, message.ttlMs())));
    if (reservation instanceof Slots.Reservation.Refused refused) {
      refuse(host, message, refused.reason(), 0);
      return;
    }
    SlotLease lease = ((Slots.Reservation.Granted) reservation).lease();
    long ttlNanos = Math.max(0, lease.deadlineNanos() - ports.nanoClock().getAsLong());
    reserved(message, message.attempt(), lease.token(), ttlNanos, slots);
  }

  private void onRelease(ReleaseSlot message) {
    HostedReplica host = find(message.target());
    if (host != null) {
      host.replica.slots().release(message.attempt());
    }
    long load = host == null ? Load.NONE : host.replica.load();
    refuse(message, Refusal.RELEASED, load);
  }

  private void onRenew(RenewLease message) {
    HostedReplica host = find(message.target());
    if (host == null || host.stopped) {
      refuse(message, addressRefusal(message.target()), Load.NONE);
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
        new SlotReserved(message.callId(), attempt, message.target(), token, micros, slots.load()));
  }

  private void refuse(HostedReplica host, ToReplica message, Refusal reason, long waitedMicros) {
    refuse(message, reason, host.replica.load());
    RouterAddress to = message.source();
    if (reason == Refusal.FULL && !node.equals(to.node())) { // our own are told by the slots
      host.replica.refused.note(host.replica.slots(), to, message.target(), waitedMicros);
    }
  }

  // --- tables ---

  private @Nullable HostedReplica find(ReplicaAddress target) {
    HostedReplica host = at(target.ordinal());
    return host != null && host.replica.epoch() == target.epoch() ? host : null;
  }

  private @Nullable HostedReplica at(int ordinal) {
    return ordinal >= 0 && ordinal < hosted.length ? hosted[ordinal] : null;
  }

  private Refusal addressRefusal(ReplicaAddress target) {
    HostedReplica host = at(target.ordinal());
    return host == null || host.replica.epoch() == target.epoch()
        ? Refusal.UNKNOWN_REPLICA
        : Refusal.FOREIGN_EPOCH;
  }

  private @Nullable Invocation running(RouterAddress source, long callId) {
    RouterPeer peer = knownPeer(source);
    return peer == null ? null : peer.find(callId);
  }

  private @Nullable RouterPeer knownPeer(RouterAddress source) {
    RouterPeer last = lastPeer;
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

  /** The table of a router; null when there are too many. */
  private @Nullable RouterPeer peer(RouterAddress source) {
    RouterPeer known = knownPeer(source);
    if (known == null) {
      known = newPeer(source);
    }
    if (known != lastPeer) { // a store of a reference costs more than to look
      lastPeer = known;
    }
    return known;
  }

  private @Nullable RouterPeer newPeer(RouterAddress source) {
    RouterPeer fresh = new RouterPeer(source, !isOwn(source));
    if (isOwn(source)) {
      if (source.loop() >= ownPeers.length) {
        ownPeers = Arrays.copyOf(ownPeers, source.loop() + 1);
      }
      ownPeers[source.loop()] = fresh;
      return fresh;
    }
    if (peers.size() >= MAX_PEERS) {
      lastPeer = null; // it may be among those that go
      if (!peers.values().removeIf(RouterPeer::isEmpty)) {
        return null;
      }
    }
    peers.put(source, fresh);
    return fresh;
  }

  private void add(Invocation invocation) {
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

  /** Called every {@link #TICK_NANOS}: deadlines, graces, idle streams, drains. */
  public void tick() {
    assert isHere();
    long now = now();
    if (earliest <= now) {
      lookAtDue(now);
    }
    for (int i = leaving.size() - 1; i >= 0; i--) {
      if (leaving.get(i).getAsBoolean()) {
        leaving.remove(i);
      }
    }
  }

  private void lookAtDue(long now) {
    for (Invocation each = first; each != null; each = each.next) {
      if (each.dueAt <= now) {
        due.add(each); // first all, then act: acting changes the list
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

  /** Nanoseconds since this loop was made. Any thread. */
  long now() {
    return ports.nanoClock().getAsLong() - originNanos;
  }

  // --- what the instance does ---

  /** Takes requests for this replica from now on. */
  void host(HostedReplica host) {
    assert isHere();
    int ordinal = host.replica.ordinal();
    if (ordinal >= hosted.length) {
      hosted = Arrays.copyOf(hosted, Math.max(2 * hosted.length, ordinal + 1));
    }
    hosted[ordinal] = host;
  }

  /** Forgets a replica that stopped long enough ago. */
  void unhost(HostedReplica host) {
    assert isHere();
    if (at(host.replica.ordinal()) == host) {
      hosted[host.replica.ordinal()] = null;
    }
  }

  /** Ends what a replica runs: callers learn that the outcome is unknown. */
  void kill(HostedReplica host) {
    assert isHere();
    host.retire();
    for (Invocation each : running()) {
      if (each.host == host) {
        each.kill();
      }
    }
  }

  /** Looks at a replica that drains or has stopped with each tick. */
  void watch(BooleanSupplier lookAfter) {
    assert isHere();
    leaving.add(lookAfter);
  }

  /**
   * An instance left or died: what its routers asked for is cancelled, the leases that they hold
   * end, and they are forgotten. Not for a link that broke: then they may live. Any thread.
   *
   * @param lost its name on the bus, of this one start of it
   */
  public void routersLost(String lost) {
    run(
        () -> {
          for (Invocation each : running()) {
            if (each.source.address.node().equals(lost)) {
              each.cancel();
            }
          }
          lastPeer = null;
          peers.values().removeIf(peer -> peer.address.node().equals(lost) && forget(peer));
          for (HostedReplica host : hosted) {
            if (host != null) {
              host.replica.refused.nodeLeft(lost);
            }
          }
        });
  }

  private boolean forget(RouterPeer peer) {
    for (HostedReplica host : hosted) {
      if (host != null) {
        host.replica.slots().releaseOf(peer.incarnation);
      }
    }
    return true;
  }

  private List<Invocation> running() {
    List<Invocation> all = new ArrayList<>();
    for (Invocation each = first; each != null; each = each.next) {
      all.add(each);
    }
    return all;
  }

  // --- the loop itself ---

  /** Whether the caller is on this loop. Any thread. */
  boolean isHere() {
    return ports.loop().isHere();
  }

  /** Runs a task on this loop, later. Any thread. */
  void execute(Runnable task) {
    ports.loop().execute(task);
  }

  /** Runs a task on this loop: at once when the caller is there already. Any thread. */
  void run(Runnable task) {
    ports.loop().run(task);
  }

  /**
   * Whether an answer that is larger than a message may leave as one all the same, as messages
   * within an instance are not copied. It is counted from now on; its router goes on from there.
   */
  boolean tryCarry(RouterPeer to, int bytes) {
    return node.equals(to.address.node()) && streams.tryCarry(bytes);
  }

  /** Sends how a request ended without a whole answer, until its link has taken it. */
  void sendLast(RouterPeer to, BusMessage.Answer word) {
    to.ended(word);
    if (send(to, word) == SendResult.NOT_NOW) {
      leaving.add(() -> send(to, word) != SendResult.NOT_NOW);
    }
  }

  /** Tells a router again how a call ended; false when that is not remembered. */
  private boolean repeatLastWord(RouterAddress source, long callId) {
    RouterPeer peer = knownPeer(source);
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

  /** Tells the routers of other instances, unasked, of the slots of a replica. Any thread. */
  void tell(ReplicaLoad load) {
    peers.keySet().forEach(router -> send(router, load));
  }

  private void fail(ToReplica message, Kind kind, String why, long load) {
    send(message.source(), new CallFailed(message.callId(), kind, why, -1, -1, load, null));
  }

  private void send(RouterAddress to, BusMessage message) {
    ports.bus().send(to.node(), to.busAddress(), message);
  }

  SendResult send(RouterPeer to, BusMessage message) {
    return ports.bus().send(to.address.node(), to.busAddress, message);
  }

  // --- figures, any thread ---

  /** Requests that run, cancelled ones that have not settled included. */
  public int invocations() {
    return invocations.getAcquire();
  }

  /** Requests dropped because their attempt had been seen or released. */
  public long duplicates() {
    return duplicates.sum();
  }

  /** Router loops of other instances it keeps tables for; approximate off the loop. */
  public int peers() {
    return peers.size();
  }

  /** Requests from elsewhere that claimed to hold a slot here. */
  public long falselyHeld() {
    return falselyHeld.sum();
  }
}
