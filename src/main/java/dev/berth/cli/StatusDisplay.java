package dev.berth.cli;

import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Display of successive statuses. A terminal shows a block of lines that is redrawn in place; any
 * other output gets a line for each change. Lines are truncated at the terminal's edge, since a
 * wrapped line would shift the rest.
 */
final class StatusDisplay {
  private static final int DEFAULT_ROWS = 24;
  private static final String NO_WRAP = "\u001b[?7l";
  private static final String WRAP = "\u001b[?7h";

  private final PrintWriter out;
  private final StatusDiff<String> changes =
      new StatusDiff<>(state -> state, (name, before, now) -> Table.oneLine(name + ": " + now));
  private final boolean live;
  private final int mostLines;
  private int drawn;

  StatusDisplay(CliEnvironment around, PrintWriter out) {
    this.out = out;
    this.live = around.terminal();
    this.mostLines = Math.max(3, rows(around.variables().apply("LINES")) - 1);
  }

  /**
   * @param rows terminal rows from the environment variable; null or empty when unset
   */
  private static int rows(@Nullable String rows) {
    return rows != null && rows.matches("[0-9]{1,4}") ? Integer.parseInt(rows) : DEFAULT_ROWS;
  }

  /**
   * @param lines lines that replace the previous block on a terminal
   * @param applications applications whose changes other outputs show
   */
  void show(List<String> lines, List<ServeStatus.ReportedApplication> applications) {
    if (live) {
      out.print(drawing(lines));
      drawn = Math.min(lines.size(), mostLines);
    } else {
      changes.since(states(applications)).forEach(out::println);
    }
    out.flush();
  }

  /**
   * Returns states by name: {@code RUNNING}, {@code UPDATING, replicas 1/2 (1 starting), version
   * 9f2c}.
   */
  private static Map<String, String> states(List<ServeStatus.ReportedApplication> applications) {
    Map<String, String> states = new LinkedHashMap<>();
    for (ServeStatus.ReportedApplication application : applications) {
      for (ServeStatus.ReportedDeployment each : application.deployments()) {
        String version = each.version().isEmpty() ? "" : ", version " + each.version();
        String state = each.status() + ", replicas " + each.replicas() + version;
        String reason = StatusTable.reason(each.message());
        states.put(application.name() + "/" + each.name(), state + reason);
      }
      states.put(
          application.name(), application.status() + StatusTable.reason(application.message()));
    }
    return states;
  }

  private String drawing(List<String> lines) {
    StringBuilder text = new StringBuilder();
    if (drawn > 0) {
      text.append("\u001b[").append(drawn).append("A\r\u001b[J");
    }
    text.append(NO_WRAP);
    boolean all = lines.size() <= mostLines;
    List<String> shown = all ? lines : lines.subList(0, mostLines - 1);
    shown.forEach(line -> text.append(line).append('\n'));
    if (!all) {
      text.append("and ").append(lines.size() - shown.size()).append(" more lines\n");
    }
    return text.append(WRAP).toString();
  }
}
