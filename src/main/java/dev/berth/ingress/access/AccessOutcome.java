package dev.berth.ingress.access;

import dev.berth.api.BerthException;
import java.util.Locale;

/**
 * Reason for a missing regular response, in the access log.
 *
 * <p>Source: Envoy's response flags, where the meaning is the same.
 */
public enum AccessOutcome {
  /** A regular response was sent. */
  ANSWERED("-"),
  /** No route matches the path. */
  NO_ROUTE("NR"),
  /** A limit was reached: overflow. */
  OVERLOAD("UO"),
  /** No replica was available: none was healthy. */
  NO_REPLICA("UH"),
  /** The replica was removed before the request was sent. */
  REPLICA_GONE("UF"),
  /** The replica was lost after the request was sent. */
  REPLICA_LOST("UC"),
  /** The handler failed, or reset its response. */
  HANDLER_FAILED("UR"),
  /** The deadline passed. */
  TIMEOUT("UT"),
  /** The request or its response stalled for too long. */
  STOOD_STILL("SI"),
  /** The client left. */
  CLIENT_GONE("DC"),
  /** The head was malformed, too long, or requested an unsupported feature. */
  BAD_HEAD("DPE"),
  /** The instance cancelled the request. */
  CANCELLED("LR");

  final String flag;

  AccessOutcome(String flag) {
    this.flag = flag;
  }

  /** Returns the name for the record of an explained request. */
  public String code() {
    return name().toLowerCase(Locale.ROOT);
  }

  public static AccessOutcome of(BerthException.Kind kind) {
    return switch (kind) {
      case TIMEOUT -> TIMEOUT;
      case CANCELLED -> CANCELLED;
      case BACK_PRESSURE -> OVERLOAD;
      case DEPLOYMENT_UNAVAILABLE -> NO_REPLICA;
      case REPLICA_UNAVAILABLE, RESERVATION_EXPIRED -> REPLICA_GONE;
      case OUTCOME_UNKNOWN -> REPLICA_LOST;
      case HANDLER_FAILED, NO_SUCH_METHOD, COST_TOO_LARGE -> HANDLER_FAILED;
      case PAYLOAD_TOO_LARGE -> ANSWERED; // Envoy has no flag; the status is enough
    };
  }

  /**
   * Returns the outcome of a response of the ingress itself.
   *
   * @param code failure code of {@code HttpErrorResponse}
   */
  public static AccessOutcome ofCode(String code) {
    return switch (code) {
      case "not_found" -> NO_ROUTE;
      case "overloaded" -> OVERLOAD;
      case "body_too_slow", "head_too_slow" -> STOOD_STILL;
      case "uri_too_long", "headers_too_large", "bad_request", "expectation_failed" -> BAD_HEAD;
      case "method_not_allowed", "not_implemented", "version_not_supported" -> BAD_HEAD;
      default -> ANSWERED;
    };
  }
}
