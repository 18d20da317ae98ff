package dev.berth.admin;

import dev.berth.api.Deployment;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reader of a JSON object in a body of the reservation API. Problems are collected, so that the
 * client receives all of them at once.
 *
 * @param at path of the object within the body, prefix of the names of its keys
 * @param problems problems of the whole body, one sentence each
 */
record JsonFieldReader(Map<?, ?> given, String at, List<String> problems) {
  private static final int MAX_SESSION_CHARS = 256;

  /** All problems of a body, one sentence each. */
  static final class BadBodyException extends Exception {
    private static final long serialVersionUID = 1L;

    BadBodyException(List<String> problems) {
      super(String.join("; ", problems), null, false, false);
    }
  }

  /**
   * Returns the members of a body; none for an empty body.
   *
   * @throws BadBodyException when the body is not a JSON object
   */
  static JsonFieldReader of(Buffer body) throws BadBodyException {
    try {
      Map<?, ?> given = body.length() == 0 ? Map.of() : new JsonObject(body).getMap();
      return new JsonFieldReader(given, "", new ArrayList<>());
    } catch (DecodeException | ClassCastException notAnObject) {
      throw new BadBodyException(List.of("body: not a JSON object (expected: {} or more)"));
    }
  }

  /**
   * Checks that no problem was found.
   *
   * @throws BadBodyException with all problems
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

  /** Returns a required text; empty, with a problem, when it is missing. */
  String name(String key) {
    if (given.get(key) instanceof String text && !text.isEmpty()) {
      return text;
    }
    wrong(key, "a name");
    return "";
  }

  /** Returns the {@code session_id}; empty when absent. */
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
   * Returns a number of seconds as nanoseconds, at least one; 0 when the key is absent or null.
   *
   * @param zero whether the value 0 is allowed too
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

  /** Returns a number of slots; 1 when the key is absent or null. */
  int slots(String key) {
    Object slots = given.get(key);
    if (slots instanceof Integer number
        && number >= 1
        && number <= Deployment.MAX_ONGOING_REQUESTS_LIMIT) {
      return number;
    }
    if (slots != null) {
      wrong(key, "an integer from 1 to " + Deployment.MAX_ONGOING_REQUESTS_LIMIT);
    }
    return 1;
  }

  private void wrong(String key, String expected) {
    problems.add("%s%s: %s (expected: %s)".formatted(at, key, shown(given.get(key)), expected));
  }

  /** Returns a value of the client, shortened. The text is returned to that client only. */
  private static String shown(@Nullable Object value) {
    String text = value instanceof String string ? '"' + string + '"' : String.valueOf(value);
    return text.length() <= 40 ? text : text.substring(0, 40) + "...";
  }
}
