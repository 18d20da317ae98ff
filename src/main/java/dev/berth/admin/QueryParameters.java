package dev.berth.admin;

import dev.berth.view.CommandRefused;
import dev.berth.view.CommandRefused.Kind;
import io.vertx.core.MultiMap;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What follows the question mark: what is not understood is told of, not passed over.
 *
 * @param ofCommand whether a wrong value is refused as the command is, with {@code problems}
 */
record QueryParameters(MultiMap given, boolean ofCommand) {

  /**
   * @throws AdminRefusal when there is one that is not known
   */
  static QueryParameters of(RoutingContext context, boolean ofCommand, String... known) {
    MultiMap given = context.queryParams();
    for (String name : given.names()) {
      if (!List.of(known).contains(name)) {
        String expected = String.join(", ", known);
        String why = name + ": unknown parameter (expected: " + expected + ")";
        throw new AdminRefusal(400, "unknown_parameter", why);
      }
    }
    return new QueryParameters(given, ofCommand);
  }

  /**
   * One of some words, in any case; null when it is not given.
   *
   * @throws RuntimeException that refuses another
   */
  @Nullable String word(String name, List<String> words) {
    String asked = given.get(name);
    for (String word : words) {
      if (word.equalsIgnoreCase(asked)) {
        return word;
      }
    }
    if (asked != null) {
      throw wrong(name, (words.size() == 1 ? "" : "one of ") + String.join(", ", words));
    }
    return null;
  }

  /** Whether it is given with the one value that it may have. */
  boolean is(String name, String value) {
    return word(name, List.of(value)) != null;
  }

  /**
   * Null when it is not given.
   *
   * @param most {@link Long#MAX_VALUE} for no bound
   * @throws RuntimeException that refuses what is no number within these
   */
  @Nullable Long number(String name, long least, long most) {
    String asked = given.get(name);
    if (asked == null) {
      return null;
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
    throw wrong(name, "an integer " + range);
  }

  /** As {@link #number}. */
  int count(String name, int most, int otherwise) {
    Long number = number(name, 1, most);
    return number == null ? otherwise : number.intValue();
  }

  /** Any of these; empty for all. */
  List<String> all(String name) {
    return given.getAll(name);
  }

  private RuntimeException wrong(String name, String expected) {
    String end = " (expected: " + expected + ")";
    return ofCommand
        ? new CommandRefused(Kind.INVALID, name + ": " + given.get(name) + end)
        : new AdminRefusal(400, "bad_parameter", name + ": not understood" + end);
  }
}
