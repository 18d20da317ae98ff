package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.Admission;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.Load;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.protocol.port.SlotLease;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.slots.Grant;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.stream.InboundStream;
import dev.berth.stream.StreamWindow;
import io.vertx.core.buffer.Buffer;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One request on its way through the router. It is everything the request needs in one object: the
 * waiter's owner, the entry of the pending table and of the deadline ring. It is over 500 lines
 * with all of them, since each object more is one more for every request.
 *
 * <p>Who owes the slot: for a replica here, this call until the message is sent, then the replica.
 * For one elsewhere the slot is taken on arrival, and this call only counts it as its own.
 */
public final class RoutedCall extends SlotRequest {
  private static final long UNKNOWN = -1;

  /** Refusals of a dispatch that may have left its lease as it was. */
  private static final Set<Refusal> BESIDE_ITS_TOKEN =
      EnumSet.of(Refusal.TOO_LATE, Refusal.OVERLOADED, Refusal.UNREADABLE, Refusal.RECALLED);

  /** How much more rarely a call that is known to run is asked after. */
  private static final int ACCEPTED_RECALLS = 10;

  private final Request request;
  private final CallOwner owner;
  String requestId; // empty until sent, when the caller named none
  private long waitedNanos = UNKNOWN; // from its arrival until it was called; unknown off the loop
  private final @Nullable HeldSlot selection; // when dispatched
  private @Nullable RoutedReplica only; // of a broadcast: no other replica would do
  private Admission admission = Admission.Held.HELD;
  private boolean counted; // as sent; ended then follows exactly once
  private boolean routed; // its caller was told
  private boolean accepted; // it is known to run elsewhere
  private final @Nullable OutgoingBody outgoing; // what of the body does not travel inside
  private @Nullable InboundStream stream;
  private int firstCredit; // bytes, until they are answered
  private @Nullable StreamWindow window; // while streaming
  private long sentNanos = UNKNOWN; // while someone is to be told of its answer

  /**
   * Routes a request that came in on a loop. Call on that loop.
   *
   * @param owner told once; possibly before this returns when the request is refused at once
   * @param nowNanos now, on the loop's clock: whoever has just read it spares another look
   * @return the call, to cancel it
   */
  public static RoutedCall start(
      DeploymentRouter router, RouterLoop loop, Request request, CallOwner owner, long nowNanos) {
    RoutedCall call = of(router, loop, request, owner, null);
    call.waitedNanos = nowNanos - owner.arrivedNanos();
    call.begin();
    return call;
  }

  /**
   * A call that is to find a slot. Any thread; it begins on its loop.
   *
   * @param within the request while whose handling it is made, and that it is explained with
   */
  public static RoutedCall of(
      DeploymentRouter router,
      RouterLoop loop,
      Request request,
      CallOwner owner,
      @Nullable RequestContext within) {
    router.counters.calls.increment();
    RoutedCall call = new RoutedCall(router, loop, request, owner, null);
    if (within != null) {
      call.recorder = router.explained(loop, within, request, owner.methodName());
    }
    return call;
  }

  /**
   * @param selection whose slot it runs on; null when it is to find one
   */
  RoutedCall(
      DeploymentRouter router,
      RouterLoop loop,
      Request request,
      CallOwner owner,
      @Nullable HeldSlot selection) {
    super(router, loop, owner.deadlineNanos());
    this.request = request;
    this.owner = owner;
    this.requestId = owner.requestId();
    this.recorder = owner.explaining();
    this.selection = selection;
    this.outgoing = OutgoingBody.of(this, request);
  }

  /** Makes this replica the only one that would do; before it begins. */
  public void goOnlyTo(RoutedReplica replica) {
    only = replica;
  }

  // --- getting there ---

  @Override
  long holdAtOnce() {
    return Grant.RUN;
  }

  @Override
  boolean waits() {
    return !owner.isSpare();
  }

  @Override
  boolean use(Grant granted, boolean waited) {
    SlotLease lease = granted.lease();
    if (lease != null && lease.consume() != null) {
      return false; // this loop was blocked for longer than the hold
    }
    RoutedReplica to = java.util.Objects.requireNonNull(granted.replica());
    if (owner.isSpare() && !router.hasFree(1)) { // others took at the same time
      granted.giveBack();
      router.pumpIfWaiting();
      return false;
    }
    offer = granted.offer();
    if (to.here()) {
      goOn(to, Admission.Held.HELD);
    } else {
      takePlace();
      goOn(to, offer == null ? Admission.IfFree.IF_FREE : new Admission.Token(offer.token()));
    }
    return true;
  }

  /** Starts on the slot of a selection. */
  void dispatch() {
    assert loop.isHere();
    HeldSlot held = java.util.Objects.requireNonNull(selection);
    if (done) {
      router.counters.undispatched.increment(); // cancelled before it came here
      held.releaseSlot();
      return;
    }
    router.dispatched(loop, held.gapNanos());
    scheduleDeadline();
    RoutedReplica to = held.replica;
    if (isPastDeadline() || to.gone()) {
      held.releaseSlot();
      end(isPastDeadline() ? timeout() : gone(to), false);
      return;
    }
    Refusal refusal = held.lease == null ? null : held.lease.consume();
    if (recorder != null && held.lease != null) {
      recorder.consumedIf(refusal, to);
    }
    if (refusal == null) {
      goOn(held);
    } else {
      end(RefusedDispatch.asFailure(refusal, to), false);
    }
  }

  /** Starts on the slot of a selection that was taken for it, within time. */
  public void dispatchTaken() {
    assert loop.isHere();
    HeldSlot taken = java.util.Objects.requireNonNull(selection);
    router.dispatched(loop, taken.gapNanos());
    scheduleDeadline();
    if (recorder != null) {
      recorder.reserved(taken.replica, taken.gapNanos());
    }
    goOn(taken);
  }

  private void goOn(HeldSlot by) {
    goOn(by.replica, by.token == null ? Admission.Held.HELD : new Admission.Token(by.token));
  }

  private void goOn(RoutedReplica to, Admission by) {
    admission = by;
    attempt = by == Admission.Held.HELD ? loop.heldAttempt : loop.nextAttempt();
    if (requestId.isEmpty()) {
      requestId = loop.nextRequestId();
    }
    if (!counted) {
      counted = true;
      router.counters.sent.increment();
    }
    if (by == Admission.Held.HELD || selection != null) { // else it may still be refused
      tellRouted(to);
    }
    sentNanos = to.listener() == null ? UNKNOWN : loop.now();
    send(to);
  }

  /** Tells the ranker how long an answer took, or its absence; once for each sending. */
  private void answeredBy(@Nullable RoutedReplica from) {
    ReplicaRanker.Listener listener = sentNanos == UNKNOWN || from == null ? null : from.listener();
    if (listener != null) {
      long now = loop.now();
      listener.answered(now - sentNanos, now);
      sentNanos = UNKNOWN;
    }
  }

  @Override
  long routingKey() {
    return owner.routingKey();
  }

  @Override
  BusMessage message(RoutedReplica to, long id) {
    if (owner instanceof HandleCall call) { // else it came by HTTP, which has limits of its own
      call.checkHead(request, requestId);
    }
    if (firstCredit == 0) { // else it was refused with it, and takes it along
      firstCredit = loop.firstCredit();
    }
    return new BusMessage.CallRequest(
        id,
        loop.address,
        java.util.Objects.requireNonNull(attempt),
        to.addressFor(loop.index()),
        admission,
        loop.remainingMicros(callDeadlineNanos),
        loop.acceptMicros(to, callDeadlineNanos),
        firstCredit,
        Math.max(0, waitedNanos()) / 1_000,
        requestId,
        owner.methodName(),
        sessionId(),
        outgoing == null ? request : outgoing.opening(request),
        outgoing != null,
        recorder != null);
  }

  /** Its own, or that of the choose it is for. */
  private String sessionId() {
    String own = owner.sessionId();
    return own.isEmpty() && selection != null ? selection.leg.sessionId() : own;
  }

  /** Who never had to wait for a slot is sent when it is called: no need to look at the clock. */
  private long waitedNanos() {
    return sequence == 0 && waitedNanos >= 0 ? waitedNanos : loop.now() - owner.arrivedNanos();
  }

  @Override
  void recordSending(RequestRecorder into, RoutedReplica to) {
    into.sent(to, admission);
  }

  @Override
  void unsend(RoutedReplica to) {
    if (selection != null && selection.lease == null) {
      selection.releaseSlot();
    } else {
      super.unsend(to);
    }
  }

  @Override
  void unsent() {
    if (selection != null) {
      end(gone(selection.replica), false);
    } else {
      turnedAway();
      enqueueAgain();
    }
  }

  /** Not at a replica any more, and not over: it counts as waiting, not as running. */
  private void turnedAway() {
    if (counted) {
      counted = false;
      router.counters.turnedAway.increment();
    }
  }

  // --- answers ---

  @Override
  public boolean answered(BusMessage.Answer answer) {
    if (owner instanceof HandleCall) { // else no user code gets it
      loop.worksFor(parent());
    }
    if (answer instanceof BusMessage.CallResponse response) {
      responded(response);
    } else if (answer instanceof BusMessage.StreamFrame frame) {
      frame(frame);
    } else if (answer instanceof BusMessage.CallFailed failed) {
      failed(failed.failure(), failed.load(), failed.time());
    } else if (answer instanceof BusMessage.StreamReset reset) {
      failed(reset.kind().toException(reset.message()), reset.load(), null);
    } else if (answer instanceof BusMessage.RequestCredit credit) {
      running();
      if (outgoing != null) {
        outgoing.credit(credit.limit());
      }
    } else if (answer instanceof BusMessage.CallAccepted accepted) {
      accepted(accepted.load());
    } else {
      return super.answered(answer);
    }
    return true;
  }

  private void accepted(long load) {
    RoutedReplica from = replica;
    if (from != null) {
      from.reported(load);
      tellRouted(from);
      if (recorder != null && !accepted && stream == null) {
        recorder.accepted();
      }
      running();
    }
  }

  /** It is looked after more rarely then: its answer is lost only with more than itself. */
  private void running() {
    if (!accepted && stream == null) {
      accepted = true;
      lookAgainAfter(ACCEPTED_RECALLS * loop.limits.recallNanos());
    }
  }

  /** Has the replica tell how the call stands: it runs, it is over, or it never came. */
  private void recall(RoutedReplica by) {
    loop.send(
        by,
        new BusMessage.RecallCall(
            pendingId,
            loop.address,
            java.util.Objects.requireNonNull(attempt),
            by.addressFor(loop.index())));
  }

  @Override
  void unanswered(RoutedReplica by) {
    if (stream != null) { // its last frame may be lost: nothing after it would show that
      lookAgainAfter(ACCEPTED_RECALLS * loop.limits.recallNanos());
      sendCredit(opened().limit()); // which its link may not have taken
      recall(by);
      return;
    }
    if (!accepted && admission == Admission.IfFree.IF_FREE) {
      by.unanswered(); // else it may run, and need not have said anything
    }
    loop.recalls.increment();
    recall(by);
    lookAgainAfter((accepted ? ACCEPTED_RECALLS : 1) * loop.limits.recallNanos());
  }

  @Override
  void refused(Refusal reason, long load) {
    if (accepted) {
      settle(load);
      end(new BerthException.OutcomeUnknown("refused after it was accepted: " + reason), false);
      return;
    }
    if (selection == null) {
      turnedAway();
      super.refused(reason, load);
      return;
    }
    settle(load);
    selection.refusedAs = RefusedDispatch.asProblem(reason);
    if (recorder != null) {
      recorder.refused(selection.replica, reason);
    }
    router.refusedBy(selection.replica, reason);
    if (BESIDE_ITS_TOKEN.contains(reason)) {
      selection.releaseIfRemote(); // no harm where its token was consumed
    }
    end(isPastDeadline() ? timeout() : RefusedDispatch.asFailure(reason, selection.replica), false);
  }

  /** Why the reservation it was sent under no longer held there; null for every other failure. */
  public @Nullable Problem reservationProblem() {
    return selection == null ? null : selection.refusedAs;
  }

  /** Whether a replica may have begun to run it; on its loop. */
  public boolean sent() {
    return replica != null;
  }

  private void responded(BusMessage.CallResponse head) {
    RoutedReplica from = java.util.Objects.requireNonNull(replica);
    tellRouted(from);
    answeredBy(from);
    if (recorder != null) {
      recorder.answered(head.time(), outgoing != null, head.streamed());
    }
    if (!head.streamed()) {
      settle(head.load());
      finish();
      owner.onResponse(head.response(), from.info.replicaId());
      recorded();
      return;
    }
    if (stream != null) {
      return; // the head came twice
    }
    from.reported(head.load());
    StreamWindow opened =
        new StreamWindow(
            loop.streams(),
            loop.limits.streamWindowBytes(),
            firstCredit,
            loop.ports.loop(),
            this::sendCredit);
    creditAnswered();
    window = opened;
    InboundStream body = new InboundStream(opened, head.follows(), loop::run);
    stream = body;
    Response streamed = head.response().withBody(new Response.Body.Received(body, this::cancel));
    owner.onResponse(streamed, from.info.replicaId());
    opened.renew();
  }

  private void creditAnswered() {
    loop.firstCreditAnswered(firstCredit);
    firstCredit = 0;
  }

  private void sendCredit(long limit) {
    if (done || replica == null) {
      return;
    }
    boolean left =
        loop.send(
                replica,
                new BusMessage.StreamCredit(
                    pendingId, loop.address, replica.addressFor(loop.index()), limit))
            .isSent();
    if (!left) {
      lookAgainAfter(DeadlineRing.TICK_NANOS);
    }
  }

  private void frame(BusMessage.StreamFrame frame) {
    InboundStream body = stream;
    if (body == null) {
      // Its head is lost: no answer can be made of it.
      end(new BerthException.OutcomeUnknown("the head of the response was lost"), true);
      return;
    }
    switch (body.frame(frame.sequence(), frame.data(), frame.last())) {
      case TAKEN -> {
        opened().arrived(frame.data().length());
        body.deliver();
      }
      case LAST -> {
        settle(frame.load());
        finish();
        allArrived(body, frame.data().length());
        body.deliver();
        recorded();
      }
      case GAP -> end(new BerthException.OutcomeUnknown("a piece of the response was lost"), true);
      case EXCESS ->
          end(new BerthException.OutcomeUnknown("more came of it than was granted"), true);
      case DUPLICATE -> loop.duplicateDropped();
    }
  }

  /** The ingress says when a client has taken the rest; of anyone else it is not known. */
  private void allArrived(InboundStream body, int lastBytes) {
    if (body.isCreditedByReader()) {
      opened().arrived(lastBytes);
      opened().ended();
    } else {
      opened().close();
    }
  }

  private StreamWindow opened() {
    return java.util.Objects.requireNonNull(window);
  }

  /** The replica says that it ended without a response, or that its stream ended short. */
  private void failed(BerthException failure, long load, @Nullable HandlerTime time) {
    answeredBy(replica);
    if (recorder != null) {
      recorder.answered(time, outgoing != null, false);
    }
    settle(load);
    end(failure, false);
  }

  @Override
  void peerLost(boolean forGood) {
    if (forGood) {
      settle(Load.NONE);
    }
    String what = forGood ? "the replica was lost" : "the link to the replica broke";
    end(
        new BerthException.OutcomeUnknown(what + " after the request was sent; it may have run"),
        !forGood); // what runs there runs for nobody
  }

  // --- ending ---

  @Override
  void revoke(boolean timedOut) {
    if (replica == null || attempt == null) {
      return;
    }
    answeredBy(replica);
    BusMessage.CancelCall cancel =
        new BusMessage.CancelCall(
            pendingId, loop.address, attempt, replica.addressFor(loop.index()), timedOut);
    loop.send(replica, cancel);
    if (!replica.here() && !timedOut && loop.cancelled.repeat(cancel)) {
      pendingId = PendingTable.FULL; // the place is the cancel's; a deadline the replica knows
    }
    if (selection != null && stream == null) {
      selection.releaseIfRemote(); // in case the token has not been consumed
    }
  }

  /** Sends a piece of the body; false when the transport takes none now. */
  boolean sendFrame(int sequence, Buffer data, boolean last) {
    RoutedReplica to = java.util.Objects.requireNonNull(replica);
    return loop.send(
            to,
            new BusMessage.RequestFrame(
                pendingId, loop.address, to.addressFor(loop.index()), sequence, data, last))
        .isSent();
  }

  /** The body cannot be completed, so that neither can the call. */
  void bodyFailed(BerthException failure) {
    if (!done) {
      end(failure, true);
    }
  }

  /** Everything that a finished call owes, once. */
  private void finish() {
    done = true;
    loop.ring().cancel(this);
    releaseAccounts();
  }

  private void releaseAccounts() {
    leaveParent();
    if (outgoing != null) {
      outgoing.stop();
    }
    if (selection != null) {
      selection.forget();
    }
    creditAnswered();
    if (counted) {
      counted = false;
      router.counters.ended.increment();
    }
  }

  private void tellRouted(RoutedReplica to) {
    if (routed) {
      return;
    }
    routed = true;
    if (selection == null) { // else its choice was counted
      fulfilled();
    }
    owner.onRouted(to.info.replicaId());
  }

  @Override
  void fail(BerthException failure) {
    releaseAccounts();
    if (window != null) {
      window.close();
    }
    InboundStream body = stream;
    if (body != null) {
      body.fail(failure);
    } else {
      owner.onFailure(failure);
    }
    recorded();
  }

  /** Its caller has been told. */
  private void recorded() {
    if (recorder != null) {
      recorder.endOfCall();
    }
  }

  private static BerthException gone(RoutedReplica replica) {
    return new BerthException.ReplicaUnavailable(
        "replica " + replica.info.replicaId() + " is no longer there");
  }

  // --- waiting ---

  @Override
  public boolean accepts(RoutedReplica candidate) {
    return candidate.routable() && candidate != overloaded && (only == null || only == candidate);
  }

  @Override
  public boolean picky() {
    return only != null;
  }

  @Override
  public boolean hopeless() {
    return only != null && !only.routable();
  }

  @Override
  BerthException unavailable() {
    return only == null ? super.unavailable() : gone(only);
  }

  @Override
  public long holdNanos() {
    return DeploymentRouter.HAND_OVER_NANOS;
  }

  @Override
  @Nullable RequestContext parent() {
    return owner.parent();
  }

  @Override
  int queuedBytes() {
    return outgoing == null ? ((Request.Body.Whole) request.body()).length() : outgoing.heldBytes();
  }
}
