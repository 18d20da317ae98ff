package dev.berth.ingress;

import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.protocol.port.Reservations.ReservationException;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * {@code X-Berth-Reservation: <token>}: the request runs on the slot that the token holds, or not
 * at all. Its handler does not see the token, which would end in somebody's log.
 */
final class ReservationHeader {
  private static final CharSequence NAME = HttpHeaders.createOptimized("x-berth-reservation");

  private ReservationHeader() {}

  /** The token of a request; null when it names none. */
  static @Nullable String of(MultiMap headers) {
    return headers.get(NAME);
  }

  /**
   * Takes the token out of the headers of a request.
   *
   * @return null when there is none
   * @throws ReservationException when there is more than one
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
          Problem.MALFORMED, "X-Berth-Reservation: several values (expected: one token)", -1, -1);
    }
    return token;
  }
}
