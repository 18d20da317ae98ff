package dev.berth.admin;

import dev.berth.view.CommandRejectedException;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.math.BigDecimal;
import org.jspecify.annotations.Nullable;

/**
 * A body {@code {"target_num_replicas": n}}. Other keys are ignored, as in Ray Serve, except one of
 * Berth: {@code "autoscaling": "pause"} beside the number, or {@code {"autoscaling": "resume"}}
 * alone.
 *
 * @param replicas null to resume autoscaling
 * @param pauses whether the number replaces autoscaling
 */
record ScaleBody(@Nullable Integer replicas, boolean pauses) {
  private static final int MAX_BYTES = 16 << 10;
  private static final String KEY = "target_num_replicas";
  private static final String EXPECTED = " (expected: an integer, 0 or more)";

  /**
   * Parses a body.
   *
   * @throws CommandRejectedException for an invalid body
   */
  static ScaleBody of(int bytes, String text) {
    if (bytes > MAX_BYTES) { // parsed on the event loop
      throw invalid(bytes + " bytes (expected: at most " + MAX_BYTES + " bytes)");
    }
    JsonObject members;
    try {
      members = new JsonObject(text);
    } catch (DecodeException | ClassCastException notAnObject) {
      throw invalid("not a JSON object (expected: {\"" + KEY + "\": n})");
    }
    Object word = members.getValue("autoscaling");
    if ("resume".equals(word)) {
      return new ScaleBody(null, true);
    }
    if (!members.containsKey(KEY)) {
      throw invalid(KEY + ": missing" + EXPECTED);
    }
    Object value = members.getValue(KEY);
    if (value instanceof Number number) {
      try {
        int replicas = new BigDecimal(number.toString()).intValueExact();
        if (replicas >= 0) {
          return new ScaleBody(replicas, "pause".equals(word));
        }
      } catch (ArithmeticException | NumberFormatException notOne) {
        // refused below
      }
    }
    throw invalid(KEY + ": " + value + EXPECTED);
  }

  /** Returns the resulting state of autoscaling. */
  String state() {
    return replicas == null ? "resumed" : "paused";
  }

  private static CommandRejectedException invalid(String what) {
    return CommandRejectedException.invalid("Invalid request body: %s", what);
  }
}
