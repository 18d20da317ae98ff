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
}
