package dev.berth.admin;

import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.HttpFailure;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.protocol.port.Reservations.ReservationException;
import java.util.LinkedHashMap;
import java.util.Map;

/** Refusals of the reservation API as JSON. */
final class ReservationProblems {
  /** Response of a node that does not know routes and nodes yet. */
  static final Endpoint.Answer STARTING =
      error(
          HttpFailure.of(Problem.UNAVAILABLE).saying("This node is starting.").comeBackAfter(1),
          Map.of());

  private ReservationProblems() {}

  static Endpoint.Answer answer(ReservationException refused) {
    HttpFailure told =
        HttpFailure.of(refused.problem()).saying(String.valueOf(refused.getMessage()));
    if (refused.statusCode() >= 0) {
      told = told.as(refused.statusCode());
    }
    int seconds = told.retryAfterSeconds();
    return error(
        seconds == 0 ? told : told.comeBackAfter(Math.max(seconds, refused.retryAfterSeconds())),
        Map.of());
  }

  static Endpoint.Answer error(int status, String code, String message, String detail) {
    return error(new HttpFailure(status, code, message, detail), Map.of());
  }

  static Endpoint.Answer error(HttpFailure told, Map<String, String> more) {
    Map<String, String> headers = new LinkedHashMap<>();
    headers.put("Content-Type", "application/json");
    told.advise(headers::put);
    headers.putAll(more);
    return new Endpoint.Answer(told.status(), headers, told.json().toBuffer());
  }
}
