package dev.berth.ingress;

import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The header {@code X-Berth-Reservation: <token>}. Its request runs on the slot that the token
 * holds, or not at all. The handler does not see the token, so that no log can contain it.
 */
final class ReservationHeader {
  private static final CharSequence NAME = HttpHeaders.createOptimized("x-berth-reservation");

  private ReservationHeader() {}

  /** Returns the token of a request; null if absent. */
  static @Nullable String of(MultiMap headers) {
    return headers.get(NAME);
  }

  /**
   * Removes the token from the headers of a request.
   *
   * @return the token; null if absent
   * @throws ReservationException if there are several tokens
   */
  static @Nullable String take(MultiMap headers) {
    String token = headers.get(NAME);
    if (token == null) {
      return null;
    }
    List<String> all = headers.getAll(NAME);
    headers.remove(NAME);
    if (all.size() > 1 || token.indexOf(',') >= 0) {
      throw new ReservationException(
          ReservationProblem.MALFORMED,
          "X-Berth-Reservation: several values (expected: one token)",
          -1,
          -1);
    }
    return token;
  }
}
