package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.config.Backpressure;
import dev.berth.config.keys.Settings;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.routing.RoutedCall;
import java.time.Duration;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The one place where the end of a request without a response becomes an HTTP status and a text.
 * Texts say nothing of the inside of the instance, and of a failed handler nothing at all.
 *
 * <p>Source: Ray Serve's {@code get_http_response_status} and its texts; 502 for an unknown outcome
 * is ours, since Ray's 500 does not tell a request that may have run from one that failed.
 */
final class ErrorResponses {
  private static final String BACK_PRESSURE = "Request dropped due to backpressure";
  private static final String DID_NOT_RUN = "The request did not run; it may be sent again.";

  private ErrorResponses() {}

  /** The status of a failure; of back-pressure, the one of the deployment that refused. */
  static int status(BerthException failure, Settings backpressure) {
    if (failure instanceof BerthException.BackPressure full && full.statusCode().isPresent()) {
      return full.statusCode().getAsInt();
    }
    return status(failure.kind(), backpressure);
  }

  /** The status of a failure of this kind. */
  static int status(BerthException.Kind kind, Settings backpressure) {
    return switch (kind) {
      case TIMEOUT -> 408;
      case CANCELLED -> 499; // nginx's; the client has gone, so it is for metrics
      case BACK_PRESSURE -> backpressure.get(Backpressure.STATUS_CODE);
      case DEPLOYMENT_UNAVAILABLE, REPLICA_UNAVAILABLE, RESERVATION_EXPIRED -> 503;
      case OUTCOME_UNKNOWN -> 502;
      case HANDLER_FAILED, NO_SUCH_METHOD -> 500;
      case PAYLOAD_TOO_LARGE -> 413;
    };
  }

  /**
   * What a client is told of a failure of its call, which may be that its reservation did not hold.
   *
   * @param call null when it failed before there was one
   */
  static ErrorAnswer of(
      @Nullable RoutedCall call,
      BerthException failure,
      String requestId,
      long timeoutNanos,
      Settings backpressure) {
    Problem refused = call == null ? null : call.reservationProblem();
    return refused == null
        ? of(failure, requestId, timeoutNanos, backpressure)
        : of(refused, backpressure);
  }

  /**
   * What a client is told of a failure.
   *
   * @param timeoutNanos the bound of the request's time, or a negative number for none
   */
  static ErrorAnswer of(
      BerthException failure, String requestId, long timeoutNanos, Settings backpressure) {
    int status = status(failure, backpressure);
    String code = code(failure.kind());
    return switch (failure.kind()) {
      case TIMEOUT ->
          new ErrorAnswer(
              status,
              code,
              "Request "
                  + requestId
                  + " timed out"
                  + (timeoutNanos < 0 ? "." : " after " + seconds(timeoutNanos) + "s."),
              "The request was cancelled; it may have run in part.");
      case CANCELLED ->
          new ErrorAnswer(
              status,
              code,
              "Request " + requestId + " was cancelled.",
              "The request may have run in part.");
      case BACK_PRESSURE ->
          new ErrorAnswer(
              status,
              code,
              backPressureText(failure.getMessage()),
              DID_NOT_RUN,
              OptionalInt.of(retryAfter(failure, backpressure.find(Backpressure.RETRY_AFTER_S))));
      case DEPLOYMENT_UNAVAILABLE ->
          new ErrorAnswer(
              status,
              code,
              orElse(failure.getMessage(), "The deployment is unavailable."),
              DID_NOT_RUN);
      case REPLICA_UNAVAILABLE ->
          new ErrorAnswer(status, code, "The replica is no longer available.", DID_NOT_RUN);
      case RESERVATION_EXPIRED ->
          new ErrorAnswer(status, code, "The reservation expired before it was used.", DID_NOT_RUN);
      case OUTCOME_UNKNOWN ->
          new ErrorAnswer(
              status,
              code,
              "The replica was lost before it answered.",
              "The request may have run; send it again only if that does no harm.");
      case HANDLER_FAILED,
          NO_SUCH_METHOD -> // the callers here are ours: it is no fault of a client
          new ErrorAnswer(status, code, "Internal Server Error", "The request ran and failed.");
      case PAYLOAD_TOO_LARGE ->
          new ErrorAnswer(
              status,
              code,
              "Request body is too large.",
              "It is over what is gathered for this deployment.");
    };
  }

  /** Why a request did not run under the reservation that it named. */
  static ErrorAnswer of(Problem refused, Settings backpressure) {
    return switch (refused) {
      case UNKNOWN_TOKEN -> refused(404, "reservation_unknown", "The reservation is not known.");
      case EXPIRED ->
          refused(410, "reservation_expired", "The reservation expired before it was used.");
      case RELEASED -> refused(410, "reservation_released", "The reservation was released.");
      case ALREADY_USED -> refused(409, "reservation_used", "The reservation was used before.");
      case OTHER_DEPLOYMENT ->
          refused(
              409, "reservation_other_deployment", "The reservation is for another deployment.");
      case MALFORMED ->
          refused(
              400,
              "reservation_malformed",
              "X-Berth-Reservation: several values (expected: one token)");
      case UNAVAILABLE ->
          refused(503, "replica_unavailable", "The replica is no longer available.");
      // What follows is told to who reserves, and never to who uses.
      case UNKNOWN_DEPLOYMENT, FULL, CALLER_LIMIT, INSTANCE_LIMIT, KEY_REUSED, ABANDONED ->
          refused(
              backpressure.get(Backpressure.STATUS_CODE),
              "reservation_unavailable",
              "Nothing is reserved.");
    };
  }

  private static ErrorAnswer refused(int status, String code, String text) {
    return new ErrorAnswer(status, code, text, DID_NOT_RUN);
  }

  /** No route takes the path. The text is Ray's, the dots included. */
  static ErrorAnswer notFound(String path) {
    return new ErrorAnswer(
        404,
        "not_found",
        "Path '" + path + "' not found. Ping http://.../-/routes for available routes.",
        DID_NOT_RUN);
  }

  /** Those under way take all the memory that requests may. */
  static ErrorAnswer tooManyRequests() {
    return new ErrorAnswer(
        503, "overloaded", "Too many requests are under way.", DID_NOT_RUN, OptionalInt.of(1));
  }

  static ErrorAnswer bodyTooLarge(long maxBytes) {
    return new ErrorAnswer(
        413,
        "body_too_large",
        "Request body is larger than " + maxBytes + " bytes.",
        "The request did not run.");
  }

  static ErrorAnswer bodyStoodStill(long limitNanos) {
    return bodyTooSlow("Request body stood still for " + seconds(limitNanos) + "s.");
  }

  static ErrorAnswer bodyTooSlow(int leastBytesPerSecond) {
    return bodyTooSlow("Request body came slower than " + leastBytesPerSecond + " bytes a second.");
  }

  private static ErrorAnswer bodyTooSlow(String how) {
    return new ErrorAnswer(408, "body_too_slow", how, "The request did not run.");
  }

  static ErrorAnswer headTooSlow(long limitNanos) {
    return new ErrorAnswer(
        408,
        "head_too_slow",
        "Request head was not whole after " + seconds(limitNanos) + "s.",
        "The request did not run.");
  }

  static ErrorAnswer expectationFailed() {
    return new ErrorAnswer(
        417,
        "expectation_failed",
        "Expectation Failed",
        "The request did not run; only 100-continue may be expected.");
  }

  /** A request whose head could not be read. */
  static ErrorAnswer badHead(int status) {
    return switch (status) {
      case 414 -> new ErrorAnswer(414, "uri_too_long", "URI Too Long", "The request did not run.");
      case 431 ->
          new ErrorAnswer(
              431,
              "headers_too_large",
              "Request Header Fields Too Large",
              "The request did not run.");
      default -> new ErrorAnswer(400, "bad_request", "Bad Request", "The request did not run.");
    };
  }

  static ErrorAnswer unhealthy(String reason) {
    return new ErrorAnswer(503, "unhealthy", reason, "");
  }

  private static String code(BerthException.Kind kind) {
    return switch (kind) {
      case TIMEOUT -> "timeout";
      case CANCELLED -> "cancelled";
      case BACK_PRESSURE -> "back_pressure";
      case DEPLOYMENT_UNAVAILABLE -> "deployment_unavailable";
      case REPLICA_UNAVAILABLE -> "replica_unavailable";
      case RESERVATION_EXPIRED -> "reservation_expired";
      case OUTCOME_UNKNOWN -> "outcome_unknown";
      case HANDLER_FAILED -> "handler_failed";
      case NO_SUCH_METHOD -> "no_such_method";
      case PAYLOAD_TOO_LARGE -> "payload_too_large";
    };
  }

  private static String backPressureText(@Nullable String message) {
    if (message == null || message.isEmpty()) {
      return BACK_PRESSURE + ".";
    }
    return message.startsWith(BACK_PRESSURE) ? message : BACK_PRESSURE + ": " + message;
  }

  /** That of the deployment that refused; of one that says none, the route's. */
  private static int retryAfter(BerthException failure, @Nullable Duration configured) {
    boolean own = false;
    OptionalInt told = OptionalInt.empty();
    if (failure instanceof BerthException.BackPressure full) {
      own = full.statusCode().isPresent();
      told = full.retryAfterSeconds();
    }
    if (configured != null && !(own && told.isPresent())) {
      return (int) Math.max(1, configured.toSeconds());
    }
    return Math.max(1, told.orElse(1));
  }

  private static String orElse(@Nullable String text, String otherwise) {
    return text == null || text.isEmpty() ? otherwise : text;
  }

  /** Seconds as a person writes them: 2, 0.5. */
  static String seconds(long nanos) {
    double seconds = nanos / 1e9;
    return seconds == Math.rint(seconds)
        ? Long.toString((long) seconds)
        : Double.toString(Math.round(seconds * 1000) / 1000.0);
  }
}
