package dev.berth.admin;

import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import java.util.LinkedHashMap;
import java.util.Map;

/** Refusals of the reservation API as JSON. */
final class ReservationProblems {
  /** Response of a node that does not know routes and nodes yet. */
  static final Endpoint.EndpointResponse STARTING =
      error(
          HttpErrorResponse.of(ReservationProblem.UNAVAILABLE)
              .saying("This node is starting.")
              .comeBackAfter(1),
          Map.of());

  private ReservationProblems() {}

  static Endpoint.EndpointResponse answer(ReservationException refused) {
    HttpErrorResponse told =
        HttpErrorResponse.of(refused.problem()).saying(String.valueOf(refused.getMessage()));
    if (refused.statusCode() >= 0) {
      told = told.as(refused.statusCode());
    }
    int seconds = told.retryAfterSeconds();
    return error(
        seconds == 0 ? told : told.comeBackAfter(Math.max(seconds, refused.retryAfterSeconds())),
        Map.of());
  }

  static Endpoint.EndpointResponse error(int status, String code, String message, String detail) {
    return error(new HttpErrorResponse(status, code, message, detail), Map.of());
  }

  static Endpoint.EndpointResponse error(HttpErrorResponse told, Map<String, String> more) {
    Map<String, String> headers = new LinkedHashMap<>();
    headers.put("Content-Type", "application/json");
    told.advise(headers::put);
    headers.putAll(more);
    return new Endpoint.EndpointResponse(told.status(), headers, told.json().toBuffer());
  }
}
