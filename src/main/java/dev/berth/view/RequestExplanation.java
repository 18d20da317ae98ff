package dev.berth.view;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.RoutingSnapshot;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Why one request went where it went, and where its time was spent. Written once, when the request
 * is over. Moments are nanoseconds since it arrived, by the clock of the instance that it came in
 * on. It holds no header, no query, no body and no token, but what a handler put into the message
 * of its failure.
 *
 * @param requestId as in {@code X-Request-ID}; requests that it made bear the same
 * @param parent the deployment whose handler made it; null for one that came by HTTP
 * @param deployment who was to serve it
 * @param request method and path, {@code GET /echo}; or the handler's method, or {@code ""}
 * @param arrivedAt by the wall clock
 * @param status the HTTP status answered; -1 for a request that did not come by HTTP
 * @param outcome {@code ok}, or the code of the failure as in JSON errors
 * @param node the instance whose router decided
 * @param snapshot of the deployment's replicas, at the decision
 * @param policy the ranker's name
 * @param candidates as the router saw them when it first decided, best first as ranked, then the
 *     others; at most {@link #MAX_CANDIDATES}
 * @param candidatesInAll how many there were
 * @param queue its wait for a slot; null when it did not wait
 * @param steps what befell it, in order: at most {@link #MAX_STEPS}, the first of them
 * @param stepsInAll how many there were
 * @param replicaId who ran it; {@code ""} when nobody did
 * @param failure why it has no response; of the deployment that failed, where a handler passed on
 *     what another one failed with
 * @param phases where its time went
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
    RoutingSnapshot.Version snapshot,
    String policy,
    List<Candidate> candidates,
    int candidatesInAll,
    @Nullable Queue queue,
    List<Step> steps,
    int stepsInAll,
    String replicaId,
    RequestFailure failure,
    Phases phases) {
  /** Candidates kept of one request. */
  public static final int MAX_CANDIDATES = 32;

  /** Steps kept of one request. */
  public static final int MAX_STEPS = 64;

  public RequestExplanation {
    candidates = List.copyOf(candidates);
    steps = List.copyOf(steps);
  }

  /**
   * A replica that could have been chosen.
   *
   * @param node which instance hosts it
   * @param loop its event loop there; -1 when it runs on every loop, or that is not known
   * @param ongoing requests running and reserved, as the router saw it
   * @param maxOngoing its slots
   * @param exact read from its ledger; else estimated from what it last reported
   * @param ageNanos of that report; 0 when exact, -1 when it has not reported
   * @param tier how near it is
   * @param rank its place in the ranker's order, from 0; -1 when it was not ranked
   * @param score what the ranker compares, less being better; NaN when it does not say
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
   * @param ahead how many waited when it joined
   * @param limit {@code max_queued_requests} then; -1 for none
   * @param waitedNanos until its replica was granted, or it ended
   */
  public record Queue(int ahead, int limit, long waitedNanos) {}

  /**
   * Something that befell a request.
   *
   * @param atNanos when
   * @param kind what
   * @param replicaId with whom; {@code ""} when with none
   * @param node on which instance
   * @param loop on which of its event loops; -1 when not known
   * @param detail the reason of a refusal, a number of milliseconds; {@code ""} for none
   */
  public record Step(
      long atNanos, Kind kind, String replicaId, String node, int loop, String detail) {
    /**
     * What may befall it. SPLIT: its route has several deployments, and one was chosen. RETRIED: it
     * waits again, in the place it had. LOST: its replica is not there any more. ANSWERED: a
     * response, or its head, or a failure arrived. ENDED: the last byte was handed on; the detail
     * is the outcome.
     */
    public enum Kind {
      ARRIVED,
      SPLIT,
      QUEUED,
      GRANTED,
      REFUSED,
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
   * Where the time went, in nanoseconds; a phase that did not happen is 0. At each moment a request
   * is in exactly one of them, so they add up to the total. What a handler is still doing when its
   * caller is answered otherwise, by a deadline say, is not counted.
   *
   * @param receive its body was awaited from the client: before it was routed, or gathered at the
   *     replica; 0 for one that came with its head
   * @param queue waiting for a slot
   * @param route deciding: all of this instance's time before the request was sent that is no
   *     waiting
   * @param held a selection was open: its owner had the slot, and had not dispatched
   * @param bus between the router and the handler, there and back; refused attempts included. A
   *     round trip less the time at the replica: clocks of two nodes are never compared
   * @param handler from the handler's call to its settling with a response, or its head; for one
   *     that did not answer in time, until that was known
   * @param stream from the arrival of the head of a streamed response to the end of its body: the
   *     handler, the bus and the client share it
   * @param respond from the arrival of a whole answer, or of a failure, to its last byte handed to
   *     the socket
   * @param total from arrival to end
   */
  public record Phases(
      long receive,
      long queue,
      long route,
      long held,
      long bus,
      long handler,
      long stream,
      long respond,
      long total) {
    /** All but what handlers, owners of selections, and clients that send or read took. */
    public long overhead() {
      return Math.max(0, total - handler - receive - held - stream);
    }
  }
}
