import java.util.List;

/**
 * How long it is measured.
 *
 * @param starts of each server; the rounds of all are taken together
 * @param rounds of each heat in a start
 * @param sliceMillis of each row in a round
 * @param warmUpMillis of each path of a server, after a start
 */
record Plan(int starts, int rounds, int sliceMillis, int warmUpMillis) {
  private static final double START_SECONDS = 1.2;
  private static final double BETWEEN_SECONDS = 0.012;

  static Plan quick() {
    return new Plan(1, 16, 50, 1_200);
  }

  static Plan full() {
    return new Plan(2, 28, 150, 3_000);
  }

  Plan starts(int number) {
    return new Plan(number, rounds, sliceMillis, warmUpMillis);
  }

  Plan rounds(int number) {
    return new Plan(starts, number, sliceMillis, warmUpMillis);
  }

  Plan sliceMillis(int millis) {
    return new Plan(starts, rounds, millis, warmUpMillis);
  }

  /** Thousands of connections need some time to be asked at all. */
  int sliceMillis(Row row) {
    return row.connections() > 1024 ? 2 * sliceMillis : sliceMillis;
  }

  /** About what it takes. */
  double seconds(List<Group> groups) {
    double seconds = 0;
    for (Group group : groups) {
      seconds += START_SECONDS * group.servers().size();
      seconds += warmed(group) * warmUpMillis / 1e3;
      for (Row row : group.rows()) {
        seconds += rounds * (sliceMillis(row) / 1e3 + BETWEEN_SECONDS);
      }
    }
    return starts * seconds;
  }

  private static long warmed(Group group) {
    return group.rows().stream().map(Plan::toWarm).distinct().count();
  }

  /** Rows that are the same in this need to be warmed once. */
  static String toWarm(Row row) {
    return row.server() + row.protocol() + row.ask();
  }
}
