package dev.berth.api;

import java.util.OptionalInt;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Every way a call can end without a response. The family is sealed, so that each kind has one wire
 * code, one metric label and, in one place of the ingress, one HTTP status. Expected kinds carry no
 * stack trace: they are outcomes, not bugs. What crosses a node is the kind, and never the object.
 */
@SuppressWarnings("serial")
public abstract sealed class BerthException extends RuntimeException {
  /** The kinds, in wire order: the ordinal crosses the bus, so new kinds go last. */
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
    PAYLOAD_TOO_LARGE(PayloadTooLarge::new);

    private final Function<String, BerthException> make;

    Kind(Function<String, BerthException> make) {
      this.make = make;
    }

    /** The exception of this kind, as a router makes it from a wire answer. */
    public BerthException toException(String message) {
      return make.apply(message);
    }
  }

  private final Kind kind;

  private BerthException(Kind kind, String message, @Nullable Throwable cause) {
    super(message, cause, true, false);
    this.kind = kind;
  }

  /** Which of the kinds this is; stable, unlike the message. */
  public final Kind kind() {
    return kind;
  }

  /** The deployment does not exist or failed to deploy. The request did not run. */
  public static final class DeploymentUnavailable extends BerthException {
    /** With a message for people. */
    public DeploymentUnavailable(String message) {
      super(Kind.DEPLOYMENT_UNAVAILABLE, message, null);
    }
  }

  /** A queue or table was full, or the wait for a slot was too long. The request did not run. */
  public static final class BackPressure extends BerthException {
    private static final int UNSET = -1;
    private final int retryAfterSeconds;
    private final int statusCode;

    /** One whose status is what the ingress deployment is configured to answer. */
    public BackPressure(String message, OptionalInt retryAfterSeconds) {
      this(message, retryAfterSeconds, OptionalInt.empty());
    }

    /**
     * @param statusCode 503 or 429, as configured for the deployment that refused; a parent that
     *     fails with this exception answers with it
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

    /** Seconds after which a retry may find room; empty when nothing is known. */
    public OptionalInt retryAfterSeconds() {
      return retryAfterSeconds < 0 ? OptionalInt.empty() : OptionalInt.of(retryAfterSeconds);
    }

    /** The HTTP status the refusing deployment asks for; empty when it says none. */
    public OptionalInt statusCode() {
      return statusCode < 0 ? OptionalInt.empty() : OptionalInt.of(statusCode);
    }
  }

  /** The chosen replica is stopped, dead, or another incarnation. The request did not run. */
  public static final class ReplicaUnavailable extends BerthException {
    /** With a message for people. */
    public ReplicaUnavailable(String message) {
      super(Kind.REPLICA_UNAVAILABLE, message, null);
    }
  }

  /** The lease of a selection ended before the replica could use it. The request did not run. */
  public static final class ReservationExpired extends BerthException {
    /** With a message for people. */
    public ReservationExpired(String message) {
      super(Kind.RESERVATION_EXPIRED, message, null);
    }
  }

  /** The request was sent and its peer was lost unanswered: it may have run. Never retried here. */
  public static final class OutcomeUnknown extends BerthException {
    /** With a message for people. */
    public OutcomeUnknown(String message) {
      super(Kind.OUTCOME_UNKNOWN, message, null);
    }
  }

  /** The caller cancelled, or its client left. */
  public static final class Cancelled extends BerthException {
    /** With a message for people. */
    public Cancelled(String message) {
      super(Kind.CANCELLED, message, null);
    }
  }

  /** The deadline of the request passed. */
  public static final class Timeout extends BerthException {
    /** With a message for people. */
    public Timeout(String message) {
      super(Kind.TIMEOUT, message, null);
    }
  }

  /**
   * User code failed. The cause is present where the failure happened, and never crosses a node.
   */
  public static final class HandlerFailed extends BerthException {
    /** With a message for people, and what user code threw where it is known. */
    public HandlerFailed(String message, @Nullable Throwable cause) {
      super(Kind.HANDLER_FAILED, message, cause);
    }
  }

  /**
   * The call named a method that the handler does not have; the message names those it has. The
   * request did not run. Requests from HTTP name none.
   */
  public static final class NoSuchMethod extends BerthException {
    /** With a message for people. */
    public NoSuchMethod(String message) {
      super(Kind.NO_SUCH_METHOD, message, null);
    }
  }

  /**
   * The body of the request is larger than its deployment gathers for a handler that takes bodies
   * whole, or than the instance takes at all. A handler that takes them whole did not run.
   */
  public static final class PayloadTooLarge extends BerthException {
    /** With a message for people. */
    public PayloadTooLarge(String message) {
      super(Kind.PAYLOAD_TOO_LARGE, message, null);
    }
  }
}
