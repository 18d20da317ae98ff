import java.util.List;

/**
 * Servers with the same number of event loops, up at the same time, and the rows measured of them.
 *
 * @param operation what the figures are per, as in {@code request}
 * @param heats rows that are measured in the same rounds
 * @param full a path where requests are left unanswered until one is refused
 */
record Group(
    String name,
    String title,
    String operation,
    List<ServerSpec> servers,
    List<List<Row>> heats,
    String full) {

  List<Row> rows() {
    return heats.stream().flatMap(List::stream).toList();
  }
}
