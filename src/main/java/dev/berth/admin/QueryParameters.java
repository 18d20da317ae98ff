package dev.berth.admin;

import dev.berth.view.CommandRejectedException;
import io.vertx.core.MultiMap;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Query parameters of a request. An unknown parameter or value is an error, never ignored.
 *
 * @param ofCommand whether a wrong value is refused in the form of a command, with {@code problems}
 */
public record QueryParameters(MultiMap given, boolean ofCommand) {

  /**
   * Returns the parameters of a request.
   *
   * @throws AdminRefusal for an unknown parameter
   */
  public static QueryParameters of(RoutingContext context, boolean ofCommand, String... known) {
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
   * Returns the given one of several words, in any case; null when absent.
   *
   * @throws RuntimeException a refusal of another word
   */
  public @Nullable String word(String name, List<String> words) {
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

  /** Returns whether the parameter has its only allowed value. */
  boolean is(String name, String value) {
    return word(name, List.of(value)) != null;
  }

  /**
   * Returns a number; null when absent.
   *
   * @param most {@link Long#MAX_VALUE} for no limit
   * @throws RuntimeException a refusal of a value outside of these limits
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
      // refused below
    }
    boolean open = most == Long.MAX_VALUE;
    String range = open ? "of at least " + least : "from " + least + " to " + most;
    throw wrong(name, "an integer " + range);
  }

  /**
   * Returns a number from 1 to {@code most}, or {@code otherwise} when absent. See {@link #number}.
   */
  int count(String name, int most, int otherwise) {
    Long number = number(name, 1, most);
    return number == null ? otherwise : number.intValue();
  }

  /** Returns the allowed values; empty for all. */
  public List<String> all(String name) {
    return given.getAll(name);
  }

  private RuntimeException wrong(String name, String expected) {
    String end = " (expected: " + expected + ")";
    return ofCommand
        ? CommandRejectedException.invalid("%s: %s%s", name, given.get(name), end)
        : new AdminRefusal(400, "bad_parameter", name + ": not understood" + end);
  }
}
