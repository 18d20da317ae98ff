package dev.berth.protocol;

import static dev.berth.protocol.Wire.Form.FIXED;
import static dev.berth.protocol.Wire.Form.LEFT;
import static dev.berth.protocol.Wire.Form.SIGNED;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The messages of the data plane, of the metrics path and of routing state. Buffers in them are
 * read only for the receiver. {@code callId} is the asker's own name for what it waits for; it
 * comes back untouched. Durations cross as what remains, in the unit of their names, never as clock
 * times; -1 means none.
 *
 * <p>{@code acceptMicros} is how long the receiver may still take a message up: what comes later,
 * because it lay in a socket or its receiver stood still, is refused as {@link Refusal#TOO_LATE}.
 * Inside an instance there is no such limit.
 */
public sealed interface BusMessage {
  /** An acceptMicros: it may be taken up whenever it comes. */
  long NO_LIMIT = -1;

  // --- router loop to replica loop ---

  /** What a router sends to a replica. Answers go to its source, under its call's id. */
  interface ToReplica {
    long callId();

    RouterAddress source();

    ReplicaAddress target();
  }

  /**
   * Run a request.
   *
   * @param source where answers go
   * @param attempt recognises a repeat; a request whose attempt was seen before is dropped
   * @param deadlineMicros time left for the whole call, or -1; so fine, since what is rounded up is
   *     time that each of the calls within calls would gain
   * @param streamWindow bytes of a streamed response that may be sent before the first credit
   * @param waitedMicros from the request's arrival at its router to this message
   * @param methodName the handler's method, or "" for its own
   * @param sessionId who it is for, or ""
   * @param bodyFollows whether the request's body, which is the first piece then, goes on in {@link
   *     RequestFrame}s, for which the replica gives credit once it has accepted the request
   * @param explained whether the answer brings {@link HandlerTime}, and what the handler asks of
   *     others in turn is explained too
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
      boolean explained)
      implements BusMessage, ToReplica {}

  /**
   * A piece of a request's body, at most 64 KiB, within the credit given.
   *
   * @param sequence 0, 1, 2 … after the first piece, which came with the request
   * @param last no more frames follow; a body that cannot be completed is a {@link CancelCall}
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
   * The caller no longer wants an answer. Cancels the request if it runs, and keeps it from running
   * if it has not arrived. One from another instance that is not {@code timedOut} is answered, by
   * CallFailed, so that it need not be repeated any more.
   */
  record CancelCall(
      long callId, RouterAddress source, AttemptId attempt, ReplicaAddress target, boolean timedOut)
      implements BusMessage, ToReplica {}

  /**
   * What has become of a call that nothing was heard of? Keeps it from running if it has not
   * arrived, and changes nothing for one that has. Answered by CallRefused, RECALLED, when it never
   * runs; by CallAccepted while it runs; and by CallFailed, OUTCOME_UNKNOWN, when it may have run
   * and its answer is not known any more.
   */
  record RecallCall(long callId, RouterAddress source, AttemptId attempt, ReplicaAddress target)
      implements BusMessage, ToReplica {}

  /**
   * How far a streamed response may be sent.
   *
   * @param limit bytes in all of its frames, those sent before included, as in {@link
   *     RequestCredit}
   */
  record StreamCredit(long callId, RouterAddress source, ReplicaAddress target, long limit)
      implements BusMessage, ToReplica {}

  /** Hold a slot under a lease; a repeated attempt gets the same lease. */
  record ReserveSlot(
      long callId,
      RouterAddress source,
      AttemptId attempt,
      ReplicaAddress target,
      @Wire(SIGNED) long ttlMs,
      @Wire(LEFT) long acceptMicros)
      implements BusMessage, ToReplica {}

  /**
   * Give a held slot back; before its reserve arrived, refuse that one. Repeated until it is
   * answered, by CallRefused, RELEASED.
   *
   * @param callId -1 where nothing waits for the answer
   */
  record ReleaseSlot(long callId, RouterAddress source, AttemptId attempt, ReplicaAddress target)
      implements BusMessage, ToReplica {}

  /** Make a lease last longer. Answered by SlotReserved or CallRefused. */
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
   * Do this with a reservation that the receiver keeps. Repeated under its attempt until it is
   * answered, by SlotReserved for its use, which a repeat gets too; by ReservationRenewed; and by
   * CallRefused, which is RELEASED of one that is now released.
   *
   * @param token whoever has it has the slot: never logged or shown
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
    /** What is to be done; the ordinal crosses the bus. */
    public enum Wish {
      /** Hand its slot over to a request of the asker's. */
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
   * Characters of a failure's message, at most: a longer one is cut, so that it has a wire form.
   */
  int MAX_TEXT = 8 * 1024;

  private static String cut(String message) {
    return message.length() <= MAX_TEXT ? message : message.substring(0, MAX_TEXT - 1) + "…";
  }

  /** What a replica says to one who waits for it, under the name that he gave. */
  sealed interface Answer extends BusMessage {
    long callId();

    /** Returns whether it is the last of a call. */
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

  /** An {@link Admission.IfFree} request was accepted and runs, or one that was recalled does. */
  record CallAccepted(long callId, long load) implements Answer {}

  /**
   * How far the request's body may be sent. The first one says that the request was accepted; none
   * comes once the replica wants no more of the body.
   *
   * @param limit bytes in all of the frames sent, those sent before included: so a credit that
   *     comes twice grants nothing twice, and a later one makes up for a lost one
   */
  record RequestCredit(long callId, long limit) implements Answer {}

  /** It did not run, or the lease was not granted. */
  record CallRefused(long callId, Refusal reason, long load) implements Answer {}

  /**
   * The response, or its head when it streams.
   *
   * @param response its body is whole: empty when it streams
   * @param follows bytes of the body that follow in frames; 0 for a whole one, {@link #UNKNOWN}
   *     when it is not known how many
   * @param time null unless the request is explained
   */
  record CallResponse(
      long callId,
      Response response,
      @Wire(SIGNED) int follows,
      long load,
      @Nullable HandlerTime time)
      implements Answer {
    /** So many bytes follow as its handler writes. */
    public static final int UNKNOWN = -1;

    /** What of the body is here. */
    public Buffer body() {
      return ((Response.Body.Whole) response.body()).bytes();
    }

    /** How many bytes of the body are here, or of a typed one at most. */
    public int length() {
      return ((Response.Body.Whole) response.body()).length();
    }

    /** Whether the body follows in frames. */
    public boolean streamed() {
      return follows != 0;
    }
  }

  /**
   * It ran, or may have, and ended without a response.
   *
   * @param statusCode of back-pressure passed on: 503 or 429, else -1
   * @param retryAfterSeconds of back-pressure passed on: >= 0, else -1
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
      message = cut(message);
    }

    /** What the replica reports of a failure. */
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

    /** The failure, as its caller sees it. */
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
   * A piece of a streamed response, at most 64 KiB.
   *
   * @param sequence 0, 1, 2 … within the stream; a gap means a lost frame
   * @param last no more frames follow
   */
  record StreamFrame(long callId, int sequence, Buffer data, boolean last, long load)
      implements Answer {}

  /** A streamed response ended short. */
  record StreamReset(long callId, BerthException.Kind kind, String message, long load)
      implements Answer {
    public StreamReset {
      message = cut(message);
    }
  }

  /**
   * The lease asked for. Whoever no longer waits for it releases it by its attempt.
   *
   * @param ttlMicros how long it lasts from when this was sent; its way is taken off that
   */
  record SlotReserved(
      long callId,
      AttemptId attempt,
      ReplicaAddress target,
      SlotToken token,
      @Wire(LEFT) long ttlMicros,
      long load)
      implements Answer {}

  /** A reservation lasts its whole time to live from now on; as its keeper shows it. */
  record ReservationRenewed(
      long callId,
      String replicaId,
      String nodeId,
      @Nullable String host,
      OptionalInt port,
      @Wire(LEFT) long ttlMicros)
      implements Answer {}

  /** The slots of a replica, unasked. */
  record ReplicaLoad(ReplicaAddress target, long load) implements BusMessage {}

  /**
   * A freed slot, held for a router that was refused before, as a short lease under an attempt the
   * replica made. One that comes too late is released.
   *
   * @param acceptMicros how long its lease lasts
   */
  record SlotOffer(
      ReplicaAddress target,
      AttemptId attempt,
      SlotToken token,
      @Wire(LEFT) long acceptMicros,
      long load)
      implements BusMessage {}

  // --- instance to controller ---

  /**
   * What one instance saw since its last batch. Answered by the term of the controller that took
   * it: one of another term than before is told everything that is known with the next batch.
   *
   * @param node the instance
   * @param incarnation which start of it
   * @param sequence rises by one with each batch
   * @param handles of the deployments that autoscale: changed or non-zero ones, and final zeros of
   *     those that left
   * @param replicas the same of what their replicas here hold, by their own ledgers
   * @param queues of the deployments that do not autoscale: those that changed or are not zero
   */
  record HandleMetricBatch(
      String node,
      @Wire(FIXED) long incarnation,
      long sequence,
      List<HandleMetricReport> handles,
      List<HandleMetricReport> replicas,
      List<QueueLength> queues)
      implements BusMessage {
    public HandleMetricBatch {
      handles = List.copyOf(handles);
      replicas = List.copyOf(replicas);
      queues = List.copyOf(queues);
    }
  }

  /**
   * Requests that wait for slots of one deployment at one instance.
   *
   * <p>Source: {@code report_queue_lengths} of Ray Serve's first router.
   */
  record QueueLength(DeploymentId deployment, int queued) {}

  // --- controller to instance, and back ---

  /**
   * What an instance's routers of a deployment are to know. Sent at each change, and for each
   * deployment that was pulled.
   */
  record RoutingUpdate(RoutingDelta delta) implements BusMessage {}

  /**
   * Tell me of these deployments, now and at each change.
   *
   * @param node the instance
   * @param incarnation which start of it
   * @param all whether what it asked for before no longer counts
   * @param held what it has of each
   */
  record PullRouting(String node, @Wire(FIXED) long incarnation, boolean all, List<Held> held)
      implements BusMessage {
    public PullRouting {
      held = List.copyOf(held);
    }

    /** A deployment and the version held of it, or {@link RoutingSnapshot.Version#NONE}. */
    public record Held(DeploymentId deployment, RoutingSnapshot.Version version) {}
  }

  /**
   * Every few seconds: what an instance holds, in one number. The controller answers only if it
   * should hold something else.
   *
   * @param digest the sum of {@link RoutingDigest#of} over what it holds
   */
  record CheckRouting(String node, @Wire(FIXED) long incarnation, @Wire(FIXED) long digest)
      implements BusMessage {}

  /**
   * What an instance holds is not what it should, or a new controller does not know of it: it is to
   * pull everything.
   *
   * @param term the controller's
   */
  record RepullRouting(@Wire(SIGNED) long term) implements BusMessage {}
}
