package dev.berth.protocol.port;

import dev.berth.api.DeploymentId;
import io.vertx.core.Future;
import java.util.List;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Reservations of slots for callers outside the instance, each identified by a token. Thread-safe.
 * For each cause that a caller can influence, futures fail with a {@link ReservationException}.
 */
public interface Reservations {

  /**
   * Selects a replica and reserves a slot. A repeat with a used idempotency key receives the first
   * result: the same reservation, or the reason why the reservation ended.
   */
  ReservationCall<Reservation> reserve(ReservationRequest wish, ReservationCaller caller);

  /**
   * Reserves a slot for each wish, or none at all.
   *
   * @param waitNanos maximum queue time of all wishes together
   * @return the reservations, in the order of the wishes
   */
  ReservationCall<List<Reservation>> reserveAll(
      List<ReservationRequest> wishes, long waitNanos, ReservationCaller caller);

  /** Extends the lease to its full time to live from now. */
  Future<Reservation> renew(DeploymentId deployment, String token);

  /**
   * Releases a reservation. No effect when it has expired or was released. Fails when it never
   * existed, and when a request ran on it: then nothing is left to release.
   */
  Future<Void> release(DeploymentId deployment, String token);

  /** A pending operation of a caller. */
  interface ReservationCall<T> {

    Future<T> answer();

    /**
     * Reports that the caller disconnected while it waited or before it received the result. Its
     * reservations are released, except those with an idempotency key, which a retry may request
     * again. Without a retry their leases expire. Only the first call has an effect.
     */
    void abandon();
  }

  /**
   * The terms of a requested reservation.
   *
   * @param ttlNanos duration of the lease; 0 for the deployment's default, limited to the maximum
   * @param waitNanos maximum time in the deployment's queue; 0 to not wait
   * @param sessionId the client's session, or {@code ""}
   * @param cost number of slots of one replica
   */
  record ReservationRequest(
      DeploymentId deployment, long ttlNanos, long waitNanos, String sessionId, int cost) {

    /** Creates a request for one slot. */
    public ReservationRequest(
        DeploymentId deployment, long ttlNanos, long waitNanos, String sessionId) {
      this(deployment, ttlNanos, waitNanos, sessionId, 1);
    }
  }

  /**
   * The caller of an operation.
   *
   * @param name identity that the quota of reservations applies to
   * @param idempotencyKey a repeat with the same key receives the first result; null for none
   */
  record ReservationCaller(String name, @Nullable String idempotencyKey) {}

  /**
   * A reserved slot.
   *
   * @param token grants the slot to its bearer: never logged, shown or measured
   * @param host host for direct connections to the replica; null for none
   * @param ttlNanos time to live of its lease, from the last grant or renewal
   * @param expiresInNanos remaining time to live
   */
  record Reservation(
      String token,
      DeploymentId deployment,
      String replicaId,
      String nodeId,
      @Nullable String host,
      OptionalInt port,
      long ttlNanos,
      long expiresInNanos) {
    @Override
    public String toString() {
      return "Reservation[" + deployment + ", " + replicaId + "]";
    }
  }

  /** The reason why there is no reservation. */
  enum ReservationProblem {
    UNKNOWN_DEPLOYMENT,
    UNKNOWN_TOKEN,
    EXPIRED,
    ALREADY_USED,
    RELEASED,
    OTHER_DEPLOYMENT,
    /** No slot was free in time. */
    FULL,
    /** The caller has reached its quota. */
    CALLER_LIMIT,
    /** The instance has reached its limit. */
    INSTANCE_LIMIT,
    /** The key was used for another request. */
    KEY_REUSED,
    /** The deployment has no replica, or the instance is stopping. */
    UNAVAILABLE,
    /** The replica of the slot was removed. */
    REPLICA_GONE,
    /** The instance that owns the reservation was removed. */
    KEEPER_LOST,
    /** The instance that owns the reservation did not reply. */
    KEEPER_UNREACHED,
    /** The caller disconnected while it waited. */
    ABANDONED,
    /** The text in place of a token is not a token. */
    MALFORMED
  }

  /** An expected failure, without a stack trace. */
  final class ReservationException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ReservationProblem problem;
    private final int retryAfterSeconds;
    private final int statusCode;

    /**
     * Creates a failure.
     *
     * @param retryAfterSeconds delay before a retry; -1 for no hint
     * @param statusCode HTTP status that the deployment configures for back-pressure; -1 for the
     *     default
     */
    public ReservationException(
        ReservationProblem problem, String message, int retryAfterSeconds, int statusCode) {
      super(message, null, false, false);
      this.problem = problem;
      this.retryAfterSeconds = retryAfterSeconds;
      this.statusCode = statusCode;
    }

    /** Returns the failure with the message of {@link HttpErrorResponse#of(ConfigProblem)}. */
    public static ReservationException of(ReservationProblem problem) {
      return new ReservationException(problem, HttpErrorResponse.of(problem).message(), -1, -1);
    }

    public ReservationProblem problem() {
      return problem;
    }

    public int retryAfterSeconds() {
      return retryAfterSeconds;
    }

    public int statusCode() {
      return statusCode;
    }
  }
}
