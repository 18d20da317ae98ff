package dev.berth.ingress.access;

import dev.berth.api.BerthException;
import java.util.Locale;

/**
 * Why a request had no ordinary answer, for the access log.
 *
 * <p>Source: Envoy's response flags, each where it means the same.
 */
public enum Outcome {
  /** It had one. */
  ANSWERED("-"),
  /** No route takes its path. */
  NO_ROUTE("NR"),
  /** A bound was reached: overflow. */
  OVERLOAD("UO"),
  /** No replica could be had: none was healthy. */
  NO_REPLICA("UH"),
  /** The replica was gone before the request was sent. */
  REPLICA_GONE("UF"),
  /** The replica was lost with the request. */
  REPLICA_LOST("UC"),
  /** The handler failed, or reset its answer. */
  HANDLER_FAILED("UR"),
  /** Its deadline passed. */
  TIMEOUT("UT"),
  /** It, or its answer, stood still for too long. */
  STOOD_STILL("SI"),
  /** Its client left. */
  CLIENT_GONE("DC"),
  /** Its head was not HTTP, longer than it may be, or asked for what is not done here. */
  BAD_HEAD("DPE"),
  /** It was cancelled here. */
  CANCELLED("LR");

  final String flag;

  Outcome(String flag) {
    this.flag = flag;
  }

  /** As a word, for the record of an explained request. */
  public String code() {
    return name().toLowerCase(Locale.ROOT);
  }

  public static Outcome of(BerthException.Kind kind) {
    return switch (kind) {
      case TIMEOUT -> TIMEOUT;
      case CANCELLED -> CANCELLED;
      case BACK_PRESSURE -> OVERLOAD;
      case DEPLOYMENT_UNAVAILABLE -> NO_REPLICA;
      case REPLICA_UNAVAILABLE, RESERVATION_EXPIRED -> REPLICA_GONE;
      case OUTCOME_UNKNOWN -> REPLICA_LOST;
      case HANDLER_FAILED, NO_SUCH_METHOD -> HANDLER_FAILED;
      case PAYLOAD_TOO_LARGE -> ANSWERED; // Envoy has no flag for it, its status says it
    };
  }

  /**
   * Of an answer of the ingress itself.
   *
   * @param code as {@code HttpFailure} has it
   */
  public static Outcome ofCode(String code) {
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
