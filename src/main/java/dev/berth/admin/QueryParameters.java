package dev.berth.admin;

import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.CommandRefused.Kind;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What follows the question mark: a name that is not known is told of, not passed over. */
final class QueryParameters {
  private QueryParameters() {}

  /** Whether there is an unknown one; the answer is then sent. */
  static boolean hasUnknown(RoutingContext context, List<String> known) {
    for (String name : context.queryParams().names()) {
      if (!known.contains(name)) {
        JsonErrors.send(
            context,
            400,
            "unknown_parameter",
            name + ": unknown parameter (expected: " + String.join(", ", known) + ")");
        return true;
      }
    }
    return false;
  }

  /**
   * Whether it is given with the one value that it may have.
   *
   * @throws CommandRefused when it has another
   */
  static boolean is(RoutingContext context, String name, String value) {
    String given = context.queryParams().get(name);
    if (given != null && !given.equals(value)) {
      throw new CommandRefused(Kind.INVALID, name + ": " + given + " (expected: " + value + ")");
    }
    return given != null;
  }

  /**
   * Null when it is not given.
   *
   * @throws CommandRefused when it is no number
   */
  static @Nullable Long number(RoutingContext context, String name) {
    String given = context.queryParams().get(name);
    if (given != null && !given.matches("[0-9]{1,18}")) {
      throw new CommandRefused(
          Kind.INVALID, name + ": " + given + " (expected: an integer of at least 0)");
    }
    return given == null ? null : Long.valueOf(given);
  }

  /**
   * @param most {@link Long#MAX_VALUE} for no bound
   * @param otherwise when it is not given, or was refused: the answer is then sent
   */
  static long number(RoutingContext context, String name, long least, long most, long otherwise) {
    String asked = context.queryParams().get(name);
    if (asked == null) {
      return otherwise;
    }
    try {
      long number = Long.parseLong(asked);
      if (number >= least && number <= most) {
        return number;
      }
    } catch (NumberFormatException noNumber) {
      // said below
    }
    boolean open = most == Long.MAX_VALUE;
    String range = open ? "of at least " + least : "from " + least + " to " + most;
    refuse(context, name, "an integer " + range);
    return otherwise;
  }

  /** The first problem is told. */
  static void refuse(RoutingContext context, String name, String expected) {
    if (!context.response().ended()) {
      JsonErrors.send(
          context, 400, "bad_parameter", name + ": not understood (expected: " + expected + ")");
    }
  }
}
