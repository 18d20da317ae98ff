package dev.berth.admin;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.protocol.port.Reservations.Wish;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What a reservation is asked for with, and how it is shown. */
final class ReservationJson {
  private static final int MAX_SESSION_CHARS = 256;
  private static final List<String> KEYS = List.of("ttl_s", "wait_timeout_s", "session_id");

  private final Duration maxTtl;
  private final Duration maxWait;

  ReservationJson(Duration maxTtl, Duration maxWait) {
    this.maxTtl = maxTtl;
    this.maxWait = maxWait;
  }

  /** Everything that is wrong with a body, one sentence each. */
  static final class BadBodyException extends Exception {
    private static final long serialVersionUID = 1L;

    BadBodyException(List<String> problems) {
      super(String.join("; ", problems), null, false, false);
    }
  }

  /**
   * The members of a body; none when it is empty.
   *
   * @throws BadBodyException when it is no JSON object
   */
  static Map<String, Object> members(Buffer body) throws BadBodyException {
    if (body.length() == 0) {
      return Map.of();
    }
    try {
      return new JsonObject(body).getMap();
    } catch (DecodeException | ClassCastException notAnObject) {
      throw new BadBodyException(List.of("body: no JSON object (expected: {} or more)"));
    }
  }

  /**
   * What is wished for a deployment.
   *
   * @throws BadBodyException naming every key that is wrong
   */
  Wish wish(DeploymentId deployment, Map<String, Object> body) throws BadBodyException {
    List<String> problems = new ArrayList<>();
    requireKeys(body, "", KEYS, problems);
    long ttl = nanos(body, "", "ttl_s", maxTtl, false, problems);
    long wait = nanos(body, "", "wait_timeout_s", maxWait, true, problems);
    String sessionId = sessionId(body, "", problems);
    if (!problems.isEmpty()) {
      throw new BadBodyException(problems);
    }
    return new Wish(deployment, ttl, wait, sessionId);
  }

  /** {@code wait_timeout_s} in nanoseconds. */
  long waitNanos(Map<String, Object> body, List<String> problems) {
    return nanos(body, "", "wait_timeout_s", maxWait, true, problems);
  }

  /** {@code ttl_s} in nanoseconds; 0 when it is absent. */
  long ttlNanos(Map<String, Object> body, String at, List<String> problems) {
    return nanos(body, at, "ttl_s", maxTtl, false, problems);
  }

  /**
   * @param at what the body is within another, put before the names of its keys
   */
  static void requireKeys(
      Map<String, Object> body, String at, List<String> known, List<String> problems) {
    for (String key : body.keySet()) {
      if (!known.contains(key)) {
        problems.add(at + shown(key) + ": unknown key (expected: one of " + known + ")");
      }
    }
  }

  /** {@code session_id}; empty when it is absent. */
  static String sessionId(Map<String, Object> body, String at, List<String> problems) {
    Object session = body.get("session_id");
    String sessionId = session instanceof String text ? text : "";
    if (session != null && !(session instanceof String)) {
      problems.add(at + "session_id: " + shown(session) + " (expected: a string)");
    } else if (sessionId.length() > MAX_SESSION_CHARS
        || sessionId.chars().anyMatch(Character::isISOControl)) {
      problems.add(
          "%ssession_id: %s (expected: at most %s characters on one line)"
              .formatted(at, shown(sessionId), MAX_SESSION_CHARS));
    }
    return sessionId;
  }

  /** Seconds as nanoseconds; 0 when the key is absent or null. */
  private static long nanos(
      Map<String, Object> body,
      String at,
      String key,
      Duration max,
      boolean zero,
      List<String> problems) {
    Object value = body.get(key);
    if (value == null) {
      return 0;
    }
    if (value instanceof Number number) {
      double seconds = number.doubleValue();
      double most = max.toNanos() / 1e9;
      if (seconds <= most && (zero ? seconds >= 0 : seconds > 0)) {
        // A nanosecond at the least: 0 would mean the deployment's own.
        return Math.max(zero ? 0 : 1, (long) (seconds * 1e9));
      }
    }
    String range = (zero ? "from 0 to " : "above 0, at most ") + seconds(max.toNanos());
    problems.add(
        "%s%s: %s (expected: a number of seconds %s)".formatted(at, key, shown(value), range));
    return 0;
  }

  /** What a client sent, cut: it is told back to the client, and to nobody else. */
  static String shown(Object value) {
    String text = value instanceof String string ? '"' + string + '"' : String.valueOf(value);
    return text.length() <= 40 ? text : text.substring(0, 40) + "...";
  }

  /**
   * A reservation.
   *
   * @param ownHost where this instance takes requests; null when that is every address of it
   * @param ownPort the same
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

  /** 2, or 0.5. */
  static String seconds(long nanos) {
    return BigDecimal.valueOf(nanos).movePointLeft(9).stripTrailingZeros().toPlainString();
  }
}
