package dev.berth.protocol.port;

import dev.berth.api.BerthException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import io.vertx.core.json.JsonObject;
import java.util.function.BiConsumer;

/**
 * The HTTP form of a failure. {@link #of} is the only table of these forms, for requests and for
 * operations on reservations. Messages reveal nothing of the instance's internals, and nothing at
 * all of a handler's failure.
 *
 * <p>Source: Ray Serve's {@code get_http_response_status}. Status 502 for an unknown outcome is an
 * addition: Ray's 500 does not distinguish a request that may have run from one that failed.
 *
 * @param status HTTP status
 * @param code stable name of the reason, for programs
 * @param message the reason, for people; the whole text of the text form
 * @param detail whether the request ran, and possible actions of the client
 * @param retryAfterSeconds Retry-After, at least 1; 0 is none
 * @param mayRepeat false where a client that retries such statuses automatically could run a
 *     request twice. True for a failed handler, 500, which is left to the client's own policy
 */
public record HttpErrorResponse(
    int status,
    String code,
    String message,
    String detail,
    int retryAfterSeconds,
    boolean mayRepeat) {
  public static final String DID_NOT_RUN = "The request did not run; it can be sent again.";

  /**
   * Response header that controls the retries of OpenAI's clients, {@code false} or {@code true}.
   */
  public static final String SHOULD_RETRY = "x-should-retry";

  /** The failure of a method name that a client requested in a header. */
  public static final HttpErrorResponse NO_SUCH_METHOD =
      refusal(404, "no_such_method", "X-Serve-Call-Method: the handler has no such method.");

  /** The failure of a request whose own cost exceeds the slots of each replica. */
  public static final HttpErrorResponse COST_TOO_LARGE =
      refusal(400, "cost_too_large", "cost: the request needs more slots than any replica has.");

  /** The failure of a request to an upstream that passed this instance before. */
  public static final HttpErrorResponse LOOP_DETECTED =
      onlyOnce(
          508,
          "loop_detected",
          "The request passed this instance before.",
          "The request did not run: its upstreams lead back here.");

  public HttpErrorResponse(int status, String code, String message, String detail) {
    this(status, code, message, detail, 0, true);
  }

  /**
   * Returns the failure of a request. Back-pressure has its default status, which a deployment may
   * override.
   */
  public static HttpErrorResponse of(BerthException.Kind kind) {
    return switch (kind) {
      case TIMEOUT ->
          onlyOnce(
              408,
              "timeout",
              "The request timed out.",
              "The request was cancelled; it may have run in part.");
      case CANCELLED -> // nginx's status; only for metrics, as the client has disconnected
          new HttpErrorResponse(
              499, "cancelled", "The request was cancelled.", "The request may have run in part.");
      case BACK_PRESSURE -> refusal(503, "back_pressure", "No slot is free.").comeBackAfter(1);
      case DEPLOYMENT_UNAVAILABLE ->
          refusal(503, "deployment_unavailable", "The deployment is unavailable.");
      case REPLICA_UNAVAILABLE ->
          refusal(503, "replica_unavailable", "The replica is no longer available.");
      case RESERVATION_EXPIRED -> // held by a handler: not the client's fault
          refusal(503, "reservation_expired", "The reservation expired before it was used.");
      case OUTCOME_UNKNOWN ->
          onlyOnce(
              502,
              "outcome_unknown",
              "The replica or its upstream was lost before it responded.",
              "The request may have run; send it again only if that does no harm.");
      case HANDLER_FAILED -> handlerFailure("handler_failed");
      // from a handler's call: not the client's fault
      case NO_SUCH_METHOD -> handlerFailure("no_such_method");
      case COST_TOO_LARGE -> handlerFailure("cost_too_large");
      case PAYLOAD_TOO_LARGE ->
          new HttpErrorResponse(
              413,
              "payload_too_large",
              "Request body is too large.",
              "It exceeds a limit of this deployment.");
    };
  }

  /**
   * Returns the failure of a reservation, or of a request that did not run under its reservation.
   */
  public static HttpErrorResponse of(ReservationProblem problem) {
    return switch (problem) {
      case UNKNOWN_DEPLOYMENT ->
          refusal(404, "unknown_deployment", "The deployment is unknown here.");
      case UNKNOWN_TOKEN -> refusal(404, "reservation_unknown", "The reservation is unknown.");
      case EXPIRED ->
          refusal(410, "reservation_expired", "The reservation expired before it was used.");
      case RELEASED -> refusal(410, "reservation_released", "The reservation was released.");
      case KEEPER_LOST ->
          refusal(410, "reservation_lost", "The node that held the reservation is lost.");
      case KEEPER_UNREACHED ->
          refusal(
                  503,
                  "reservation_unreached",
                  "The node that holds the reservation is unreachable.")
              .comeBackAfter(1);
      case ALREADY_USED -> // by a request that started, perhaps an earlier attempt of this one
          onlyOnce(
              409,
              "reservation_used",
              "The reservation was used before.",
              "It can serve only one request.");
      case OTHER_DEPLOYMENT ->
          refusal(
              409, "reservation_other_deployment", "The reservation is for another deployment.");
      case MALFORMED ->
          refusal(
              400,
              "reservation_malformed",
              "X-Berth-Reservation: several values (expected: one token)");
      case KEY_REUSED ->
          refusal(
              409, "idempotency_key_reused", "The idempotency key was used for another request.");
      case CALLER_LIMIT ->
          refusal(429, "caller_limit", "The caller holds too many reservations.").comeBackAfter(1);
      case INSTANCE_LIMIT ->
          refusal(503, "instance_limit", "All callers together hold too many reservations.")
              .comeBackAfter(1);
      case FULL -> of(BerthException.Kind.BACK_PRESSURE);
      case UNAVAILABLE -> of(BerthException.Kind.DEPLOYMENT_UNAVAILABLE);
      case REPLICA_GONE -> of(BerthException.Kind.REPLICA_UNAVAILABLE);
      case ABANDONED -> of(BerthException.Kind.CANCELLED);
    };
  }

  private static HttpErrorResponse handlerFailure(String code) {
    return new HttpErrorResponse(500, code, "Internal Server Error", "The request ran and failed.");
  }

  private static HttpErrorResponse refusal(int status, String code, String message) {
    return new HttpErrorResponse(status, code, message, DID_NOT_RUN);
  }

  private static HttpErrorResponse onlyOnce(
      int status, String code, String message, String detail) {
    return new HttpErrorResponse(status, code, message, detail, 0, false);
  }

  /** Returns the same failure of a request that certainly reached no handler. */
  public HttpErrorResponse beforeItStarted() {
    return new HttpErrorResponse(status, code, message, DID_NOT_RUN, retryAfterSeconds, true);
  }

  /** Returns the same failure of a request that may have reached a handler. */
  public HttpErrorResponse afterItStarted() {
    return new HttpErrorResponse(
        status, code, message, "The request may have run in part.", retryAfterSeconds, false);
  }

  /** Returns the same failure with another, more detailed message. */
  public HttpErrorResponse saying(String words) {
    return new HttpErrorResponse(status, code, words, detail, retryAfterSeconds, mayRepeat);
  }

  /** Returns the same failure with the status that a deployment configures. */
  public HttpErrorResponse as(int configuredStatus) {
    return new HttpErrorResponse(
        configuredStatus, code, message, detail, retryAfterSeconds, mayRepeat);
  }

  /** Returns the same failure with a Retry-After delay in seconds, raised to at least 1. */
  public HttpErrorResponse comeBackAfter(int seconds) {
    return new HttpErrorResponse(status, code, message, detail, Math.max(1, seconds), mayRepeat);
  }

  /**
   * Adds the headers that control a program's retries: the delay, and the advice not to retry. By
   * default, OpenAI's clients retry each 408, 409, 429 and 5xx twice.
   *
   * <p>Source: {@code _should_retry} of openai-python.
   */
  public void advise(BiConsumer<String, String> header) {
    if (retryAfterSeconds > 0) {
      header.accept("Retry-After", Integer.toString(retryAfterSeconds));
    }
    if (!mayRepeat) {
      header.accept(SHOULD_RETRY, "false");
    }
  }

  /** Returns message and detail as one text of whole sentences. */
  public String words() {
    String end = message.isEmpty() || message.endsWith(".") ? " " : ". ";
    return detail.isEmpty() ? message : (message + end + detail).strip();
  }

  public JsonObject json() {
    return new JsonObject().put("code", code).put("message", message).put("detail", detail);
  }
}
