package dev.berth.admin;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a body of the reservations' API says, or an object within it. What is wrong is collected, so
 * that all of it is told at once.
 *
 * @param at what it is within the body, put before the names of its keys
 * @param problems of the whole body, one sentence each
 */
record JsonMembers(Map<?, ?> given, String at, List<String> problems) {
  private static final int MAX_SESSION_CHARS = 256;

  /** Everything that is wrong with a body, one sentence each. */
  static final class BadBodyException extends Exception {
    private static final long serialVersionUID = 1L;

    BadBodyException(List<String> problems) {
      super(String.join("; ", problems), null, false, false);
    }
  }

  /**
   * Those of a body; none when it is empty.
   *
   * @throws BadBodyException when it is no JSON object
   */
  static JsonMembers of(Buffer body) throws BadBodyException {
    try {
      Map<?, ?> given = body.length() == 0 ? Map.of() : new JsonObject(body).getMap();
      return new JsonMembers(given, "", new ArrayList<>());
    } catch (DecodeException | ClassCastException notAnObject) {
      throw new BadBodyException(List.of("body: no JSON object (expected: {} or more)"));
    }
  }

  /**
   * @throws BadBodyException naming everything that is wrong
   */
  void check() throws BadBodyException {
    if (!problems.isEmpty()) {
      throw new BadBodyException(problems);
    }
  }

  void allow(List<String> known) {
    for (Object key : given.keySet()) {
      if (!known.contains(key)) {
        problems.add(at + shown(key) + ": unknown key (expected: one of " + known + ")");
      }
    }
  }

  /** A text that must be there; empty when it is not. */
  String name(String key) {
    if (given.get(key) instanceof String text && !text.isEmpty()) {
      return text;
    }
    wrong(key, "a name");
    return "";
  }

  /** {@code session_id}; empty when it is absent. */
  String sessionId() {
    Object session = given.get("session_id");
    if (!(session instanceof String text)) {
      if (session != null) {
        wrong("session_id", "a string");
      }
      return "";
    }
    if (text.length() > MAX_SESSION_CHARS || text.chars().anyMatch(Character::isISOControl)) {
      wrong("session_id", "at most " + MAX_SESSION_CHARS + " characters on one line");
    }
    return text;
  }

  /**
   * Seconds as nanoseconds, at least one; 0 when the key is absent or null.
   *
   * @param zero whether that may be said too
   */
  long nanos(String key, Duration max, boolean zero) {
    if (given.get(key) instanceof Number number) {
      double seconds = number.doubleValue();
      if (seconds <= max.toNanos() / 1e9 && (zero ? seconds >= 0 : seconds > 0)) {
        return Math.max(zero ? 0 : 1, (long) (seconds * 1e9));
      }
    }
    if (given.get(key) != null) {
      String range = (zero ? "from 0 to " : "above 0, at most ");
      wrong(key, "a number of seconds " + range + ReservationJson.seconds(max.toNanos()));
    }
    return 0;
  }

  private void wrong(String key, String expected) {
    problems.add("%s%s: %s (expected: %s)".formatted(at, key, shown(given.get(key)), expected));
  }

  /** What a client sent, cut: it is told back to the client, and to nobody else. */
  private static String shown(@Nullable Object value) {
    String text = value instanceof String string ? '"' + string + '"' : String.valueOf(value);
    return text.length() <= 40 ? text : text.substring(0, 40) + "...";
  }
}
