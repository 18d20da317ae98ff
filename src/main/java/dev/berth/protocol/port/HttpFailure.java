package dev.berth.protocol.port;

import dev.berth.api.BerthException;
import dev.berth.protocol.port.Reservations.Problem;
import io.vertx.core.json.JsonObject;
import java.util.function.BiConsumer;

/**
 * Why what was asked for is not had, as HTTP tells it. {@link #of} is the one table of it, for
 * requests and for those who reserve, renew and release. Its texts say nothing of the inside of the
 * instance, and of a failed handler nothing at all.
 *
 * <p>Source: Ray Serve's {@code get_http_response_status}; 502 for an unknown outcome is ours,
 * since Ray's 500 does not tell a request that may have run from one that failed.
 *
 * @param status HTTP status
 * @param code stable name of the reason, for programs
 * @param message the reason, for people; all of the text form
 * @param detail whether the request ran, and what the client may do
 * @param retryAfterSeconds Retry-After, at least 1; 0 is none
 * @param mayRepeat false where a client that repeats such statuses by itself would run again what
 *     may have run. A handler that failed, 500, is left to the client's own rule
 */
public record HttpFailure(
    int status,
    String code,
    String message,
    String detail,
    int retryAfterSeconds,
    boolean mayRepeat) {
  public static final String DID_NOT_RUN = "The request did not run; it may be sent again.";

  /** By which OpenAI's clients learn whether to repeat a request, {@code false} or {@code true}. */
  public static final String SHOULD_RETRY = "x-should-retry";

  /** Of a method that a client named itself. */
  public static final HttpFailure NO_SUCH_METHOD =
      refused(404, "no_such_method", "X-Serve-Call-Method: the handler has no such method.");

  public HttpFailure(int status, String code, String message, String detail) {
    this(status, code, message, detail, 0, true);
  }

  /** What became of a request; back-pressure as it is told where nobody says otherwise. */
  public static HttpFailure of(BerthException.Kind kind) {
    return switch (kind) {
      case TIMEOUT ->
          onlyOnce(
              408,
              "timeout",
              "The request timed out.",
              "The request was cancelled; it may have run in part.");
      case CANCELLED -> // nginx's; the client has gone, so it is for metrics
          new HttpFailure(
              499, "cancelled", "The request was cancelled.", "The request may have run in part.");
      case BACK_PRESSURE -> refused(503, "back_pressure", "No slot is free.").comeBackAfter(1);
      case DEPLOYMENT_UNAVAILABLE ->
          refused(503, "deployment_unavailable", "The deployment is unavailable.");
      case REPLICA_UNAVAILABLE ->
          refused(503, "replica_unavailable", "The replica is no longer available.");
      case RESERVATION_EXPIRED -> // held by a handler: it is no fault of its client
          refused(503, "reservation_expired", "The reservation expired before it was used.");
      case OUTCOME_UNKNOWN ->
          onlyOnce(
              502,
              "outcome_unknown",
              "The replica was lost before it answered.",
              "The request may have run; send it again only if that does no harm.");
      case HANDLER_FAILED -> failed("handler_failed");
      case NO_SUCH_METHOD -> failed("no_such_method"); // of a handler's own call: no client's fault
      case PAYLOAD_TOO_LARGE ->
          new HttpFailure(
              413,
              "payload_too_large",
              "Request body is too large.",
              "It is over what is gathered for this deployment.");
    };
  }

  /** Why there is no reservation, or a request did not run under the one that it named. */
  public static HttpFailure of(Problem problem) {
    return switch (problem) {
      case UNKNOWN_DEPLOYMENT ->
          refused(404, "unknown_deployment", "The deployment is not known here.");
      case UNKNOWN_TOKEN -> refused(404, "reservation_unknown", "The reservation is not known.");
      case EXPIRED ->
          refused(410, "reservation_expired", "The reservation expired before it was used.");
      case RELEASED -> refused(410, "reservation_released", "The reservation was released.");
      case KEEPER_LOST ->
          refused(410, "reservation_lost", "The node that kept the reservation is lost.");
      case KEEPER_UNREACHED ->
          refused(
                  503,
                  "reservation_unreached",
                  "The node that keeps the reservation cannot be reached.")
              .comeBackAfter(1);
      case ALREADY_USED -> // by a request that started, perhaps this one's first attempt
          onlyOnce(
              409,
              "reservation_used",
              "The reservation was used before.",
              "A request ran on it, and no other will.");
      case OTHER_DEPLOYMENT ->
          refused(
              409, "reservation_other_deployment", "The reservation is for another deployment.");
      case MALFORMED ->
          refused(
              400,
              "reservation_malformed",
              "X-Berth-Reservation: several values (expected: one token)");
      case KEY_REUSED ->
          refused(
              409, "idempotency_key_reused", "The idempotency key was used for another request.");
      case CALLER_LIMIT ->
          refused(429, "caller_limit", "The caller holds too many reservations.").comeBackAfter(1);
      case INSTANCE_LIMIT ->
          refused(503, "instance_limit", "All callers together hold too many reservations.")
              .comeBackAfter(1);
      case FULL -> of(BerthException.Kind.BACK_PRESSURE);
      case UNAVAILABLE -> of(BerthException.Kind.DEPLOYMENT_UNAVAILABLE);
      case REPLICA_GONE -> of(BerthException.Kind.REPLICA_UNAVAILABLE);
      case ABANDONED -> of(BerthException.Kind.CANCELLED);
    };
  }

  private static HttpFailure failed(String code) {
    return new HttpFailure(500, code, "Internal Server Error", "The request ran and failed.");
  }

  private static HttpFailure refused(int status, String code, String message) {
    return new HttpFailure(status, code, message, DID_NOT_RUN);
  }

  private static HttpFailure onlyOnce(int status, String code, String message, String detail) {
    return new HttpFailure(status, code, message, detail, 0, false);
  }

  /** The same of a request that surely was given to no handler. */
  public HttpFailure beforeItStarted() {
    return new HttpFailure(status, code, message, DID_NOT_RUN, retryAfterSeconds, true);
  }

  /** The same of a request that a handler may have been given. */
  public HttpFailure afterItStarted() {
    return new HttpFailure(
        status, code, message, "The request may have run in part.", retryAfterSeconds, false);
  }

  /** The same, in words that say more. */
  public HttpFailure saying(String words) {
    return new HttpFailure(status, code, words, detail, retryAfterSeconds, mayRepeat);
  }

  /** The same, with the status that a deployment asks for. */
  public HttpFailure as(int configuredStatus) {
    return new HttpFailure(configuredStatus, code, message, detail, retryAfterSeconds, mayRepeat);
  }

  /** The same, which may be another one after so many seconds; at least one is told. */
  public HttpFailure comeBackAfter(int seconds) {
    return new HttpFailure(status, code, message, detail, Math.max(1, seconds), mayRepeat);
  }

  /**
   * The headers by which programs learn when to send it again, and that they had better not.
   * OpenAI's clients, unless told so, repeat each 408, 409, 429 and 5xx, twice.
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

  public JsonObject json() {
    return new JsonObject().put("code", code).put("message", message).put("detail", detail);
  }
}
