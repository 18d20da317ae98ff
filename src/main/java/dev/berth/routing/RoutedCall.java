package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.Admission;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.NotRunReason;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotDemand;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.TickTimer;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.slots.Grant;
import dev.berth.routing.slots.ReplicaSet;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.stream.InboundStream;
import dev.berth.stream.StreamWindow;
import dev.berth.view.RequestExplanation.RequestStep.RequestStepKind;
import io.vertx.core.buffer.Buffer;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The routing state of one request: waiter owner, pending entry and ring entry in one object. It
 * has over 500 lines with all of them, since each further object would be allocated per request.
 *
 * <p>This call owns the slot of a local replica until the message is sent; then the replica owns
 * it. A remote replica acquires its slot when the message arrives, and this call only counts that
 * slot.
 */
public final class RoutedCall extends SlotRequest {
  private static final long UNKNOWN = -1;

  /** Refusals of a dispatch that may leave its lease unconsumed. */
  private static final Set<Refusal> BESIDE_ITS_TOKEN =
      EnumSet.of(Refusal.TOO_LATE, Refusal.OVERLOADED, Refusal.UNREADABLE, Refusal.RECALLED);

  /** Interval of a waiting call's further looks for an open fallback. */
  private static final long LATE_RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Time after a refusal for a limit until a waiting call tries the replica again. */
  private static final long LIMIT_RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Factor on the recall interval of a call that is known to run. */
  private static final int ACCEPTED_RECALLS = 10;

  private final Request request;
  private final CallObserver owner;
  String requestId; // empty until sent if the caller named none
  private long waitedNanos = UNKNOWN; // from arrival to start; else UNKNOWN
  private final @Nullable HeldSlot selection; // set for a dispatch
  private @Nullable RoutedReplica only; // no other replica is accepted
  private @Nullable RoutedReplica limitedBy; // refused the call for its limit; until a retry
  private boolean slotless; // sent to that replica without a slot
  private Admission admission = Admission.AcquiredSlot.HELD;
  private boolean counted; // counted as sent; one count as ended or turned away follows
  private boolean routed; // onRouted was called
  private boolean accepted; // the replica is known to run the call
  private final @Nullable OutgoingBody outgoing; // body bytes beyond the request message
  private @Nullable InboundStream stream;
  private int firstCredit; // bytes granted with the request; 0 after a reply
  private @Nullable StreamWindow window; // set while streaming
  private long sentNanos = UNKNOWN; // send time, while a ranker listens for the reply

  /**
   * Routes a request that arrived on a loop. Call on that loop.
   *
   * @param owner receives the one result, possibly before this returns
   * @param nowNanos the current time on the loop's clock; a value just read saves another read
   * @return the call, for its cancellation
   */
  public static RoutedCall start(
      DeploymentRouter router,
      RouterLoop loop,
      Request request,
      CallObserver owner,
      long nowNanos) {
    RoutedCall call = of(router, loop, request, owner, null);
    call.waitedNanos = nowNanos - owner.arrivedNanos();
    call.begin();
    return call;
  }

  /**
   * Routes a request to one replica, as {@link #start} does.
   *
   * @param slotless whether the request takes no slot and never waits
   */
  public static RoutedCall start(
      DeploymentRouter router,
      RouterLoop loop,
      Request request,
      CallObserver owner,
      RoutedReplica only,
      boolean slotless) {
    RoutedCall call =
        slotless
            ? new RoutedCall(router, loop, request, owner, null)
            : of(router, loop, request, owner, null);
    call.goOnlyTo(only);
    call.slotless = slotless;
    call.begin();
    return call;
  }

  /**
   * Returns a call without a slot. Thread-safe; the call begins on its loop.
   *
   * @param within the request whose handler makes this call, and whose explanation includes it
   */
  public static RoutedCall of(
      DeploymentRouter router,
      RouterLoop loop,
      Request request,
      CallObserver owner,
      @Nullable RequestContext within) {
    router.counters.calls.increment();
    RoutedCall call = new RoutedCall(router, loop, request, owner, null);
    if (within != null) {
      call.recorder = router.explained(loop, within, request, owner.methodName());
    }
    return call;
  }

  /**
   * @param selection the selection whose slot the call uses; null to acquire a slot
   */
  RoutedCall(
      DeploymentRouter router,
      RouterLoop loop,
      Request request,
      CallObserver owner,
      @Nullable HeldSlot selection) {
    super(router, loop, owner.deadlineNanos());
    this.request = request;
    this.owner = owner;
    this.requestId = owner.requestId();
    this.recorder = owner.explaining();
    this.selection = selection;
    this.outgoing = OutgoingBody.of(this, request);
  }

  /** Restricts the call to one replica. Call before the call begins. */
  public void goOnlyTo(RoutedReplica replica) {
    only = replica;
  }

  // --- acquiring a slot and sending ---

  @Override
  long holdAtOnce() {
    return Grant.RUN;
  }

  @Override
  boolean waits() {
    return !owner.isSpare();
  }

  @Override
  boolean isWanted() {
    return owner.isWanted();
  }

  @Override
  boolean use(Grant granted, boolean waited) {
    SlotLease lease = granted.lease();
    RoutedReplica to = java.util.Objects.requireNonNull(granted.replica());
    if (lease != null && lease.consume() != null) {
      granted.giveUpSeat();
      to.limits.giveBack(limit());
      return false; // this loop was blocked for longer than the hold
    }
    if (owner.isSpare() && !router.hasFree(1)) { // others acquired slots meanwhile
      granted.giveBack(this);
      router.pumpIfWaiting();
      return false;
    }
    offer = granted.offer();
    if (to.here()) {
      if (!limit().isEmpty()) {
        takePlace(); // the replica may refuse it
      }
      BatchGroup batch = granted.batch();
      goOn(to, batch == null ? Admission.AcquiredSlot.HELD : new Admission.BatchSeat(batch));
    } else {
      takePlace();
      goOn(to, offer == null ? Admission.IfFree.IF_FREE : new Admission.Token(offer.token()));
    }
    return true;
  }

  @Override
  public @Nullable String batchKey() {
    BatchSettings rules = batching();
    return rules == null ? null : rules.keyOf(owner.methodName(), request.headers());
  }

  /** Returns the rules of its batches; null if it runs alone. */
  private @Nullable BatchSettings batching() {
    BatchSettings rules = router.settings().batching();
    boolean joins =
        rules != null && !owner.isSpare() && router.replicas.batches(owner.methodName());
    return joins ? rules : null;
  }

  @Override
  boolean sendsWithoutSlot() {
    if (slotless) {
      goOn(java.util.Objects.requireNonNull(only), Admission.NoSlot.NO_SLOT);
    }
    return slotless;
  }

  @Override
  boolean countsSlot() {
    return !slotless;
  }

  /** Starts the call on the slot of its selection. */
  void dispatch() {
    assert loop.isHere();
    HeldSlot held = java.util.Objects.requireNonNull(selection);
    if (done) {
      router.counters.undispatched.increment(); // cancelled before this task ran
      held.releaseSlot();
      return;
    }
    router.dispatched(loop, held.gapNanos());
    scheduleDeadline();
    RoutedReplica to = held.replica;
    if (isPastDeadline() || to.isRemoved()) {
      held.releaseSlot();
      end(isPastDeadline() ? timeout() : replicaUnavailable(to), false);
      return;
    }
    Refusal refusal = held.lease == null ? null : held.lease.consume();
    if (recorder != null && held.lease != null) {
      recorder.recordConsumedIf(refusal, to);
    }
    if (refusal == null) {
      goOn(held);
    } else {
      end(DispatchRefusalMapping.asFailure(refusal, to), false);
    }
  }

  /** Starts the call on the slot of a selection that {@link LeasedSelection#take} took in time. */
  public void dispatchTaken() {
    assert loop.isHere();
    HeldSlot taken = java.util.Objects.requireNonNull(selection);
    router.dispatched(loop, taken.gapNanos());
    scheduleDeadline();
    if (recorder != null) {
      recorder.recordReservation(taken.replica, taken.gapNanos());
    }
    goOn(taken);
  }

  private void goOn(HeldSlot by) {
    goOn(
        by.replica, by.token == null ? Admission.AcquiredSlot.HELD : new Admission.Token(by.token));
  }

  private void goOn(RoutedReplica to, Admission by) {
    admission = by;
    attempt = by.isHeld() ? loop.heldAttempt : loop.nextAttempt();
    if (requestId.isEmpty()) {
      requestId = loop.nextRequestId();
    }
    if (!counted && !slotless) {
      counted = true;
      router.counters.sent.add(cost());
    }
    if (by.isHeld() || selection != null) { // else the replica may still refuse
      tellRouted(to);
    }
    sentNanos = to.listener() == null ? UNKNOWN : loop.now();
    send(to);
  }

  /** Reports the time since the send to the ranker, at the reply or a cancel; once per send. */
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
    if (owner instanceof HandleCall call) { // an HTTP request was limited by the ingress
      call.checkHead(request, requestId);
    }
    if (firstCredit == 0) { // else left over from a refused send
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
        outgoing == null ? request : outgoing.opening(request, to),
        bodyFollows(),
        recorder != null,
        owner.origin(),
        to.here() || batching() == null ? cost() : SlotDemand.of(cost(), behind()));
  }

  /** Returns the share of one replica in the waiters, which all replicas serve. */
  private int behind() {
    int replicas = Math.max(1, router.replicas.eligible.length);
    return (router.queue.size() + replicas - 1) / replicas;
  }

  private boolean bodyFollows() {
    return outgoing != null && outgoing.follows;
  }

  /** Returns the owner's session id, or that of the choose if the owner has none. */
  private String sessionId() {
    String own = owner.sessionId();
    return own.isEmpty() && selection != null ? selection.leg.sessionId() : own;
  }

  /** Returns the wait before this send; a call that never queued reads no clock. */
  private long waitedNanos() {
    return sequence == 0 && waitedNanos >= 0 ? waitedNanos : loop.now() - owner.arrivedNanos();
  }

  @Override
  void recordSending(RequestRecorder into, RoutedReplica to) {
    into.recordSend(to, admission, cost());
  }

  @Override
  void unsend(RoutedReplica to) {
    if (slotless) {
      return;
    }
    if (selection != null && selection.lease == null) {
      selection.releaseSlot();
    } else {
      super.unsend(to);
      if (admission instanceof Admission.BatchSeat seat) {
        seat.group().withdraw();
      }
    }
  }

  @Override
  void unsent() {
    if (selection != null || slotless) {
      end(replicaUnavailable(selection != null ? selection.replica : only), false);
    } else {
      turnedAway();
      enqueueAgain();
    }
  }

  /** Counts the call as waiting: no replica has it, and it has not ended. */
  private void turnedAway() {
    if (counted) {
      counted = false;
      router.counters.turnedAway.add(cost());
    }
  }

  // --- replies ---

  @Override
  public boolean onReply(BusMessage.Answer answer) {
    if (owner instanceof HandleCall) { // else no user code receives the reply
      loop.worksFor(parent());
    }
    if (answer instanceof BusMessage.CallResponse response) {
      responded(response);
    } else if (answer instanceof BusMessage.StreamFrame frame) {
      frame(frame);
    } else if (answer instanceof BusMessage.CallRefused refused
        && refused.reason() == Refusal.NOT_RUN
        && stream == null) {
      onNotRun(refused);
    } else if (answer instanceof BusMessage.CallFailed failed && mayRunTwice(failed)) {
      onUnanswered(failed);
    } else if (answer instanceof BusMessage.CallFailed failed) {
      onFailureReply(failed.failure(), failed.load(), failed.time());
    } else if (answer instanceof BusMessage.StreamReset reset) {
      onFailureReply(reset.kind().toException(reset.message()), reset.load(), null);
    } else if (answer instanceof BusMessage.ResponseFields more) {
      onFields(more);
    } else if (answer instanceof BusMessage.RequestCredit credit) {
      running();
      if (outgoing != null) {
        outgoing.credit(credit.limit());
      }
    } else if (answer instanceof BusMessage.CallAccepted accepted) {
      accepted(accepted.load());
    } else {
      return super.onReply(answer);
    }
    return true;
  }

  private void onFields(BusMessage.ResponseFields more) {
    if (more.status() != 0 && stream == null) {
      owner.onInformational(more.fields());
    } else if (more.status() == 0 && stream != null) {
      stream.trailers(more.fields());
    }
  }

  private void accepted(long load) {
    RoutedReplica from = replica;
    if (from != null) {
      from.recordLoadReport(load);
      tellRouted(from);
      if (recorder != null && !accepted && stream == null) {
        recorder.recordAcceptance();
      }
      running();
    }
  }

  /** Recalls a running call less often: its reply is then lost only with other messages. */
  private void running() {
    if (!accepted && stream == null) {
      accepted = true;
      lookAgainAfter(ACCEPTED_RECALLS * loop.limits.recallNanos());
    }
  }

  /** Queries the call's state at the replica; a call that has not arrived will never run. */
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
    if (stream != null) { // a lost last frame would show in no later frame
      lookAgainAfter(ACCEPTED_RECALLS * loop.limits.recallNanos());
      sendCredit(streamWindow().limit()); // the link may have dropped the last one
      recall(by);
      return;
    }
    if (!accepted && admission == Admission.IfFree.IF_FREE) {
      by.unanswered(); // any other call may be running without a reply yet
    }
    loop.recalls.increment();
    recall(by);
    lookAgainAfter((accepted ? ACCEPTED_RECALLS : 1) * loop.limits.recallNanos());
  }

  @Override
  void onRefused(Refusal reason, long load) {
    if (accepted) {
      settle(load);
      end(new BerthException.OutcomeUnknown("refused after it was accepted: " + reason), false);
      return;
    }
    if (slotless) {
      settle(load);
      if (recorder != null) {
        recorder.recordRefusal(only, reason);
      }
      end(
          reason == Refusal.FULL
              ? router.backPressure("requests without a slot")
              : replicaUnavailable(java.util.Objects.requireNonNull(only)),
          false);
      return;
    }
    if (selection == null) {
      turnedAway();
      super.onRefused(reason, load);
      return;
    }
    settle(load);
    selection.refusedAs = DispatchRefusalMapping.asProblem(reason);
    if (recorder != null) {
      recorder.recordRefusal(selection.replica, reason);
    }
    router.refusedBy(selection.replica, reason);
    if (BESIDE_ITS_TOKEN.contains(reason)) {
      selection.releaseIfRemote(); // no effect if the token was consumed
    }
    end(
        isPastDeadline() ? timeout() : DispatchRefusalMapping.asFailure(reason, selection.replica),
        false);
  }

  /** Sends the call elsewhere after its replica certainly did not run it, or fails it. */
  private void onNotRun(BusMessage.CallRefused refused) {
    RoutedReplica refuser = java.util.Objects.requireNonNull(replica);
    NotRunReason why = refused.notRun();
    if (recorder != null) {
      String detail = Refusal.NOT_RUN + (why == null ? "" : ": " + why.text());
      recorder.recordNoAnswer(RequestStepKind.REFUSED, refuser, detail);
    }
    boolean mayRepeat = selection == null && !(accepted && bodyFollows());
    if (why != null && why.mayWait() && mayRepeat && !limit().isEmpty()) {
      limitedBy = refuser;
      refuser.limits.onRefused(limit(), why.text());
      leave(refused.load(), attempts, true);
      return;
    }
    int retryAfter = why == null ? -1 : Math.max(-1, why.retryAfterSeconds());
    leave(refused.load(), PastAttempts.without(refuser, retryAfter, null, attempts), mayRepeat);
  }

  /** Returns whether a call may run at another replica after one that may have run it. */
  private boolean mayRunTwice(BusMessage.CallFailed failed) {
    return failed.kind() == BerthException.Kind.OUTCOME_UNKNOWN
        && stream == null
        && selection == null
        && only == null
        && waits()
        && !bodyFollows()
        && firstRouter().proxying.idempotent();
  }

  private DeploymentRouter firstRouter() {
    DeploymentRouter first = router;
    for (PastAttempts each = attempts; each != null; each = each.before()) {
      first = each.place() instanceof DeploymentRouter left ? left : first;
    }
    return first;
  }

  /** Sends an idempotent call elsewhere after its replica received it and did not answer. */
  private void onUnanswered(BusMessage.CallFailed failed) {
    RoutedReplica by = java.util.Objects.requireNonNull(replica);
    answeredBy(by);
    if (recorder != null) {
      recorder.recordNoAnswer(RequestStepKind.UNANSWERED, by, failed.message());
    }
    leave(failed.load(), PastAttempts.without(by, -1, failed.failure(), attempts), true);
  }

  private void leave(long load, @Nullable PastAttempts next, boolean mayRepeat) {
    settle(load);
    turnedAway();
    accepted = false;
    replica = null;
    waitedNanos = UNKNOWN;
    attempts = next;
    if (!mayRepeat || isPastDeadline()) {
      end(isPastDeadline() ? timeout() : notRun(), false);
    } else if (!isWanted() || !leaves()) {
      enqueueAgain();
    }
  }

  private BerthException notRun() {
    return router.backPressure("no replica ran it", PastAttempts.retryAfterSeconds(attempts));
  }

  @Override
  BerthException outcome(BerthException failure) {
    BerthException unknown = PastAttempts.unknownOf(attempts);
    boolean claims = // that it did not run
        failure instanceof BerthException.BackPressure
            || failure instanceof BerthException.ReplicaUnavailable
            || failure instanceof BerthException.DeploymentUnavailable;
    return unknown != null && claims ? unknown : failure;
  }

  @Override
  boolean leaves() {
    DeploymentRouter next = fallback();
    if (next != null) {
      boolean ran = PastAttempts.unknownOf(attempts) != null;
      String reason = ran ? "no replica responded" : "no replica ran it";
      fallBack(next, PastAttempts.isRefused(attempts) ? reason : "all replicas are closed");
    } else if (isRefusedByAll()) {
      end(notRun(), false);
    } else {
      return false;
    }
    return true;
  }

  private void fallBack(DeploymentRouter next, String reason) {
    router.counters.fallbacks.increment();
    if (recorder != null) {
      recorder.recordFallback(next.deployment(), reason);
    }
    attempts = PastAttempts.with(router, true, attempts);
    waitedNanos = UNKNOWN;
    moveTo(next);
  }

  /** Returns whether a queue would admit a request, or a slot is free. */
  private static boolean hasPlace(DeploymentRouter at) {
    int max = at.settings().maxQueued();
    return max < 0 || at.queue.size() < max || at.hasFree(1);
  }

  @Override
  long lateNanos() {
    if (limitedBy != null) {
      return loop.now() + LIMIT_RETRY_NANOS;
    }
    long after = router.proxying.fallbackAfterNanos();
    return after < 0 || staysHere() ? NO_DEADLINE : sinceNanos() + after;
  }

  @Override
  void onLate(long now) {
    RoutedReplica limited = limitedBy;
    if (limited != null) {
      limitedBy = null;
      limited.limits.permitOne(limit());
      awaitUntil(lateNanos());
      router.queue.pump();
      return;
    }
    DeploymentRouter next = lateNanos() == NO_DEADLINE ? null : nextDeployment();
    if (next == null || !hasPlace(next)) {
      awaitUntil(now + LATE_RETRY_NANOS);
    } else if (leavesQueue()) { // else a grant is posted
      long millis = TimeUnit.NANOSECONDS.toMillis(now - sinceNanos());
      fallBack(next, "waited " + millis + " ms");
    }
  }

  private boolean isRefusedByAll() {
    return PastAttempts.isRefused(attempts) && !router.replicas.anyFor(this, false);
  }

  /** Returns the deployment to move to; null while a replica here is open to the call. */
  private @Nullable DeploymentRouter fallback() {
    if (staysHere()) {
      return null;
    }
    ReplicaSet set = router.replicas;
    boolean closed = PastAttempts.isRefused(attempts) || set.anyFor(this, false);
    return closed && !set.anyFor(this, true) ? nextDeployment() : null;
  }

  /**
   * Returns the first open fallback of this deployment, else of the one that the call left last,
   * and so on. None is used twice.
   */
  private @Nullable DeploymentRouter nextDeployment() {
    PastAttempts past = PastAttempts.with(router, true, attempts);
    DeploymentRouter next = null;
    for (PastAttempts each = past; next == null && each != null; each = each.before()) {
      next = each.place() instanceof DeploymentRouter left ? left.fallbackFor(this, past) : null;
    }
    return next;
  }

  private boolean staysHere() {
    return attempts == null && router.proxying.fallback().isEmpty()
        || selection != null
        || only != null
        || owner.isSpare();
  }

  @Override
  void onNoReplica() {
    if (staysHere() || !router.available() || isTooLarge()) {
      super.onNoReplica();
    } else if (!leaves()) {
      enqueueAgain(); // a replica opened meanwhile
    }
  }

  @Override
  boolean mayTryAgain() {
    return PastAttempts.isRefused(attempts) && !router.queue.hasTakersOr(loop.index());
  }

  /** Returns why the call's reservation no longer held; null for every other failure. */
  public @Nullable ReservationProblem reservationProblem() {
    return selection == null ? null : selection.refusedAs;
  }

  /** Returns whether a replica may have begun to run the call. Confined to the loop. */
  public boolean sent() {
    return replica != null || PastAttempts.unknownOf(attempts) != null;
  }

  private void responded(BusMessage.CallResponse head) {
    RoutedReplica from = java.util.Objects.requireNonNull(replica);
    tellRouted(from);
    answeredBy(from);
    if (recorder != null) {
      recorder.recordReply(head.time(), bodyFollows(), head.streamed());
    }
    if (!head.streamed()) {
      settle(head.load());
      finish();
      owner.onResponse(head.response(), from.info.replicaId());
      recorded();
      return;
    }
    if (stream != null) {
      return; // duplicate head
    }
    from.recordLoadReport(head.load());
    StreamWindow opened =
        new StreamWindow(
            loop.streams,
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
      lookAgainAfter(TickTimer.TICK_NANOS);
    }
  }

  private void frame(BusMessage.StreamFrame frame) {
    InboundStream body = stream;
    if (body == null) {
      // The head was lost, so the frames make no response.
      end(new BerthException.OutcomeUnknown("the head of the response was lost"), true);
      return;
    }
    switch (body.frame(frame.sequence(), frame.data(), frame.last())) {
      case TAKEN -> {
        streamWindow().arrived(frame.data().length());
        body.deliver();
      }
      case LAST -> {
        settle(frame.load());
        finish();
        allArrived(body, frame.data().length());
        body.deliver();
        recorded();
      }
      case GAP -> end(new BerthException.OutcomeUnknown("a chunk of the response was lost"), true);
      case EXCESS ->
          end(new BerthException.OutcomeUnknown("the response exceeded its credit"), true);
      case DUPLICATE -> loop.duplicateDropped();
    }
  }

  /** Ends the window. Only the ingress reports that its client has read the rest. */
  private void allArrived(InboundStream body, int lastBytes) {
    if (body.isCreditedByReader()) {
      streamWindow().arrived(lastBytes);
      streamWindow().onEnded();
    } else {
      streamWindow().close();
    }
  }

  private StreamWindow streamWindow() {
    return java.util.Objects.requireNonNull(window);
  }

  /** Ends the call after a reply without a response, or after a stream that ended early. */
  private void onFailureReply(BerthException failure, long load, @Nullable HandlerTime time) {
    answeredBy(replica);
    if (recorder != null) {
      recorder.recordReply(time, bodyFollows(), false);
    }
    settle(load);
    end(failure, false);
  }

  @Override
  void peerLost(boolean forGood) {
    if (forGood) {
      settle(LoadReport.NONE);
    }
    String what = forGood ? "the replica was lost" : "the link to the replica broke";
    end(
        new BerthException.OutcomeUnknown(what + " after the request was sent; it may have run"),
        !forGood); // stops a handler that no caller awaits
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
      pendingId = PendingTable.FULL; // the cancel owns the entry; replicas enforce deadlines
    }
    if (selection != null && stream == null) {
      selection.releaseIfRemote(); // in case the token is not consumed yet
    }
  }

  /** Sends a chunk of the body; returns false if the transport accepts none now. */
  boolean sendFrame(int sequence, Buffer data, boolean last) {
    RoutedReplica to = java.util.Objects.requireNonNull(replica);
    return loop.send(
            to,
            new BusMessage.RequestFrame(
                pendingId, loop.address, to.addressFor(loop.index()), sequence, data, last))
        .isSent();
  }

  /** Ends the call because its body cannot be completed. */
  void bodyFailed(BerthException failure) {
    if (!done) {
      end(failure, true);
    }
  }

  /** Releases all that an ended call holds. Called once. */
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
      router.counters.ended.add(cost());
    }
  }

  private void tellRouted(RoutedReplica to) {
    if (routed) {
      return;
    }
    routed = true;
    if (selection == null) { // else counted when its replica was chosen
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

  /** Ends the record after the caller received its result. */
  private void recorded() {
    if (recorder != null) {
      recorder.endOfCall();
    }
  }

  private static BerthException replicaUnavailable(RoutedReplica replica) {
    return new BerthException.ReplicaUnavailable(
        "replica " + replica.info.replicaId() + " was removed");
  }

  // --- waiting ---

  @Override
  public boolean accepts(RoutedReplica candidate) {
    return candidate.routable()
        && (only == null || only == candidate)
        && !PastAttempts.contain(attempts, candidate);
  }

  @Override
  public boolean picky() {
    return only != null || attempts != null && attempts.place() instanceof RoutedReplica;
  }

  @Override
  public String limit() {
    return selection == null ? owner.limit() : "";
  }

  @Override
  public int cost() {
    return selection == null ? owner.cost() : selection.leg.cost();
  }

  @Override
  String awaited() {
    String words = null;
    for (RoutedReplica each : router.replicas.all) {
      if (accepts(each)) {
        words = each.limits.full(limit());
        if (words == null) {
          return super.awaited();
        }
      }
    }
    return words == null ? super.awaited() : words;
  }

  @Override
  public boolean hopeless() {
    return isTooLarge()
        || (only != null ? !only.routable() : isRefusedByAll() || fallback() != null);
  }

  @Override
  BerthException unavailable() {
    return only == null || isTooLarge() ? super.unavailable() : replicaUnavailable(only);
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
    return outgoing == null ? ((Request.Body.Whole) request.body()).length() : outgoing.heldBytes;
  }
}
