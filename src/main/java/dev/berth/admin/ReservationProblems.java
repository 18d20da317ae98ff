package dev.berth.admin;

import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.Reservations.ReservationException;
import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The one place where the API's refusals to reserve, renew and release become an HTTP status and
 * JSON: {@code {"code", "message", "detail"}}.
 */
final class ReservationProblems {
  private ReservationProblems() {}

  static Endpoint.Answer answer(ReservationException refused) {
    String message = String.valueOf(refused.getMessage());
    int retryAfter = Math.max(1, refused.retryAfterSeconds());
    return switch (refused.problem()) {
      case UNKNOWN_DEPLOYMENT -> error(404, "unknown_deployment", message, "");
      case UNKNOWN_TOKEN ->
          error(404, "reservation_unknown", message, "It never was, or is long over.");
      case EXPIRED -> error(410, "reservation_expired", message, "Its slot is free.");
      case RELEASED -> error(410, "reservation_released", message, "Its slot is free.");
      case ALREADY_USED -> error(409, "reservation_used", message, "It serves one request.");
      case OTHER_DEPLOYMENT -> error(409, "reservation_other_deployment", message, "");
      case KEY_REUSED ->
          error(409, "idempotency_key_reused", message, "Another request needs another key.");
      case CALLER_LIMIT ->
          later(429, "caller_limit", message, "Use, release or let expire some.", retryAfter);
      case INSTANCE_LIMIT ->
          later(503, "instance_limit", message, "All callers together hold too many.", retryAfter);
      case FULL ->
          later(
              refused.statusCode() < 0 ? 503 : refused.statusCode(),
              "back_pressure",
              message,
              "Nothing is held.",
              retryAfter);
      case UNAVAILABLE -> later(503, "unavailable", message, "Nothing is held.", retryAfter);
      case ABANDONED -> error(499, "abandoned", message, "");
      case MALFORMED -> error(400, "bad_request", message, "");
    };
  }

  static Endpoint.Answer error(int status, String code, String message, String detail) {
    return error(status, code, message, detail, Map.of());
  }

  private static Endpoint.Answer later(
      int status, String code, String message, String detail, int retryAfterSeconds) {
    return error(
        status, code, message, detail, Map.of("Retry-After", Integer.toString(retryAfterSeconds)));
  }

  static Endpoint.Answer error(
      int status, String code, String message, String detail, Map<String, String> more) {
    Map<String, String> headers = new LinkedHashMap<>();
    headers.put("Content-Type", "application/json");
    headers.putAll(more);
    return new Endpoint.Answer(
        status,
        headers,
        new JsonObject()
            .put("code", code)
            .put("message", message)
            .put("detail", detail)
            .toBuffer());
  }
}
