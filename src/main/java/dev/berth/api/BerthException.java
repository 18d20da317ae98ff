package dev.berth.api;

import java.util.OptionalInt;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The failure of a call without a response. The family is sealed: each kind has one wire code, one
 * metric label and one HTTP status, which the ingress assigns in a single place. The exceptions
 * carry no stack trace, because they are expected outcomes. Between nodes the kind is sent, never
 * the exception object.
 */
@SuppressWarnings("serial")
public abstract sealed class BerthException extends RuntimeException {
  /**
   * Kinds of failure, in wire order. The ordinal is sent between nodes, so new kinds are appended.
   */
  public enum Kind {
    /** {@link DeploymentUnavailable}. */
    DEPLOYMENT_UNAVAILABLE(DeploymentUnavailable::new),
    /** {@link BackPressure}. */
    BACK_PRESSURE(message -> new BackPressure(message, OptionalInt.empty())),
    /** {@link ReplicaUnavailable}. */
    REPLICA_UNAVAILABLE(ReplicaUnavailable::new),
    /** {@link ReservationExpired}. */
    RESERVATION_EXPIRED(ReservationExpired::new),
    /** {@link OutcomeUnknown}. */
    OUTCOME_UNKNOWN(OutcomeUnknown::new),
    /** {@link Cancelled}. */
    CANCELLED(Cancelled::new),
    /** {@link Timeout}. */
    TIMEOUT(Timeout::new),
    /** {@link HandlerFailed}. */
    HANDLER_FAILED(message -> new HandlerFailed(message, null)),
    /** {@link NoSuchMethod}. */
    NO_SUCH_METHOD(NoSuchMethod::new),
    /** {@link PayloadTooLarge}. */
    PAYLOAD_TOO_LARGE(PayloadTooLarge::new),
    /** {@link CostTooLarge}. */
    COST_TOO_LARGE(CostTooLarge::new);

    private final Function<String, BerthException> make;

    Kind(Function<String, BerthException> make) {
      this.make = make;
    }

    /** Creates an exception of this kind, as a router does for a received reply. */
    public BerthException toException(String message) {
      return make.apply(message);
    }
  }

  private final Kind kind;

  private BerthException(Kind kind, String message, @Nullable Throwable cause) {
    super(message, cause, true, false);
    this.kind = kind;
  }

  /** Returns the kind, which is stable, unlike the message. */
  public final Kind kind() {
    return kind;
  }

  /** Failure because the deployment does not exist or failed to deploy. The request did not run. */
  public static final class DeploymentUnavailable extends BerthException {
    /** Creates an exception with a readable message. */
    public DeploymentUnavailable(String message) {
      super(Kind.DEPLOYMENT_UNAVAILABLE, message, null);
    }
  }

  /**
   * Failure because a queue or table was full, or because the wait for a slot took too long. The
   * request did not run.
   */
  public static final class BackPressure extends BerthException {
    private static final int UNSET = -1;
    private final int retryAfterSeconds;
    private final int statusCode;

    /** Creates an exception whose HTTP status is the one configured for the ingress deployment. */
    public BackPressure(String message, OptionalInt retryAfterSeconds) {
      this(message, retryAfterSeconds, OptionalInt.empty());
    }

    /**
     * Creates an exception with an HTTP status.
     *
     * @param statusCode 503 or 429, as configured for the deployment that refused; a parent request
     *     that fails with this exception returns this status
     */
    public BackPressure(String message, OptionalInt retryAfterSeconds, OptionalInt statusCode) {
      super(Kind.BACK_PRESSURE, message, null);
      int status = statusCode.orElse(UNSET);
      if (status != UNSET && status != 503 && status != 429) {
        throw new IllegalArgumentException("statusCode: " + status + " (expected: 503 or 429)");
      }
      this.retryAfterSeconds = retryAfterSeconds.orElse(UNSET);
      this.statusCode = status;
    }

    /** Returns the number of seconds after which a retry may succeed; empty when unknown. */
    public OptionalInt retryAfterSeconds() {
      return retryAfterSeconds < 0 ? OptionalInt.empty() : OptionalInt.of(retryAfterSeconds);
    }

    /** Returns the HTTP status configured for the refusing deployment; empty when not set. */
    public OptionalInt statusCode() {
      return statusCode < 0 ? OptionalInt.empty() : OptionalInt.of(statusCode);
    }
  }

  /**
   * Failure because the chosen replica is stopped, dead, or another incarnation. The request did
   * not run.
   */
  public static final class ReplicaUnavailable extends BerthException {
    /** Creates an exception with a readable message. */
    public ReplicaUnavailable(String message) {
      super(Kind.REPLICA_UNAVAILABLE, message, null);
    }
  }

  /**
   * Failure because the lease of a selection ended before the replica used it. The request did not
   * run.
   */
  public static final class ReservationExpired extends BerthException {
    /** Creates an exception with a readable message. */
    public ReservationExpired(String message) {
      super(Kind.RESERVATION_EXPIRED, message, null);
    }
  }

  /**
   * Failure because the peer was lost after the request was sent and before a reply. The request
   * may have run. Berth never retries it.
   */
  public static final class OutcomeUnknown extends BerthException {
    /** Creates an exception with a readable message. */
    public OutcomeUnknown(String message) {
      super(Kind.OUTCOME_UNKNOWN, message, null);
    }
  }

  /** Failure because the caller cancelled or the client disconnected. */
  public static final class Cancelled extends BerthException {
    /** Creates an exception with a readable message. */
    public Cancelled(String message) {
      super(Kind.CANCELLED, message, null);
    }
  }

  /** Failure because the deadline of the request passed. */
  public static final class Timeout extends BerthException {
    /** Creates an exception with a readable message. */
    public Timeout(String message) {
      super(Kind.TIMEOUT, message, null);
    }
  }

  /**
   * Failure of user code. The cause is present where the failure happened, and is never sent
   * between nodes.
   */
  public static final class HandlerFailed extends BerthException {
    /**
     * Creates an exception with a readable message and, where known, the exception of the user
     * code.
     */
    public HandlerFailed(String message, @Nullable Throwable cause) {
      super(Kind.HANDLER_FAILED, message, cause);
    }
  }

  /**
   * Failure because the call named a method that the handler does not have. The request did not
   * run. The message lists the existing methods; the response to an HTTP client does not.
   */
  public static final class NoSuchMethod extends BerthException {
    /** Creates an exception with a readable message. */
    public NoSuchMethod(String message) {
      super(Kind.NO_SUCH_METHOD, message, null);
    }
  }

  /**
   * Failure because the request body exceeds the limit of its deployment for whole bodies, or the
   * limit of the instance. A handler of whole bodies did not run.
   */
  public static final class PayloadTooLarge extends BerthException {
    /** Creates an exception with a readable message. */
    public PayloadTooLarge(String message) {
      super(Kind.PAYLOAD_TOO_LARGE, message, null);
    }
  }

  /**
   * Failure because the request costs more slots than any replica has. It did not run, and waits
   * for no slot.
   */
  public static final class CostTooLarge extends BerthException {
    /** Creates an exception with a readable message. */
    public CostTooLarge(String message) {
      super(Kind.COST_TOO_LARGE, message, null);
    }
  }
}
