package dev.berth.admin;

import dev.berth.admin.ReservationJson.BadBodyException;
import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.protocol.port.Reservations.Wish;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** What reservations of several deployments are asked for with, and how they are shown. */
final class LegsJson {
  private static final List<String> KEYS = List.of("legs", "ttl_s", "wait_timeout_s");
  private static final List<String> LEG_KEYS =
      List.of("application", "deployment", "ttl_s", "session_id");

  private final ReservationJson json;
  private final int maxLegs;

  LegsJson(ReservationJson json, int maxLegs) {
    this.json = json;
    this.maxLegs = maxLegs;
  }

  /**
   * What is asked for.
   *
   * @param waitNanos for all of them together; 0 for not at all
   */
  record Legs(List<Wish> wishes, long waitNanos) {}

  /**
   * Reads a body.
   *
   * @throws BadBodyException naming every key that is wrong
   */
  Legs legs(Map<String, Object> body) throws BadBodyException {
    List<String> problems = new ArrayList<>();
    ReservationJson.requireKeys(body, "", KEYS, problems);
    long ttl = json.ttlNanos(body, "", problems);
    long wait = json.waitNanos(body, problems);
    List<Wish> wishes = new ArrayList<>();
    List<?> legs = body.get("legs") instanceof List<?> list ? list : List.of();
    if (legs.isEmpty() || legs.size() > maxLegs) {
      problems.add("legs: " + legs.size() + " (expected: a list of 1 to " + maxLegs + ")");
    } else {
      for (int place = 0; place < legs.size(); place++) {
        read(legs.get(place), "legs[" + place + "]", ttl, wait, wishes, problems);
      }
    }
    if (!problems.isEmpty()) {
      throw new BadBodyException(problems);
    }
    return new Legs(wishes, wait);
  }

  private void read(
      Object given, String name, long ttl, long wait, List<Wish> into, List<String> problems) {
    if (!(given instanceof Map<?, ?> map)) {
      problems.add(name + ": no JSON object (expected: {application, deployment})");
      return;
    }
    Map<String, Object> leg = new LinkedHashMap<>();
    map.forEach((key, value) -> leg.put(String.valueOf(key), value));
    String at = name + ".";
    ReservationJson.requireKeys(leg, at, LEG_KEYS, problems);
    long own = json.ttlNanos(leg, at, problems);
    String session = ReservationJson.sessionId(leg, at, problems);
    String application = required(leg, at, "application", problems);
    String deployment = required(leg, at, "deployment", problems);
    if (!application.isEmpty() && !deployment.isEmpty()) {
      into.add(
          new Wish(new DeploymentId(application, deployment), own == 0 ? ttl : own, wait, session));
    }
  }

  private static String required(
      Map<String, Object> leg, String at, String key, List<String> problems) {
    if (leg.get(key) instanceof String text && !text.isEmpty()) {
      return text;
    }
    problems.add(at + key + ": " + ReservationJson.shown(leg.get(key)) + " (expected: a name)");
    return "";
  }

  /** Reservations held together, in the order of their legs; all of them last as long as said. */
  static JsonObject of(List<Reservation> held, Function<Reservation, JsonObject> one) {
    JsonArray shown = new JsonArray();
    long least = Long.MAX_VALUE;
    for (Reservation each : held) {
      shown.add(
          new JsonObject()
              .put("application", each.deployment().application())
              .put("deployment", each.deployment().name())
              .mergeIn(one.apply(each)));
      least = Math.min(least, each.expiresInNanos());
    }
    return new JsonObject()
        .put("reservations", shown)
        .put("expires_in_ms", TimeUnit.NANOSECONDS.toMillis(least));
  }
}
