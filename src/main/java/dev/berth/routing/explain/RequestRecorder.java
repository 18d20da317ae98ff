package dev.berth.routing.explain;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.Admission;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.port.ExplainedParent;
import dev.berth.routing.slots.ReplicaSet;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.RequestStep;
import dev.berth.view.RequestExplanation.RequestStep.RequestStepKind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Records the steps of one explained request; other requests have no recorder. The starter of the
 * request ends its record once: the ingress for an HTTP request, the router for a handler's call.
 * Later events are ignored. Confined to the request's loop.
 */
public final class RequestRecorder {
  /** Maximum recorded characters of a path, which may be as long as a request line. */
  private static final int MAX_REQUEST_CHARS = 256;

  private static final String OK = "ok";

  private final ExplainLoop loop;
  private DeploymentId deployment;
  private Supplier<CandidateSnapshot> unranked; // reads the present replicas
  private final String requestId;
  private final @Nullable DeploymentId parent; // null if the ingress ends the record
  private final @Nullable ExplainedParent within; // null for HTTP
  private String request;
  private final long arrivedNanos;
  private final PhaseClock phases;
  private final List<RequestStep> steps = new ArrayList<>();
  private final Map<String, String> upstreams = new LinkedHashMap<>(); // keys by replica id
  private int stepsInAll;
  private @Nullable CandidateSnapshot seen;
  private boolean queued;
  private int ahead; // waiters ahead when it was queued
  private int limit;
  private @Nullable RoutedReplica at; // last replica that it was sent to
  private String ranOn = "";
  private HandlerTime.@Nullable BatchPlace batch;
  private String outcome = OK;
  private RequestFailure failure = RequestFailure.NONE;
  private boolean over;

  /**
   * Creates the recorder of an HTTP request that arrived on this loop, or of a handler's call.
   *
   * @param unranked returns the deployment's replicas, if none are ranked for the request
   * @param parent deployment of the calling handler; null for HTTP, whose record {@link #end} ends
   */
  public RequestRecorder(
      ExplainLoop loop,
      DeploymentId deployment,
      Supplier<CandidateSnapshot> unranked,
      String requestId,
      @Nullable DeploymentId parent,
      @Nullable ExplainedParent within,
      String request,
      long arrivedNanos) {
    this.loop = loop;
    this.deployment = deployment;
    this.unranked = unranked;
    this.requestId = requestId;
    this.parent = parent;
    this.within = within;
    this.request = truncate(request);
    this.arrivedNanos = arrivedNanos;
    this.phases = new PhaseClock(arrivedNanos);
    step(arrivedNanos, RequestStepKind.ARRIVED, null, "");
  }

  /**
   * Returns the recorded name of a request: the handler's method, or else the HTTP method and path.
   */
  public static String name(Request request, String methodName) {
    return methodName.isEmpty() ? request.method() + " " + request.path() : methodName;
  }

  private static String truncate(String text) {
    return text.length() <= MAX_REQUEST_CHARS ? text : text.substring(0, MAX_REQUEST_CHARS) + "…";
  }

  // --- the ingress ---

  /** Records which deployment of the route was chosen, and why. */
  public void recordSplit(String why) {
    step(loop.now(), RequestStepKind.SPLIT, null, why);
  }

  /**
   * Sets the deployment that the content of the request selects, before its router is called.
   *
   * @param unranked returns the deployment's replicas, if none are ranked for the request
   */
  public void recordSelection(
      DeploymentId selected, Supplier<CandidateSnapshot> unranked, String why) {
    deployment = selected;
    this.unranked = unranked;
    recordSplit(why);
  }

  /** Records that the request awaits more of its body. */
  public void recordReceiving() {
    phases.enter(PhaseClock.RequestPhase.RECEIVE, loop.now());
  }

  /** Records that the ingress passed the request to the router. */
  public void recordReceived() {
    phases.enter(PhaseClock.RequestPhase.ROUTE, loop.now());
  }

  /** Records why the request has no ordinary response; the first reason stays. */
  public void outcome(String code) {
    if (outcome.equals(OK)) {
      outcome = code;
    }
  }

  /** Returns {@link RequestExplanation.RequestPhaseTimes#overhead} until now, in microseconds. */
  public long overheadMicros() {
    return phases.overhead(loop.now()) / 1_000;
  }

  /** Returns the replica that replied, or had the request last; "" if none had it. */
  public String replicaId() {
    return ranOn.isEmpty() && at != null ? at.info.replicaId() : ranOn;
  }

  /** Ends the record after the response was passed on. */
  public void end(int status) {
    if (over) {
      return;
    }
    over = true;
    long now = loop.now();
    step(now, RequestStepKind.ENDED, null, outcome);
    phases.end(now);
    loop.ports().into().explained(explanation(status));
  }

  // --- the router ---

  /** Ends the record if the router must end it. */
  public void endOfCall() {
    if (parent != null) {
      end(-1);
    }
  }

  /** Records the ranked replicas; see {@link CandidateSnapshot#of}. */
  public void recordRanking(ReplicaSet set, ReplicaRanker.Ranking ranking, long key) {
    if (seen == null) {
      seen = CandidateSnapshot.of(set, loop.index(), ranking, key);
    }
  }

  /** Records that the request waits for a slot, in a new place. */
  public void recordQueued(int nowAhead, int maxQueued, int cost) {
    if (seen == null) {
      seen = unranked.get();
    }
    queued = true;
    ahead = nowAhead;
    limit = maxQueued;
    step(
        phases.enter(PhaseClock.RequestPhase.QUEUE, loop.now()),
        RequestStepKind.QUEUED,
        null,
        costing("", cost));
  }

  private static String costing(String detail, int cost) {
    return cost == 1 ? detail : detail + (detail.isEmpty() ? "" : ", ") + "cost: " + cost;
  }

  /** Records that the request waits again, in its old place. */
  public void recordRequeued() {
    step(
        phases.enter(PhaseClock.RequestPhase.QUEUE, loop.now()), RequestStepKind.RETRIED, null, "");
  }

  /** Records the end of the wait. */
  public void recordGrant(@Nullable RoutedReplica replica) {
    long now = phases.enter(PhaseClock.RequestPhase.ROUTE, loop.now());
    if (replica != null) {
      step(now, RequestStepKind.GRANTED, replica, "");
    }
  }

  /** Records the send of the request itself; with a held slot, it certainly runs on arrival. */
  public void recordSend(RoutedReplica to, Admission by, int cost) {
    boolean byToken = by instanceof Admission.Token;
    boolean held = by.isHeld();
    if (byToken) {
      recordConsumed();
    }
    boolean slotless = by == Admission.NoSlot.NO_SLOT;
    String how =
        held
            ? "its slot held"
            : byToken ? "by its lease" : slotless ? "without a slot" : "if a slot is free";
    recordSend(to, how, held || byToken, cost);
  }

  /** Records the send of a message for the request. */
  public void recordSend(RoutedReplica to, String how, boolean certain, int cost) {
    at = to;
    ranOn = certain ? to.info.replicaId() : "";
    step(phases.away(certain, loop.now()), RequestStepKind.SENT, to, costing(how, cost));
  }

  public void recordAcceptance() {
    ranOn = at == null ? "" : at.info.replicaId();
    step(phases.accepted(loop.now()), RequestStepKind.ACCEPTED, at, "");
  }

  public void recordRefusal(@Nullable RoutedReplica by, Refusal reason) {
    recordNoAnswer(RequestStepKind.REFUSED, by, reason.name());
  }

  /** Records that a replica has no response, and why; the request goes on. */
  public void recordNoAnswer(RequestStepKind kind, @Nullable RoutedReplica by, String detail) {
    ranOn = "";
    step(phases.enter(PhaseClock.RequestPhase.ROUTE, loop.now()), kind, by, detail);
  }

  /** Records that the request leaves its deployment for a fallback. */
  public void recordFallback(DeploymentId to, String reason) {
    step(
        phases.enter(PhaseClock.RequestPhase.ROUTE, loop.now()),
        RequestStepKind.FELL_BACK,
        null,
        to.name() + ": " + reason);
  }

  public void recordLoss(@Nullable RoutedReplica replica) {
    recordNoAnswer(RequestStepKind.LOST, replica, "");
  }

  /**
   * Records a reply: a response or its head, or the handler's failure.
   *
   * @param gathered whether the body continued after the request message
   * @param streamed whether more of the response follows
   */
  public void recordReply(@Nullable HandlerTime time, boolean gathered, boolean streamed) {
    if (over || at == null || !phases.isAway()) {
      return; // the request has ended already
    }
    ranOn = at.info.replicaId();
    long now = loop.now();
    phases.back(time, gathered, streamed, now);
    if (time != null) {
      failure = time.failure();
      batch = time.batch();
      step(phases.settledNanos - phases.lastHandled, RequestStepKind.HANDLER_STARTED, at, "");
      step(phases.settledNanos, RequestStepKind.HANDLER_SETTLED, at, "");
    }
    step(now, RequestStepKind.ANSWERED, at, streamed ? "head" : "");
  }

  /** Records an end without a response, or a stream that ended early. */
  public void recordFailure(BerthException told) {
    outcome(told.kind().name().toLowerCase(Locale.ROOT));
    if (failure.isNone()) {
      failure = RequestFailure.of(deployment, told);
    }
    if (within != null) {
      within.callFailed(told, failure);
    }
    long now = phases.enter(PhaseClock.RequestPhase.RESPOND, loop.now());
    if (told instanceof BerthException.Cancelled) {
      step(now, RequestStepKind.CANCELLED, null, "");
    }
  }

  // --- selections ---

  /** Records a slot held under a lease. */
  public void recordLease(RoutedReplica replica, long ttlNanos) {
    at = replica;
    long now = phases.enter(PhaseClock.RequestPhase.HELD, loop.now());
    step(now, RequestStepKind.LEASE_GRANTED, replica, millis(ttlNanos));
  }

  /** Records that the request arrived with a reservation and now owns its slot. */
  public void recordReservation(RoutedReplica replica, long gapNanos) {
    String before = "reserved " + millis(gapNanos) + " before";
    step(arrivedNanos, RequestStepKind.LEASE_GRANTED, replica, before);
    if (replica.here()) {
      step(loop.now(), RequestStepKind.LEASE_CONSUMED, replica, "");
    } // else recorded with the send
  }

  public void recordRenewal(long ttlNanos) {
    step(loop.now(), RequestStepKind.LEASE_RENEWED, at, millis(ttlNanos));
  }

  /** Records that the selection's owner dispatches. */
  public void recordDispatch(Request dispatched, String methodName) {
    request = truncate(name(dispatched, methodName));
    phases.enter(PhaseClock.RequestPhase.ROUTE, loop.now());
  }

  void recordConsumed() {
    step(loop.now(), RequestStepKind.LEASE_CONSUMED, at, "");
  }

  /** Records whether a local lease was consumed, by its ledger's result. */
  public void recordConsumedIf(@Nullable Refusal refusal, RoutedReplica of) {
    if (refusal == null) {
      recordConsumed();
    } else {
      recordRefusal(of, refusal);
    }
  }

  public void recordRelease() {
    step(loop.now(), RequestStepKind.LEASE_RELEASED, at, "");
  }

  /** Records the end of a selection without a dispatch. */
  public void recordClose() {
    outcome("released");
    endOfCall();
  }

  /** Records the expiry of a selection's lease. */
  public void recordExpiry() {
    step(loop.now(), RequestStepKind.LEASE_EXPIRED, at, "");
    outcome("expired");
    endOfCall();
  }

  private static String millis(long nanos) {
    return nanos / 1_000_000 + " ms";
  }

  // --- the record ---

  private void step(
      long atNanos, RequestStepKind kind, @Nullable RoutedReplica replica, String detail) {
    if (over && kind != RequestStepKind.ENDED) {
      return;
    }
    stepsInAll++;
    if (replica != null) {
      putUpstream(replica, upstreams);
    }
    if (steps.size() == RequestExplanation.MAX_STEPS) {
      return;
    }
    long since = Math.max(0, atNanos - arrivedNanos);
    steps.add(
        replica == null
            ? new RequestStep(since, kind, "", loop.address().node(), loop.index(), detail)
            : new RequestStep(
                since,
                kind,
                replica.info.replicaId(),
                replica.info.address().node(),
                replica.addressFor(loop.index()).loop(),
                detail));
  }

  /** Adds the upstream of a replica that represents one. */
  static void putUpstream(RoutedReplica replica, Map<String, String> into) {
    String key = replica.info.metadata().get(ReplicaInfo.UPSTREAM);
    if (key != null) {
      into.put(replica.info.replicaId(), key);
    }
  }

  private RequestExplanation explanation(int status) {
    steps.sort(Comparator.comparingLong(RequestStep::atNanos)); // replica steps arrive late
    RequestExplanation.RequestPhaseTimes spent = phases.spent();
    CandidateSnapshot known = seen == null ? unranked.get().withoutThem() : seen;
    upstreams.putAll(known.upstreams());
    return new RequestExplanation(
        requestId,
        parent,
        deployment,
        request,
        loop.ports().wallClock().instant().minusNanos(spent.total()),
        status,
        outcome,
        loop.address().node(),
        known.snapshot(),
        known.policy(),
        known.candidates(),
        known.all(),
        queued ? new RequestExplanation.QueueWait(ahead, limit, phases.queued()) : null,
        batch == null
            ? null
            : new HandlerTime.BatchPlace(batch.id(), batch.size(), batch.position(), spent.queue()),
        steps,
        stepsInAll,
        ranOn,
        upstreams,
        failure,
        spent);
  }
}
