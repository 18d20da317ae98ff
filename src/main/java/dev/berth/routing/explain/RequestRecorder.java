package dev.berth.routing.explain;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.Admission;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.port.ExplainedParent;
import dev.berth.routing.slots.ReplicaSet;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.Step;
import dev.berth.view.RequestExplanation.Step.Kind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes down what befalls one request that is explained; there is none for any other. Whoever
 * started it ends it, once: the ingress a request that came by HTTP, the router one that a handler
 * made. What is told after that is ignored. Confined to the request's loop.
 */
public final class RequestRecorder {
  /** A path may be as long as a request line; of what is kept for many, it is cut. */
  private static final int MAX_REQUEST_CHARS = 256;

  private static final String OK = "ok";

  private final ExplainLoop loop;
  private final DeploymentId deployment;
  private final Supplier<SeenCandidates> unranked; // the replicas now
  private final String requestId;
  private final @Nullable DeploymentId parent; // null: the ingress ends it
  private final @Nullable ExplainedParent within; // likewise
  private String request;
  private final long arrivedNanos;
  private final PhaseClock phases;
  private final List<Step> steps = new ArrayList<>();
  private int stepsInAll;
  private @Nullable SeenCandidates seen;
  private boolean queued;
  private int ahead; // when it was queued
  private int limit;
  private @Nullable RoutedReplica at; // where it was sent last
  private String ranOn = "";
  private String outcome = OK;
  private RequestFailure failure = RequestFailure.NONE;
  private boolean over;

  /**
   * Of a request that came in on this loop by HTTP, or of what a handler asks.
   *
   * @param unranked looks at the replicas of its deployment, where none are ranked for it
   * @param parent whose handler asks; null for HTTP: then it is to be ended with {@link #end}
   */
  public RequestRecorder(
      ExplainLoop loop,
      DeploymentId deployment,
      Supplier<SeenCandidates> unranked,
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
    this.request = cut(request);
    this.arrivedNanos = arrivedNanos;
    this.phases = new PhaseClock(arrivedNanos);
    step(arrivedNanos, Kind.ARRIVED, null, "");
  }

  /** A request as it is named here: the handler's method, or else HTTP's and the path. */
  public static String name(Request request, String methodName) {
    return methodName.isEmpty() ? request.method() + " " + request.path() : methodName;
  }

  private static String cut(String text) {
    return text.length() <= MAX_REQUEST_CHARS ? text : text.substring(0, MAX_REQUEST_CHARS) + "…";
  }

  // --- the ingress ---

  /** One of its route's deployments was chosen for it, and why. */
  public void split(String why) {
    step(loop.now(), Kind.SPLIT, null, why);
  }

  /** What has come of its body is not all that is wanted of it now. */
  public void receiving() {
    phases.enter(PhaseClock.Phase.RECEIVE, loop.now());
  }

  /** It is handed to the router. */
  public void received() {
    phases.enter(PhaseClock.Phase.ROUTE, loop.now());
  }

  /** Why it has no ordinary answer; the first reason stays. */
  public void outcome(String code) {
    if (outcome.equals(OK)) {
      outcome = code;
    }
  }

  /** As {@link RequestExplanation.Phases#overhead}, until now. */
  public long overheadMicros() {
    return phases.overhead(loop.now()) / 1_000;
  }

  /** Who answered it, or had it last; "" when nobody had. */
  public String replicaId() {
    return ranOn.isEmpty() && at != null ? at.info.replicaId() : ranOn;
  }

  /** It is over, and its answer was handed on. */
  public void end(int status) {
    if (over) {
      return;
    }
    over = true;
    long now = loop.now();
    step(now, Kind.ENDED, null, outcome);
    phases.end(now);
    loop.ports().into().explained(explanation(status));
  }

  // --- the router ---

  /** It is over, if it is the router who ends it. */
  public void endOfCall() {
    if (parent != null) {
      end(-1);
    }
  }

  /** The replicas were ranked for it; see {@link SeenCandidates#of}. */
  public void ranked(ReplicaSet set, ReplicaRanker.Ranking ranking, long key) {
    if (seen == null) {
      seen = SeenCandidates.of(set, loop.index(), ranking, key);
    }
  }

  /** It waits for a slot, in a new place. */
  public void queued(int nowAhead, int maxQueued) {
    if (seen == null) {
      seen = unranked.get();
    }
    queued = true;
    ahead = nowAhead;
    limit = maxQueued;
    step(phases.enter(PhaseClock.Phase.QUEUE, loop.now()), Kind.QUEUED, null, "");
  }

  /** It waits again, in the place it had. */
  public void waitsAgain() {
    step(phases.enter(PhaseClock.Phase.QUEUE, loop.now()), Kind.RETRIED, null, "");
  }

  /** Its wait is over. */
  public void granted(@Nullable RoutedReplica replica) {
    long now = phases.enter(PhaseClock.Phase.ROUTE, loop.now());
    if (replica != null) {
      step(now, Kind.GRANTED, replica, "");
    }
  }

  /** The request itself leaves; it surely runs once it is there, if its slot is held. */
  public void sent(RoutedReplica to, Admission by) {
    boolean byToken = by instanceof Admission.Token;
    boolean held = by == Admission.Held.HELD;
    if (byToken) {
      consumed();
    }
    String how = held ? "its slot held" : byToken ? "by its lease" : "if a slot is free";
    sent(to, how, held || byToken);
  }

  /** A message for it leaves. */
  public void sent(RoutedReplica to, String how, boolean certain) {
    at = to;
    ranOn = certain ? to.info.replicaId() : "";
    step(phases.away(certain, loop.now()), Kind.SENT, to, how);
  }

  public void accepted() {
    ranOn = at == null ? "" : at.info.replicaId();
    step(phases.accepted(loop.now()), Kind.ACCEPTED, at, "");
  }

  public void refused(@Nullable RoutedReplica by, Refusal reason) {
    ranOn = "";
    step(phases.enter(PhaseClock.Phase.ROUTE, loop.now()), Kind.REFUSED, by, reason.name());
  }

  public void lost(@Nullable RoutedReplica replica) {
    ranOn = "";
    step(phases.enter(PhaseClock.Phase.ROUTE, loop.now()), Kind.LOST, replica, "");
  }

  /**
   * An answer came: a response or its head, or the handler's failure.
   *
   * @param gathered whether its body went on after it
   * @param streamed whether more of the answer follows
   */
  public void answered(@Nullable HandlerTime time, boolean gathered, boolean streamed) {
    if (over || at == null || !phases.isAway()) {
      return; // it is known to have ended before this came
    }
    ranOn = at.info.replicaId();
    long now = loop.now();
    phases.back(time, gathered, streamed, now);
    if (time != null) {
      failure = time.failure();
      step(phases.settledNanos - phases.lastHandled, Kind.HANDLER_STARTED, at, "");
      step(phases.settledNanos, Kind.HANDLER_SETTLED, at, "");
    }
    step(now, Kind.ANSWERED, at, streamed ? "head" : "");
  }

  /** It ends without a response, or its stream short. */
  public void failed(BerthException told) {
    outcome(told.kind().name().toLowerCase(Locale.ROOT));
    if (failure.isNone()) {
      failure = RequestFailure.of(deployment, told);
    }
    if (within != null) {
      within.callFailed(told, failure);
    }
    long now = phases.enter(PhaseClock.Phase.RESPOND, loop.now());
    if (told instanceof BerthException.Cancelled) {
      step(now, Kind.CANCELLED, null, "");
    }
  }

  // --- selections ---

  /** A slot is held for it under a lease. */
  public void leased(RoutedReplica replica, long ttlNanos) {
    at = replica;
    long now = phases.enter(PhaseClock.Phase.HELD, loop.now());
    step(now, Kind.LEASE_GRANTED, replica, millis(ttlNanos));
  }

  /** It came with a reservation, whose slot is its own now. */
  public void reserved(RoutedReplica replica, long gapNanos) {
    String before = "reserved " + millis(gapNanos) + " before";
    step(arrivedNanos, Kind.LEASE_GRANTED, replica, before);
    if (replica.here()) {
      step(loop.now(), Kind.LEASE_CONSUMED, replica, "");
    } // else with what is sent
  }

  public void renewed(long ttlNanos) {
    step(loop.now(), Kind.LEASE_RENEWED, at, millis(ttlNanos));
  }

  /** Its owner asks for it to be dispatched. */
  public void dispatching(Request dispatched, String methodName) {
    request = cut(name(dispatched, methodName));
    phases.enter(PhaseClock.Phase.ROUTE, loop.now());
  }

  void consumed() {
    step(loop.now(), Kind.LEASE_CONSUMED, at, "");
  }

  /** A lease here was consumed, or not, as its ledger says. */
  public void consumedIf(@Nullable Refusal refusal, RoutedReplica of) {
    if (refusal == null) {
      consumed();
    } else {
      refused(of, refusal);
    }
  }

  public void released() {
    step(loop.now(), Kind.LEASE_RELEASED, at, "");
  }

  /** A selection that was not dispatched is over. */
  public void closed() {
    outcome("released");
    endOfCall();
  }

  /** A selection's lease ran out. */
  public void expired() {
    step(loop.now(), Kind.LEASE_EXPIRED, at, "");
    outcome("expired");
    endOfCall();
  }

  private static String millis(long nanos) {
    return nanos / 1_000_000 + " ms";
  }

  // --- the record ---

  private void step(long atNanos, Kind kind, @Nullable RoutedReplica replica, String detail) {
    if (over && kind != Kind.ENDED) {
      return;
    }
    stepsInAll++;
    if (steps.size() == RequestExplanation.MAX_STEPS) {
      return;
    }
    long since = Math.max(0, atNanos - arrivedNanos);
    steps.add(
        replica == null
            ? new Step(since, kind, "", loop.address().node(), loop.index(), detail)
            : new Step(
                since,
                kind,
                replica.info.replicaId(),
                replica.info.address().node(),
                replica.addressFor(loop.index()).loop(),
                detail));
  }

  private RequestExplanation explanation(int status) {
    steps.sort(Comparator.comparingLong(Step::atNanos)); // those at the replica were told late
    RequestExplanation.Phases spent = phases.spent();
    SeenCandidates known = seen == null ? unranked.get().withoutThem() : seen;
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
        queued ? new RequestExplanation.Queue(ahead, limit, spent.queue()) : null,
        steps,
        stepsInAll,
        ranOn,
        failure,
        spent);
  }
}
