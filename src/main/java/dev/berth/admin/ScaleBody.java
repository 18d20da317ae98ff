package dev.berth.admin;

import dev.berth.protocol.port.CommandRefused;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.math.BigDecimal;

/** {@code {"target_num_replicas": n}}; other keys are passed over, as Ray Serve does. */
final class ScaleBody {
  private static final int MOST_BYTES = 16 << 10;
  private static final String KEY = "target_num_replicas";
  private static final String EXPECTED = " (expected: an integer, 0 or more)";

  private ScaleBody() {}

  /**
   * How many are wanted.
   *
   * @throws CommandRefused when it does not say
   */
  static int replicas(Bodies.Body body) {
    if (body.bytes().length() > MOST_BYTES) { // it is read on the event loop
      throw invalid(body.bytes().length() + " bytes (expected: at most " + MOST_BYTES + " bytes)");
    }
    JsonObject members;
    try {
      members = new JsonObject(body.text());
    } catch (DecodeException | ClassCastException notAnObject) {
      throw invalid("no JSON object (expected: {\"" + KEY + "\": n})");
    }
    if (!members.containsKey(KEY)) {
      throw invalid(KEY + ": missing" + EXPECTED);
    }
    Object value = members.getValue(KEY);
    if (value instanceof Number number) {
      try {
        int replicas = new BigDecimal(number.toString()).intValueExact();
        if (replicas >= 0) {
          return replicas;
        }
      } catch (ArithmeticException | NumberFormatException notOne) {
        // said below
      }
    }
    throw invalid(KEY + ": " + value + EXPECTED);
  }

  private static CommandRefused invalid(String what) {
    return new CommandRefused(CommandRefused.Kind.INVALID, "Invalid request body: " + what);
  }
}
