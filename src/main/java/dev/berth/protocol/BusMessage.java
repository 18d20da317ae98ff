package dev.berth.protocol;

import static dev.berth.protocol.Wire.WireForm.COST;
import static dev.berth.protocol.Wire.WireForm.DEMAND;
import static dev.berth.protocol.Wire.WireForm.FIXED;
import static dev.berth.protocol.Wire.WireForm.LEFT;
import static dev.berth.protocol.Wire.WireForm.SIGNED;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The messages of the data plane, of the metrics path and of routing state. The receiver only reads
 * the buffers in them. {@code callId} is chosen by the requester to match replies, and is returned
 * unchanged. Durations are sent as remaining time in the unit of the component's name, never as
 * clock times; -1 means none.
 *
 * <p>{@code acceptMicros} is the accept time: a receiver refuses a later message as {@link
 * Refusal#TOO_LATE}. A message is late when it waited in a socket or its receiver was blocked.
 * Inside an instance the accept time is unlimited.
 */
public sealed interface BusMessage {
  /** An {@code acceptMicros} without limit: the receiver accepts the message at any time. */
  long NO_LIMIT = -1;

  // --- router loop to replica loop ---

  /**
   * A message of a router to a replica. Replies go to {@link #source}, with the same {@link
   * #callId}.
   */
  interface ToReplica {
    long callId();

    RouterAddress source();

    ReplicaAddress target();
  }

  /**
   * Runs a request.
   *
   * @param source receives the replies
   * @param attempt identifies a repeat; the replica drops a request whose attempt is already known
   * @param deadlineMicros remaining time of the whole call, or -1; in microseconds, because each
   *     nested call would gain the rounded-up part of a coarser unit
   * @param streamWindow bytes of a streamed response that may be sent before the first credit
   * @param waitedMicros time from the request's arrival at its router to this message
   * @param methodName the handler's method, or "" for the default method
   * @param sessionId the client's session, or ""
   * @param bodyFollows whether the request's body, which is then the first chunk, continues in
   *     {@link RequestFrame}s; the replica grants credit for them once it has accepted the request
   * @param explained whether the reply contains {@link HandlerTime}, also of nested calls
   * @param origin of the HTTP request that caused the call; null for none
   * @param demand slots of the request and requests behind it; see {@link SlotDemand}
   */
  record CallRequest(
      long callId,
      RouterAddress source,
      AttemptId attempt,
      ReplicaAddress target,
      Admission admission,
      @Wire(LEFT) long deadlineMicros,
      @Wire(LEFT) long acceptMicros,
      int streamWindow,
      long waitedMicros,
      String requestId,
      String methodName,
      String sessionId,
      Request request,
      boolean bodyFollows,
      boolean explained,
      @Nullable RequestOrigin origin,
      @Wire(DEMAND) int demand)
      implements BusMessage, ToReplica {
    public int cost() {
      return SlotDemand.cost(demand);
    }
  }

  /**
   * A chunk of a request's body, at most 64 KiB, within the granted credit.
   *
   * @param sequence 0, 1, 2 … after the first chunk, which is part of the request
   * @param last whether this is the last frame; the router sends a {@link CancelCall} instead when
   *     the body cannot be completed
   */
  record RequestFrame(
      long callId,
      RouterAddress source,
      ReplicaAddress target,
      int sequence,
      Buffer data,
      boolean last)
      implements BusMessage, ToReplica {}

  /**
   * Cancels a call whose caller no longer needs a reply. A running request is cancelled; a request
   * that has not arrived never runs. A replica of another instance replies with {@link CallFailed}
   * unless {@code timedOut}, so that the router stops repeating this message.
   */
  record CancelCall(
      long callId, RouterAddress source, AttemptId attempt, ReplicaAddress target, boolean timedOut)
      implements BusMessage, ToReplica {}

  /**
   * Requests the state of a call without replies, and cancels the call if it has not arrived. A
   * call that arrived is not changed. The replica replies with {@link CallRefused}, {@link
   * Refusal#RECALLED}, when the call never runs, and with {@link CallAccepted} while the call runs.
   * The reply is {@link CallFailed}, OUTCOME_UNKNOWN, when the call may have run and its outcome is
   * no longer known.
   */
  record RecallCall(long callId, RouterAddress source, AttemptId attempt, ReplicaAddress target)
      implements BusMessage, ToReplica {}

  /**
   * Credit for a streamed response.
   *
   * @param limit total bytes of all of its frames, including frames already sent, as in {@link
   *     RequestCredit}
   */
  record StreamCredit(long callId, RouterAddress source, ReplicaAddress target, long limit)
      implements BusMessage, ToReplica {}

  /** Reserves {@code cost} slots under a lease. A repeated attempt returns the same lease. */
  record ReserveSlot(
      long callId,
      RouterAddress source,
      AttemptId attempt,
      ReplicaAddress target,
      @Wire(SIGNED) long ttlMs,
      @Wire(LEFT) long acceptMicros,
      @Wire(COST) int cost)
      implements BusMessage, ToReplica {}

  /**
   * Releases a slot. If the release arrives before its reserve, the reserve is refused. The router
   * repeats this message until the replica replies with {@link CallRefused}, {@link
   * Refusal#RELEASED}.
   *
   * @param callId -1 when the sender expects no reply
   */
  record ReleaseSlot(long callId, RouterAddress source, AttemptId attempt, ReplicaAddress target)
      implements BusMessage, ToReplica {}

  /** Extends a lease. The replica replies with {@link SlotReserved} or {@link CallRefused}. */
  record RenewLease(
      long callId,
      RouterAddress source,
      AttemptId attempt,
      ReplicaAddress target,
      SlotToken token,
      @Wire(SIGNED) long ttlMs,
      @Wire(LEFT) long acceptMicros)
      implements BusMessage, ToReplica {}

  // --- router loop to router loop ---

  /**
   * Operates on a reservation that the receiver owns. The sender repeats this message with the same
   * attempt until it receives a reply. The reply to USE is {@link SlotReserved}, also for a repeat;
   * the reply to RENEW is {@link ReservationRenewed}. {@link CallRefused} reports a failure, and,
   * with {@link Refusal#RELEASED}, a completed release.
   *
   * @param token grants the slot to its bearer: never logged or shown
   */
  record AskReservation(
      long callId,
      RouterAddress source,
      AttemptId attempt,
      DeploymentId deployment,
      String token,
      Wish wish,
      @Wire(LEFT) long acceptMicros)
      implements BusMessage {
    /** An operation on a reservation. The ordinal is the wire form. */
    public enum Wish {
      /** Transfers the reserved slot to a request of the sender. */
      USE,
      RENEW,
      RELEASE
    }

    @Override
    public String toString() {
      return "AskReservation[" + wish + ", " + deployment + ", " + attempt + "]";
    }
  }

  // --- replica loop to router loop ---

  /**
   * Maximum length of a failure's message, in characters. A longer message is truncated to fit the
   * wire form.
   */
  int MAX_TEXT = 8 * 1024;

  private static String truncate(String message) {
    return message.length() <= MAX_TEXT ? message : message.substring(0, MAX_TEXT - 1) + "…";
  }

  /** A reply of a replica, with the {@code callId} of the request. */
  sealed interface Answer extends BusMessage {
    long callId();

    /** Returns whether this is the last reply to a call. */
    default boolean isLast() {
      if (this instanceof CallResponse response) {
        return !response.streamed();
      }
      return this instanceof StreamFrame frame
          ? frame.last()
          : this instanceof CallRefused
              || this instanceof CallFailed
              || this instanceof StreamReset;
    }
  }

  /**
   * An {@link Admission.IfFree} request was accepted and runs, or the target of a {@link
   * RecallCall} runs.
   */
  record CallAccepted(long callId, long load) implements Answer {}

  /**
   * Credit for the request's body. The first credit reports that the request was accepted. The
   * replica grants no further credit once it needs nothing further of the body.
   *
   * @param limit total bytes of all frames, including frames already sent; a duplicate credit
   *     therefore grants nothing, and a later credit replaces a lost one
   */
  record RequestCredit(long callId, long limit) implements Answer {}

  /**
   * The request did not run, or the lease was not granted.
   *
   * @param notRun details of {@link Refusal#NOT_RUN}; null for every other reason
   */
  record CallRefused(long callId, Refusal reason, long load, @Nullable NotRunReason notRun)
      implements Answer {
    public CallRefused(long callId, Refusal reason, long load) {
      this(callId, reason, load, null);
    }
  }

  /**
   * A response, or the head of a streamed response.
   *
   * @param response has a whole body, empty when it streams
   * @param follows bytes of the body that follow in frames; 0 for a whole response, {@link
   *     #UNKNOWN} when the number is not known; below that, the result of {@link #declared}
   * @param time null unless the request is explained
   */
  record CallResponse(
      long callId,
      Response response,
      @Wire(SIGNED) int follows,
      long load,
      @Nullable HandlerTime time)
      implements Answer {
    /**
     * Value of {@code follows} when the body's length is not known until its handler has written
     * the last byte.
     */
    public static final int UNKNOWN = -1;

    /**
     * Returns the value of {@code follows} for a body that streams with a certain length. It counts
     * as unknown, except for the head of the client's response.
     *
     * @param contentLength value of the header; null for none
     */
    public static int declared(@Nullable String contentLength) {
      boolean small = contentLength != null && contentLength.matches("[0-9]{1,9}");
      return small ? UNKNOWN - 1 - Integer.parseInt(contentLength) : UNKNOWN;
    }

    /** Returns the part of the body that this message contains. */
    public Buffer body() {
      return ((Response.Body.Whole) response.body()).bytes();
    }

    /** Returns the number of bytes of the body in this message; for a typed body an upper bound. */
    public int length() {
      return ((Response.Body.Whole) response.body()).length();
    }

    /** Returns whether the body follows in frames. */
    public boolean streamed() {
      return follows != 0;
    }
  }

  /**
   * The request ran, or may have run, and ended without a response.
   *
   * @param statusCode status of forwarded back-pressure: 503 or 429, else -1
   * @param retryAfterSeconds delay of forwarded back-pressure: >= 0, else -1
   * @param time null unless the request is explained
   */
  record CallFailed(
      long callId,
      BerthException.Kind kind,
      String message,
      int statusCode,
      int retryAfterSeconds,
      long load,
      @Nullable HandlerTime time)
      implements Answer {
    public CallFailed {
      message = truncate(message);
    }

    /** Returns the message that reports a failure. */
    public static CallFailed of(
        long callId, BerthException failure, long load, @Nullable HandlerTime time) {
      int status = -1;
      int retryAfter = -1;
      if (failure instanceof BerthException.BackPressure full) {
        status = full.statusCode().orElse(-1);
        retryAfter = full.retryAfterSeconds().orElse(-1);
      }
      String text = Objects.requireNonNullElse(failure.getMessage(), "");
      return new CallFailed(callId, failure.kind(), text, status, retryAfter, load, time);
    }

    /** Returns the failure for the caller. */
    public BerthException failure() {
      if (kind != BerthException.Kind.BACK_PRESSURE) {
        return kind.toException(message);
      }
      return new BerthException.BackPressure(
          message,
          retryAfterSeconds < 0 ? OptionalInt.empty() : OptionalInt.of(retryAfterSeconds),
          statusCode == 503 || statusCode == 429
              ? OptionalInt.of(statusCode)
              : OptionalInt.empty());
    }
  }

  /**
   * A chunk of a streamed response, at most 64 KiB.
   *
   * @param sequence 0, 1, 2 … within the stream; a gap means a lost frame
   * @param last whether this is the last frame
   */
  record StreamFrame(long callId, int sequence, Buffer data, boolean last, long load)
      implements Answer {}

  /**
   * An informational response before the head, or the trailers of a streamed response before its
   * last frame.
   *
   * @param status 102 to 199; 0 for trailers
   */
  record ResponseFields(long callId, int status, Headers fields) implements Answer {}

  /** A streamed response ended before its last frame. */
  record StreamReset(long callId, BerthException.Kind kind, String message, long load)
      implements Answer {
    public StreamReset {
      message = truncate(message);
    }
  }

  /**
   * A granted lease. A router that no longer needs the lease releases it by its attempt.
   *
   * @param ttlMicros time to live from the sending of this message; the receiver subtracts the
   *     transit time
   * @param cost number of slots of a transferred lease; otherwise 1, as the receiver knows it
   */
  record SlotReserved(
      long callId,
      AttemptId attempt,
      ReplicaAddress target,
      SlotToken token,
      @Wire(LEFT) long ttlMicros,
      long load,
      @Wire(COST) int cost)
      implements Answer {}

  /** A renewed reservation, with its full time to live from now, as its owner reports it. */
  record ReservationRenewed(
      long callId,
      String replicaId,
      String nodeId,
      @Nullable String host,
      OptionalInt port,
      @Wire(LEFT) long ttlMicros)
      implements Answer {}

  /** The load of a replica, sent without a request. */
  record ReplicaLoad(ReplicaAddress target, long load) implements BusMessage {}

  /**
   * Freed slots, offered to a previously refused router as short leases: one, or for a batch one
   * for each of its requests. A router that receives the offer too late releases them.
   *
   * @param attempt of the first lease; the counter rises by one with each further one
   * @param tokens of the leases, 1 to {@link SlotDemand#MAX_LEASES}
   * @param acceptMicros remaining time of the leases
   * @param cost number of slots of each lease
   */
  record SlotOffer(
      ReplicaAddress target,
      AttemptId attempt,
      List<SlotToken> tokens,
      @Wire(LEFT) long acceptMicros,
      long load,
      @Wire(COST) int cost)
      implements BusMessage {
    public SlotOffer {
      SlotDemand.checkLeases(tokens.size());
    }
  }

  // --- instance to controller ---

  /**
   * The measurements of one instance since its last batch. The reply is the term of the controller
   * that accepted the batch; when the term has changed, the instance sends all current values with
   * the next batch.
   *
   * @param node the instance
   * @param incarnation identifies one start of the instance
   * @param sequence rises by one with each batch
   * @param handles demand of autoscaled deployments: changed or non-zero ones, and final zeros of
   *     removed ones
   * @param replicas load of the same deployments' replicas on this instance, by their own ledgers
   * @param queues queue lengths of deployments without autoscaling: changed or non-zero ones
   * @param figures activity for the curves of operators; {@link NodeFigures#NONE} between two
   *     readings
   */
  record HandleMetricBatch(
      String node,
      @Wire(FIXED) long incarnation,
      long sequence,
      List<HandleMetricReport> handles,
      List<HandleMetricReport> replicas,
      List<QueueLength> queues,
      NodeFigures figures)
      implements BusMessage {}

  /**
   * The number of requests that wait for slots of one deployment at one instance.
   *
   * <p>Source: {@code report_queue_lengths} of Ray Serve's first router.
   */
  record QueueLength(DeploymentId deployment, int queued) {}

  // --- controller to instance, and back ---

  /**
   * Routing state of one deployment, for the routers of an instance. Sent at each change, and in
   * reply to {@link PullRouting} for each of its deployments.
   */
  record RoutingUpdate(RoutingDelta delta) implements BusMessage {}

  /**
   * Subscribes to the routing state of deployments. The controller sends the current state and then
   * each change.
   *
   * @param node the instance
   * @param incarnation identifies one start of the instance
   * @param all whether this replaces all earlier subscriptions of the instance
   * @param held the deployments, with the instance's version of each
   */
  record PullRouting(String node, @Wire(FIXED) long incarnation, boolean all, List<Held> held)
      implements BusMessage {
    /** A deployment and the sender's version, or {@link RoutingSnapshot.SnapshotVersion#NONE}. */
    public record Held(DeploymentId deployment, RoutingSnapshot.SnapshotVersion version) {}
  }

  /**
   * A digest of the routing state of an instance, sent every few seconds. The controller replies
   * only if its own digest differs.
   *
   * @param digest the sum of {@link RoutingDigest#of} over all deployments of the instance
   */
  record CheckRouting(String node, @Wire(FIXED) long incarnation, @Wire(FIXED) long digest)
      implements BusMessage {}

  /**
   * A request to pull all routing state again, because the instance's state is stale or a new
   * controller does not know its subscriptions.
   *
   * @param term the controller's
   */
  record RepullRouting(@Wire(SIGNED) long term) implements BusMessage {}
}
