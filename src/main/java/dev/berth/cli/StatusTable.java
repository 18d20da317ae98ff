package dev.berth.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;

/** Applications and their deployments as aligned lines. */
final class StatusTable {
  private static final String[] HEAD = {
    "application", "deployment", "status", "revision", "replicas", "version", "message"
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
      String revision = application.revision() > 0 ? "" + application.revision() : "";
      rows.add(
          new String[] {
            application.name(), "", application.status(), revision, "", "", application.message()
          });
      for (ServeStatus.Deployment each : application.deployments()) {
        rows.add(
            new String[] {
              "",
              each.name(),
              each.status(),
              each.revisions(),
              each.replicasNow(),
              each.version(),
              each.remarks()
            });
      }
    }
    return aligned(
        rows, MOST_WIDE, (column, cell) -> column == STATUS && colours ? coloured(cell) : cell);
  }

  /** Each column as wide as its longest cell; nothing is cut. */
  static List<String> aligned(List<String[]> rows) {
    return aligned(rows, Integer.MAX_VALUE, (column, cell) -> cell);
  }

  /**
   * @param mostWide of a column; what is longer moves the rest of its line
   * @param paint gives a cell of a column colours, which take no room
   */
  static List<String> aligned(
      List<String[]> rows, int mostWide, BiFunction<Integer, String, String> paint) {
    int[] widths = new int[rows.get(0).length];
    for (String[] row : rows) {
      for (int i = 0; i < row.length; i++) {
        row[i] = oneLine(row[i]);
        widths[i] = Math.max(widths[i], Math.min(row[i].length(), mostWide));
      }
    }
    List<String> lines = new ArrayList<>();
    for (String[] row : rows) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < row.length; i++) {
        String room = " ".repeat(Math.max(0, widths[i] - row[i].length()));
        boolean isNumber = row[i].matches("[0-9]+"); // they are compared by their ends
        line.append(isNumber ? room : "").append(paint.apply(i, row[i]));
        line.append(isNumber ? "  " : room + "  ");
      }
      lines.add(line.toString().stripTrailing());
    }
    return lines;
  }

  /** As one line that no terminal obeys. */
  static String oneLine(String text) {
    return AdminServer.printable(text.strip().replaceAll("\\s*\\R\\s*", "; "));
  }

  /** What follows a status that has a cause. */
  static String reason(String message) {
    return message.isBlank() ? "" : ": " + oneLine(message);
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
