import java.util.Optional;

/**
 * One thing that is measured, once in each round.
 *
 * @param id unique in the run
 * @param server the key of a {@link ServerSpec} of its group
 * @param connections requests at a time
 * @param operations how many a request is counted as
 * @param baseline the id of the row it is compared with, round by round
 * @param again the id of the row that is the same as the baseline: what the machine alone makes of
 *     equal things
 */
record Row(
    String id,
    String name,
    String server,
    String path,
    Load.Client client,
    int connections,
    int operations,
    Optional<String> baseline,
    Optional<String> again) {

  /** Over HTTP/1.1, and compared with none. */
  static Row of(String id, String name, String server, String path, int connections) {
    return new Row(
        id, name, server, path, Load.wrk(), connections, 1, Optional.empty(), Optional.empty());
  }

  Row by(Load.Client other) {
    return new Row(id, name, server, path, other, connections, operations, baseline, again);
  }

  Row counting(int times) {
    return new Row(id, name, server, path, client, connections, times, baseline, again);
  }

  Row against(String base) {
    return new Row(
        id, name, server, path, client, connections, operations, Optional.of(base), again);
  }

  /** Compared with a row, and beside it with what that row's equal says. */
  Row against(String base, String equal) {
    return new Row(
        id,
        name,
        server,
        path,
        client,
        connections,
        operations,
        Optional.of(base),
        Optional.of(equal));
  }
}
