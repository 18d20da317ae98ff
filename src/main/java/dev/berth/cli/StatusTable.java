package dev.berth.cli;

import java.util.ArrayList;
import java.util.List;

/** Applications and their deployments as aligned lines. */
final class StatusTable {
  private static final String[] HEAD = {
    "application", "deployment", "status", "replicas", "version", "message"
  };
  private static final int STATUS = 2;
  private static final int MOST_WIDE = 48; // of a column; what is longer moves the rest of its line

  private final boolean colours;

  /**
   * @param colours whether the reader is a terminal that wants them
   */
  StatusTable(boolean colours) {
    this.colours = colours;
  }

  /** Whose they are, where what is deployed is kept. */
  static String headline(ServeStatus serve) {
    Double capacity = serve.targetCapacity();
    String folder = serve.stateDir();
    return AdminServer.printable(
        serve.node()
            + ", controller term "
            + serve.term()
            + (capacity == null ? "" : ", target capacity " + percent(capacity) + " %")
            + (folder == null ? ", kept in memory only" : ", kept in " + folder));
  }

  private static String percent(double capacity) {
    return capacity == Math.rint(capacity)
        ? Long.toString((long) capacity)
        : Double.toString(capacity);
  }

  /** Its head, and a line for each application and each deployment. */
  List<String> lines(List<ServeStatus.Application> applications) {
    List<String[]> rows = new ArrayList<>();
    rows.add(HEAD);
    for (ServeStatus.Application application : applications) {
      rows.add(row(application.name(), "", application.status(), "", "", application.message()));
      for (ServeStatus.Deployment each : application.deployments()) {
        rows.add(
            row("", each.name(), each.status(), each.replicas(), each.version(), each.message()));
      }
    }
    int[] widths = new int[HEAD.length];
    for (String[] row : rows) {
      for (int i = 0; i < row.length; i++) {
        widths[i] = Math.max(widths[i], Math.min(row[i].length(), MOST_WIDE));
      }
    }
    return rows.stream().map(row -> line(row, widths)).toList();
  }

  private static String[] row(String... cells) {
    for (int i = 0; i < cells.length; i++) {
      cells[i] = oneLine(cells[i]);
    }
    return cells;
  }

  /** As one line that no terminal obeys. */
  static String oneLine(String text) {
    return AdminServer.printable(text.strip().replaceAll("\\s*\\R\\s*", "; "));
  }

  /** What follows a status that has a cause. */
  static String reason(String message) {
    return message.isBlank() ? "" : ": " + oneLine(message);
  }

  private String line(String[] row, int[] widths) {
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < row.length; i++) {
      String cell = row[i];
      line.append(i == STATUS && colours ? coloured(cell) : cell);
      if (i < row.length - 1) {
        line.append(" ".repeat(Math.max(0, widths[i] - cell.length()) + 2));
      }
    }
    return line.toString().stripTrailing();
  }

  private static String coloured(String status) {
    int colour =
        switch (status) {
          case ServeStatus.RUNNING, ServeStatus.HEALTHY -> 32;
          case ServeStatus.DEPLOY_FAILED, ServeStatus.UNHEALTHY -> 31;
          case "status" -> 0;
          default -> 33;
        };
    return colour == 0 ? status : "\u001b[" + colour + "m" + status + "\u001b[0m";
  }
}
