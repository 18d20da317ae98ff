package dev.berth.admin;

import dev.berth.protocol.port.Reservations.Reservation;
import io.vertx.core.json.JsonObject;
import java.math.BigDecimal;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** Reservations as JSON. */
final class ReservationJson {
  private ReservationJson() {}

  /**
   * Returns a reservation.
   *
   * @param ownHost listening host of this instance; null when it listens on every address
   * @param ownPort listening port of this instance
   */
  static JsonObject of(Reservation held, @Nullable String ownHost, int ownPort) {
    boolean own = held.host() == null;
    OptionalInt port = own ? OptionalInt.of(ownPort) : held.port();
    return new JsonObject()
        .put("token", held.token())
        .put("replica_id", held.replicaId())
        .put("node_id", held.nodeId())
        .put("host", own ? ownHost : held.host())
        .put("port", port.isPresent() ? port.getAsInt() : null)
        .put("ttl_s", new BigDecimal(seconds(held.ttlNanos())))
        .put("expires_in_ms", TimeUnit.NANOSECONDS.toMillis(held.expiresInNanos()));
  }

  /**
   * Returns reservations made together, in the order of their legs, with the earliest of their
   * expiries.
   */
  static JsonObject together(List<Reservation> held, Function<Reservation, JsonObject> one) {
    Function<Reservation, JsonObject> named =
        each ->
            new JsonObject()
                .put("application", each.deployment().application())
                .put("deployment", each.deployment().name())
                .mergeIn(one.apply(each));
    LongStream rests = held.stream().mapToLong(Reservation::expiresInNanos);
    return new JsonObject()
        .put("reservations", AdminResponses.array(held, named))
        .put("expires_in_ms", TimeUnit.NANOSECONDS.toMillis(rests.min().orElse(Long.MAX_VALUE)));
  }

  /** Formats seconds: 2, or 0.5. */
  static String seconds(long nanos) {
    return BigDecimal.valueOf(nanos).movePointLeft(9).stripTrailingZeros().toPlainString();
  }
}
