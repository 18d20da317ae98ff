package dev.berth.view;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.RoutingSnapshot;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Routing decision and timing of one request. Written once, at the end of the request. Times are
 * nanoseconds since its arrival, on the clock of the instance where it arrived. Contains no header,
 * query, body or token, except text that a handler put into a failure message.
 *
 * @param requestId as in {@code X-Request-ID}; nested calls have the same id
 * @param parent deployment whose handler made the call; null for an HTTP request
 * @param deployment target of the request
 * @param request method and path, {@code GET /echo}; or the handler's method, or {@code ""}
 * @param arrivedAt wall-clock time
 * @param status HTTP status of the response; -1 for a call without HTTP
 * @param outcome {@code ok}, or the failure code as in JSON errors
 * @param node instance whose router decided
 * @param snapshot version of the deployment's replicas at the decision
 * @param policy name of the ranker
 * @param candidates replicas at the first decision: ranked ones in order, then the others; at most
 *     {@link #MAX_CANDIDATES}
 * @param candidatesInAll total number of candidates
 * @param queue wait for a slot; null if the request did not queue
 * @param batch place in the batch of the replica; null if the request ran alone
 * @param steps first steps of the request, in order; at most {@link #MAX_STEPS}
 * @param stepsInAll total number of steps
 * @param replicaId replica that ran the request; {@code ""} for none
 * @param upstreams keys of the upstreams that the named replicas represent, by replica id
 * @param failure cause of a missing response; if a handler passed a failure on, that of the
 *     deployment where it began
 * @param phases time per phase
 */
public record RequestExplanation(
    String requestId,
    @Nullable DeploymentId parent,
    DeploymentId deployment,
    String request,
    Instant arrivedAt,
    int status,
    String outcome,
    String node,
    RoutingSnapshot.SnapshotVersion snapshot,
    String policy,
    List<Candidate> candidates,
    int candidatesInAll,
    @Nullable QueueWait queue,
    HandlerTime.@Nullable BatchPlace batch,
    List<RequestStep> steps,
    int stepsInAll,
    String replicaId,
    Map<String, String> upstreams,
    RequestFailure failure,
    RequestPhaseTimes phases) {
  /** Maximum number of recorded candidates per request. */
  public static final int MAX_CANDIDATES = 32;

  /** Maximum number of recorded steps per request. */
  public static final int MAX_STEPS = 64;

  public RequestExplanation {
    candidates = List.copyOf(candidates);
    steps = List.copyOf(steps);
    upstreams = Collections.unmodifiableMap(new LinkedHashMap<>(upstreams)); // in order
  }

  /**
   * A replica that the router could choose.
   *
   * @param node instance that hosts the replica
   * @param loop event loop of the replica; -1 if it runs on all loops, or if unknown
   * @param ongoing running and reserved requests, as known to the router
   * @param maxOngoing number of slots
   * @param exact whether the load was read from the ledger; otherwise it is an estimate from the
   *     last load report
   * @param ageNanos age of the load report; 0 if exact, -1 if there is none
   * @param tier proximity of the replica
   * @param rank position in the ranker's order, from 0; -1 if not ranked
   * @param score value compared by the ranker, lower is better; NaN if the ranker has none
   */
  public record Candidate(
      String replicaId,
      String node,
      int loop,
      int ongoing,
      int maxOngoing,
      boolean exact,
      long ageNanos,
      ReplicaRanker.Tier tier,
      int rank,
      double score) {}

  /**
   * A wait for a slot.
   *
   * @param ahead number of waiters at the time of enqueue
   * @param limit {@code max_queued_requests} at that time; -1 for none
   * @param waitedNanos time until the grant of a replica, or the end of the wait
   */
  public record QueueWait(int ahead, int limit, long waitedNanos) {}

  /**
   * An event of a request.
   *
   * @param atNanos time of the event
   * @param kind type of the event
   * @param replicaId replica of the event; {@code ""} for none
   * @param node instance of the event
   * @param loop event loop there; -1 if unknown
   * @param detail reason of a refusal, or a number of milliseconds; {@code ""} for none
   */
  public record RequestStep(
      long atNanos, RequestStepKind kind, String replicaId, String node, int loop, String detail) {
    /**
     * Type of an event. SPLIT: the traffic policy chose one of several deployments. UNANSWERED: the
     * replica may have run the request and gave no response, so another one runs it. RETRIED: the
     * request waits again, at its earlier position. LOST: the replica no longer exists. ANSWERED: a
     * response, its head, or a failure arrived. ENDED: the last byte was handed on; the detail is
     * the outcome.
     */
    public enum RequestStepKind {
      ARRIVED,
      SPLIT,
      QUEUED,
      GRANTED,
      REFUSED,
      UNANSWERED,
      FELL_BACK,
      RETRIED,
      LOST,
      LEASE_GRANTED,
      LEASE_RENEWED,
      LEASE_CONSUMED,
      LEASE_RELEASED,
      LEASE_EXPIRED,
      SENT,
      ACCEPTED,
      HANDLER_STARTED,
      HANDLER_SETTLED,
      ANSWERED,
      CANCELLED,
      ENDED
    }
  }

  /**
   * Time of a request per phase, in nanoseconds; 0 for a phase that did not occur. A request is
   * always in exactly one phase, so the phases add up to the total. Work of a handler after its
   * caller got another reply, for example a timeout, is not counted.
   *
   * @param receive wait for the body from the client, before routing or while the replica gathers
   *     it; 0 if the body came with the head
   * @param queue wait for a slot, and at the replica for the start of its batch
   * @param route routing: all time on this instance before the request was sent, except waits
   * @param held time of an open selection, whose owner held the slot without dispatch
   * @param bus time between router and handler in both directions, with refused attempts. Computed
   *     as the round trip less the time at the replica, since clocks of two nodes are never
   *     compared
   * @param handler from the call of the handler until it settled with a response or its head;
   *     without a timely response, until the router knew that
   * @param stream from the head of a streamed response to the end of its body: shared by the
   *     handler, the bus and the client
   * @param respond from the arrival of a whole response or a failure until its last byte was handed
   *     to the socket
   * @param total from arrival to end
   */
  public record RequestPhaseTimes(
      long receive,
      long queue,
      long route,
      long held,
      long bus,
      long handler,
      long stream,
      long respond,
      long total) {
    /** Returns the time outside handlers, owners of selections, and clients that send or read. */
    public long overhead() {
      return Math.max(0, total - handler - receive - held - stream);
    }
  }
}
