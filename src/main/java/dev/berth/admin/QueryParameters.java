package dev.berth.admin;

import io.vertx.ext.web.RoutingContext;
import java.util.List;

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
