package dev.berth.cli;

import java.util.List;

/**
 * Table of applications and their deployments, as aligned lines.
 *
 * @param colours whether the lines have colours
 */
record StatusTable(boolean colours) {
  private static final int STATUS = 2;
  private static final int MAX_COLUMN_CHARS =
      48; // maximum column width; longer cells shift their line

  /** Returns the instance, with the place of the deployed state. */
  static String headline(ServeStatus serve) {
    Double capacity = serve.targetCapacity();
    String folder = serve.stateDir();
    String part = capacity == null ? "" : ", target capacity " + percent(capacity) + " %";
    String kept = ", kept in " + (folder == null ? "memory only" : folder);
    return AdminHttpClient.printable(
        serve.node() + ", controller term " + serve.term() + part + kept);
  }

  /** Returns a line for each blocked event loop of the instance. */
  static List<String> blocked(ServeStatus serve) {
    return ServeStatus.list(serve.json(), "blocked_loops").stream()
        .map(loop -> AdminHttpClient.printable(ServeStatus.text(loop, "text")))
        .toList();
  }

  private static String percent(double capacity) {
    return capacity == Math.rint(capacity)
        ? Long.toString((long) capacity)
        : Double.toString(capacity);
  }

  /** Returns the table's head, and a line for each application and each deployment. */
  List<String> lines(List<ServeStatus.ReportedApplication> applications) {
    Table table = new Table("application|deployment|status|revision|replicas|version|message");
    for (ServeStatus.ReportedApplication application : applications) {
      Object revision = application.revision() > 0 ? application.revision() : "";
      table.row(
          application.name(), "", application.status(), revision, "", "", application.message());
      for (ServeStatus.ReportedDeployment each : application.deployments()) {
        table.row(
            "",
            each.name(),
            each.status(),
            each.revisions(),
            each.replicasNow(),
            each.version(),
            each.remarks());
      }
    }
    return table.lines(
        MAX_COLUMN_CHARS, (column, cell) -> column == STATUS && colours ? coloured(cell) : cell);
  }

  /** Returns the suffix of a status with a cause. */
  static String reason(String message) {
    return message.isBlank() ? "" : ": " + Table.oneLine(message);
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
