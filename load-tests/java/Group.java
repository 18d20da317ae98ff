import java.util.List;

/**
 * Servers with the same number of event loops, up at the same time, and the rows measured of them
 * in alternating rounds.
 *
 * @param operation what the figures are per, as in {@code request}
 */
record Group(
    String name,
    String title,
    String operation,
    List<ServerSpec> servers,
    List<Row> rows,
    int rounds,
    int seconds,
    int warmUpSeconds) {
  private static final double START_SECONDS = 1.0;
  private static final double BETWEEN_SECONDS = 0.15;

  /** About what it takes. */
  double planSeconds() {
    long warm = rows.stream().map(row -> row.server() + row.path()).distinct().count();
    return servers.size() * START_SECONDS
        + warm * (warmUpSeconds + BETWEEN_SECONDS)
        + rows.size() * rounds * (seconds + BETWEEN_SECONDS);
  }
}
