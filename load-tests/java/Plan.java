import java.util.List;

/**
 * How long it is measured.
 *
 * @param starts of each server; the rounds of all are taken together
 * @param rounds of each heat in a start
 * @param sliceMillis of each row in a round
 * @param warmUpMillis of one slice of a path while it is warmed, after a start
 * @param warmUpSeconds for each server of a group at most; a path that is not warm then is measured
 *     as it is, and the report says so
 */
record Plan(int starts, int rounds, int sliceMillis, int warmUpMillis, int warmUpSeconds) {
  /** A path is warm when the JIT compilers have less than this share of a slice's run time. */
  static final double WARM = 0.03;

  /** Slices of a path that is warmed, at least. */
  static final int LEAST_WARM_UPS = 6;

  private static final double START_SECONDS = 1.2;
  private static final double BETWEEN_SECONDS = 0.02;
  private static final double USUAL_WARM_UPS = 12; // slices until a path is warm

  static Plan quick() {
    return new Plan(1, 16, 50, 100, 5);
  }

  static Plan full() {
    return new Plan(2, 24, 150, 250, 10);
  }

  Plan starts(int number) {
    return new Plan(number, rounds, sliceMillis, warmUpMillis, warmUpSeconds);
  }

  Plan rounds(int number) {
    return new Plan(starts, number, sliceMillis, warmUpMillis, warmUpSeconds);
  }

  Plan sliceMillis(int millis) {
    return new Plan(starts, rounds, millis, warmUpMillis, warmUpSeconds);
  }

  /** Thousands of connections need some time to be asked at all. */
  int sliceMillis(Row row) {
    return row.connections() > 1024 ? 2 * sliceMillis : sliceMillis;
  }

  /** About what it takes. */
  double seconds(List<Group> groups) {
    double seconds = 0;
    for (Group group : groups) {
      int times = Groups.SECONDARY.contains(group.name()) ? 1 : starts;
      seconds += times * seconds(group);
    }
    return seconds;
  }

  private double seconds(Group group) {
    double seconds = START_SECONDS * group.servers().size();
    seconds += warmed(group) * USUAL_WARM_UPS * warmUpMillis / 1e3;
    for (Row row : group.rows()) {
      seconds += rounds * (sliceMillis(row) / 1e3 + BETWEEN_SECONDS);
    }
    return seconds;
  }

  private static long warmed(Group group) {
    return group.rows().stream().map(Plan::toWarm).distinct().count();
  }

  /** Seconds in which all servers of a group have to become warm. */
  int warmUpLimit(Group group) {
    return warmUpSeconds * group.servers().size();
  }

  /** Rows that are the same in this need to be warmed once. */
  static String toWarm(Row row) {
    return row.server() + row.protocol() + row.ask();
  }
}
