import java.util.Optional;

/**
 * One thing that is measured, one slice in each round.
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
    Ask ask,
    Protocol protocol,
    int connections,
    int operations,
    Optional<String> baseline,
    Optional<String> again) {

  /** How it is asked. */
  enum Protocol {
    HTTP_1("HTTP/1.1"),
    /** Eight requests at a time on each connection, and an eighth as many of these. */
    HTTP_2("HTTP/2");

    final String text;

    Protocol(String text) {
      this.text = text;
    }
  }

  /** Over HTTP/1.1, and compared with none. */
  static Row of(String id, String name, String server, Ask ask, int connections) {
    return new Row(
        id, name, server, ask, Protocol.HTTP_1, connections, 1, Optional.empty(), Optional.empty());
  }

  Row overHttp2() {
    return new Row(
        id, name, server, ask, Protocol.HTTP_2, connections, operations, baseline, again);
  }

  Row counting(int times) {
    return new Row(id, name, server, ask, protocol, connections, times, baseline, again);
  }

  Row against(String base) {
    return new Row(
        id, name, server, ask, protocol, connections, operations, Optional.of(base), again);
  }

  /** Compared with a row, and beside it with what that row's equal says. */
  Row against(String base, String equal) {
    return new Row(
        id,
        name,
        server,
        ask,
        protocol,
        connections,
        operations,
        Optional.of(base),
        Optional.of(equal));
  }

  /** The same of another server, under another id and compared with none. */
  Row of(String otherId, String otherName, String otherServer) {
    return new Row(
        otherId,
        otherName,
        otherServer,
        ask,
        protocol,
        connections,
        operations,
        Optional.empty(),
        Optional.empty());
  }
}
