package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.config.Backpressure;
import dev.berth.config.keys.Settings;
import dev.berth.net.http.RefusedRequest;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.routing.RoutedCall;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import java.time.Duration;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Responses to requests that fail: the failures of {@link HttpErrorResponse} with the texts of Ray
 * Serve, and refusals of the ingress itself.
 */
final class ErrorResponses {
  static final String TEXT = "text/plain; charset=utf-8";
  static final String JSON = "application/json";

  /** Refusal when in-flight requests use all memory for requests. */
  static final HttpErrorResponse TOO_MANY_REQUESTS =
      new HttpErrorResponse(
          503,
          "overloaded",
          "Too many requests are in flight.",
          HttpErrorResponse.DID_NOT_RUN,
          1,
          true);

  private static final String BACK_PRESSURE = "Request dropped due to backpressure";

  private ErrorResponses() {}

  /** Returns whether a client with these headers accepts JSON. */
  static boolean isJsonFor(MultiMap headers) {
    String accept = headers.get(HttpHeaders.ACCEPT);
    return accept != null && accept.contains(JSON);
  }

  /**
   * Returns the response to a failed call, which may have failed because of its reservation.
   *
   * @param call null if the failure came before the call
   */
  static HttpErrorResponse of(
      @Nullable RoutedCall call,
      BerthException failure,
      String requestId,
      long timeoutNanos,
      Settings backpressure) {
    ReservationProblem refused = call == null ? null : call.reservationProblem();
    if (refused != null) {
      return HttpErrorResponse.of(refused);
    }
    HttpErrorResponse told = of(failure, requestId, timeoutNanos, backpressure);
    boolean neverSent = call == null || !call.sent();
    return neverSent && failure instanceof BerthException.Timeout ? told.beforeItStarted() : told;
  }

  /**
   * Returns the response to a failure.
   *
   * @param timeoutNanos timeout of the request, or a negative number for none
   */
  static HttpErrorResponse of(
      BerthException failure, String requestId, long timeoutNanos, Settings backpressure) {
    HttpErrorResponse told = HttpErrorResponse.of(failure.kind());
    return switch (failure.kind()) {
      case TIMEOUT ->
          told.saying(
              "Request %s timed out%s."
                  .formatted(
                      requestId, timeoutNanos < 0 ? "" : " after " + seconds(timeoutNanos) + "s"));
      case CANCELLED -> told.saying("Request " + requestId + " was cancelled.");
      case BACK_PRESSURE -> backPressure(told, (BerthException.BackPressure) failure, backpressure);
      case DEPLOYMENT_UNAVAILABLE -> told.saying(orElse(failure.getMessage(), told.message()));
      case PAYLOAD_TOO_LARGE -> // the bound of a batch; other texts may be of a nested call
          orElse(failure.getMessage(), "").startsWith("max_batch_")
              ? told.saying(orElse(failure.getMessage(), told.message()))
              : told;
      default -> told;
    };
  }

  /** Response after the maximum wait for an endpoint without a target. */
  static final HttpErrorResponse LEADS_NOWHERE =
      new HttpErrorResponse(
              503,
              "leads_nowhere",
              "The endpoint has no deployment yet.",
              HttpErrorResponse.DID_NOT_RUN)
          .comeBackAfter(1);

  /** Refusal when the maximum number of requests is parked. */
  static final HttpErrorResponse TOO_MANY_PARKED =
      LEADS_NOWHERE.saying("The endpoint has no deployment yet, and too many requests wait.");

  /** Returns the response for a path without a route. The text is Ray's, including the dots. */
  static HttpErrorResponse notFound(String path) {
    return new HttpErrorResponse(
        404,
        "not_found",
        "Path '" + path + "' not found. Ping http://.../-/routes for available routes.",
        "GET /-/routes lists the routes; commands and metrics are on the port of berth.admin.");
  }

  static HttpErrorResponse bodyTooLarge(long maxBytes) {
    return refusal(413, "body_too_large", "Request body is larger than " + maxBytes + " bytes.");
  }

  static HttpErrorResponse unknownCoding() {
    return refusal(
        415, "unsupported_coding", "Content-Encoding is unknown (expected: gzip or deflate).");
  }

  /**
   * @param large whether the body decodes to too many bytes; otherwise it is malformed
   */
  static HttpErrorResponse badCoding(boolean large) {
    return large
        ? refusal(413, "body_too_large", "Request body decodes to too many bytes.")
        : refusal(400, "bad_coding", "Request body is malformed in its Content-Encoding.");
  }

  static HttpErrorResponse bodyStoodStill(long limitNanos) {
    return refusal(
        408, "body_too_slow", "Request body made no progress for " + seconds(limitNanos) + "s.");
  }

  static HttpErrorResponse bodyTooSlow(int leastBytesPerSecond) {
    return refusal(
        408,
        "body_too_slow",
        "Request body was slower than " + leastBytesPerSecond + " bytes per second.");
  }

  static HttpErrorResponse headTooSlow(long limitNanos) {
    return refusal(
        408, "head_too_slow", "Request head was incomplete after " + seconds(limitNanos) + "s.");
  }

  static HttpErrorResponse expectationFailed() {
    return new HttpErrorResponse(
        417,
        "expectation_failed",
        "Expectation Failed",
        "The request did not run; only 100-continue is supported.");
  }

  /** Returns the refusal of an unsupported HTTP request, and sets the headers of its status. */
  static HttpErrorResponse refusalOf(HttpServerRequest request, RefusedRequest why) {
    why.tell(request);
    return refusal(why.status, why.code(), why.getMessage());
  }

  static HttpErrorResponse uriTooLong() {
    return refusal(414, "uri_too_long", "URI Too Long");
  }

  /** Returns the refusal of a request with an unreadable head. */
  static HttpErrorResponse badHead(HttpServerRequest request) {
    Throwable cause = request.decoderResult().cause();
    if (cause instanceof RefusedRequest refused) {
      return refusalOf(request, refused);
    } else if (cause instanceof TooLongHttpLineException) {
      return uriTooLong();
    }
    return cause instanceof TooLongHttpHeaderException
        ? refusal(431, "headers_too_large", "Request Header Fields Too Large")
        : refusal(400, "bad_request", "Bad Request");
  }

  /**
   * Creates a refusal without retry advice, since a repeated request would fail in the same way.
   */
  private static HttpErrorResponse refusal(int status, String code, String message) {
    return new HttpErrorResponse(status, code, message, "The request did not run.");
  }

  static HttpErrorResponse unhealthy(String reason) {
    return new HttpErrorResponse(503, "unhealthy", reason, "");
  }

  /**
   * Applies the status code and {@code Retry-After} of the deployment that refused. The route
   * supplies missing values, and its {@code Retry-After} also replaces one that comes without a
   * status code.
   */
  private static HttpErrorResponse backPressure(
      HttpErrorResponse told, BerthException.BackPressure full, Settings route) {
    Duration after = route.find(Backpressure.RETRY_AFTER_S);
    OptionalInt own = full.retryAfterSeconds();
    boolean saysBoth = full.statusCode().isPresent() && own.isPresent();
    return told.saying(backPressureText(full.getMessage()))
        .as(full.statusCode().orElse(route.get(Backpressure.STATUS_CODE)))
        .comeBackAfter(after == null || saysBoth ? own.orElse(1) : (int) after.toSeconds());
  }

  private static String backPressureText(@Nullable String message) {
    if (message == null || message.isEmpty()) {
      return BACK_PRESSURE + ".";
    }
    return message.startsWith(BACK_PRESSURE) ? message : BACK_PRESSURE + ": " + message;
  }

  private static String orElse(@Nullable String text, String otherwise) {
    return text == null || text.isEmpty() ? otherwise : text;
  }

  /** Formats seconds without needless digits: 2, 0.5. */
  static String seconds(long nanos) {
    double seconds = nanos / 1e9;
    return seconds == Math.rint(seconds)
        ? Long.toString((long) seconds)
        : Double.toString(Math.round(seconds * 1000) / 1000.0);
  }
}
