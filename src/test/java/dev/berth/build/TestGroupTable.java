package dev.berth.build;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Prints, as the last word on the tests, one line with the time of every group beside its budget.
 *
 * <p>Arguments: the directory of the times, {@code true} to fail when a group took more than twice
 * its budget, then {@code group=seconds} for each group.
 */
public final class TestGroupTable {
  private TestGroupTable() {}

  public static void main(String[] arguments) throws IOException {
    Map<String, TestGroupTime> times = TestGroupTime.readAll(Path.of(arguments[0]));
    boolean enforce = Boolean.parseBoolean(arguments[1]);
    List<String> cells = new ArrayList<>();
    List<String> late = new ArrayList<>();
    for (String budget : List.of(arguments).subList(2, arguments.length)) {
      String group = budget.substring(0, budget.indexOf('='));
      int seconds = Integer.parseInt(budget.substring(budget.indexOf('=') + 1));
      TestGroupTime time = times.get(group);
      if (time == null) {
        cells.add(group + ": none");
        continue;
      }
      cells.add(String.format(Locale.ROOT, "%s (budget %d s)", time, seconds));
      if (time.seconds() > 2 * seconds) {
        late.add(String.format(Locale.ROOT, "%s: %.1f s", group, time.seconds()));
      }
    }
    System.out.println("Test groups: " + String.join(" | ", cells));
    if (!late.isEmpty()) {
      System.out.println("Over twice the budget: " + String.join(", ", late));
      if (enforce) {
        System.exit(1);
      }
    }
  }
}
