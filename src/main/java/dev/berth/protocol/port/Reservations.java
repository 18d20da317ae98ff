package dev.berth.protocol.port;

import dev.berth.api.DeploymentId;
import io.vertx.core.Future;
import java.util.List;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Slots held for callers outside the instance, by a token. Any thread. Every future fails with a
 * {@link ReservationException}, and with nothing else that a caller could have caused.
 */
public interface Reservations {

  /**
   * Chooses a replica and holds a slot of it. A key that was used gets what it got: the same
   * reservation, or the way in which that has ended.
   */
  Asked<Reservation> reserve(Wish wish, Caller caller);

  /**
   * Each of them, or none.
   *
   * @param waitNanos for all of them together
   * @return in the order of the wishes
   */
  Asked<List<Reservation>> reserveAll(List<Wish> wishes, long waitNanos, Caller caller);

  /** Makes it last its full time to live from now on. */
  Future<Reservation> renew(DeploymentId deployment, String token);

  /**
   * Gives it back; nothing when it has run out or was given back. Fails when it was never there,
   * and when a request ran on it: there was nothing to give back.
   */
  Future<Void> release(DeploymentId deployment, String token);

  /** What was asked for and is waited for. */
  interface Asked<T> {

    Future<T> answer();

    /**
     * The caller is not there any more: whether it still waits or did not receive its answer. What
     * is held for it is given back, but for what was asked for with an idempotency key and is held:
     * its next attempt may ask for that, and the lease is for the dead. Once, again is nothing.
     */
    void abandon();
  }

  /**
   * What is wanted.
   *
   * @param ttlNanos how long the lease lasts; 0 for the deployment's own, cut to the maximum
   * @param waitNanos how long to wait in the deployment's queue; 0 for not at all
   * @param sessionId who it is for, or {@code ""}
   */
  record Wish(DeploymentId deployment, long ttlNanos, long waitNanos, String sessionId) {}

  /**
   * Who asks.
   *
   * @param name whom the bound on held leases is counted for
   * @param idempotencyKey under which a repeat gets the first answer; null for none
   */
  record Caller(String name, @Nullable String idempotencyKey) {}

  /**
   * A slot held.
   *
   * @param token whoever has it has the slot: never logged, shown or measured
   * @param host where the replica can be reached by itself; null when it cannot
   * @param ttlNanos of its lease, from the last grant or renewal
   * @param expiresInNanos what is left of that
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

  /** Why there is no reservation. */
  enum Problem {
    UNKNOWN_DEPLOYMENT,
    UNKNOWN_TOKEN,
    EXPIRED,
    ALREADY_USED,
    RELEASED,
    OTHER_DEPLOYMENT,
    /** No slot was free in time. */
    FULL,
    /** The caller holds as many as it may. */
    CALLER_LIMIT,
    /** The instance holds as many as it may. */
    INSTANCE_LIMIT,
    /** The key was used for another wish. */
    KEY_REUSED,
    /** The deployment has no replica, or the instance is being stopped. */
    UNAVAILABLE,
    /** The replica that held the slot is gone. */
    REPLICA_GONE,
    /** The instance that kept it is gone. */
    KEEPER_LOST,
    /** The instance that keeps it was not heard. */
    KEEPER_UNREACHED,
    /** The caller went while it waited. */
    ABANDONED,
    /** What came in place of a token is none. */
    MALFORMED
  }

  /** Stackless, since it is expected. */
  final class ReservationException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final Problem problem;
    private final int retryAfterSeconds;
    private final int statusCode;

    /**
     * @param retryAfterSeconds when to ask again; -1 for no hint
     * @param statusCode that the deployment asks back-pressure to be told by; -1 for the usual
     */
    public ReservationException(
        Problem problem, String message, int retryAfterSeconds, int statusCode) {
      super(message, null, false, false);
      this.problem = problem;
      this.retryAfterSeconds = retryAfterSeconds;
      this.statusCode = statusCode;
    }

    /** In the words of the one table of failures. */
    public static ReservationException of(Problem problem) {
      return new ReservationException(problem, HttpFailure.of(problem).message(), -1, -1);
    }

    public Problem problem() {
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
