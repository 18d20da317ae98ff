package dev.berth.admin;

import dev.berth.admin.JsonFieldReader.BadBodyException;
import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.Reservations.ReservationRequest;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Parser and limits of the bodies of reservation requests.
 *
 * @param maxTtl maximum time to live
 * @param maxWait maximum waiting time
 * @param maxLegs maximum of slots reserved together
 */
public record ReservationBody(Duration maxTtl, Duration maxWait, int maxLegs) {
  private static final String TTL = "ttl_s";
  private static final String WAIT = "wait_timeout_s";
  private static final String COST = "cost";
  private static final List<String> KEYS = List.of(TTL, WAIT, "session_id", COST);
  private static final List<String> TOGETHER_KEYS = List.of("legs", TTL, WAIT);
  private static final List<String> LEG_KEYS =
      List.of("application", "deployment", TTL, "session_id", COST);

  /**
   * A request for several reservations together.
   *
   * @param waitNanos waiting time of all of them; 0 for none
   */
  record GangRequest(List<ReservationRequest> wishes, long waitNanos) {}

  /**
   * Parses a request for one slot of a deployment.
   *
   * @throws BadBodyException with every wrong key
   */
  ReservationRequest wish(DeploymentId deployment, Buffer body) throws BadBodyException {
    JsonFieldReader members = JsonFieldReader.of(body);
    members.allow(KEYS);
    long ttl = members.nanos(TTL, maxTtl, false);
    ReservationRequest wish =
        new ReservationRequest(
            deployment,
            ttl,
            members.nanos(WAIT, maxWait, true),
            members.sessionId(),
            members.slots(COST));
    members.check();
    return wish;
  }

  /**
   * Parses a request for several slots, all or none.
   *
   * @throws BadBodyException with every wrong key
   */
  GangRequest legs(Buffer body) throws BadBodyException {
    JsonFieldReader members = JsonFieldReader.of(body);
    members.allow(TOGETHER_KEYS);
    long ttl = members.nanos(TTL, maxTtl, false);
    long wait = members.nanos(WAIT, maxWait, true);
    List<ReservationRequest> wishes = new ArrayList<>();
    List<?> legs = members.given().get("legs") instanceof List<?> list ? list : List.of();
    if (legs.isEmpty() || legs.size() > maxLegs) {
      String expected = " (expected: a list of 1 to " + maxLegs + ")";
      members.problems().add("legs: " + legs.size() + expected);
      legs = List.of();
    }
    for (int place = 0; place < legs.size(); place++) {
      String name = "legs[" + place + "]";
      if (legs.get(place) instanceof Map<?, ?> leg) {
        read(new JsonFieldReader(leg, name + ".", members.problems()), ttl, wait, wishes);
      } else {
        String expected = " (expected: {application, deployment})";
        members.problems().add(name + ": not a JSON object" + expected);
      }
    }
    members.check();
    return new GangRequest(wishes, wait);
  }

  private void read(JsonFieldReader leg, long ttl, long wait, List<ReservationRequest> into) {
    leg.allow(LEG_KEYS);
    long own = leg.nanos(TTL, maxTtl, false);
    String session = leg.sessionId();
    int cost = leg.slots(COST);
    String application = leg.name("application");
    String deployment = leg.name("deployment");
    if (!application.isEmpty() && !deployment.isEmpty()) {
      into.add(
          new ReservationRequest(
              new DeploymentId(application, deployment),
              own == 0 ? ttl : own,
              wait,
              session,
              cost));
    }
  }
}
