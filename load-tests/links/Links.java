import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * What a message there and back costs between two nodes, by the way it goes. The pairs of processes
 * of a group are up at the same time; in a round each is asked for a slice of each load, and ratios
 * are those of one round.
 *
 * <p>Usage: {@code Links STARTS ROUNDS MILLIS FILE}; the tables go to the file as Markdown.
 */
public final class Links {
  /** Frames of ours stay if the same in a stream of HTTP/2 cost more than this. */
  private static final double LIMIT = 1.3;

  private static final long WARM_MILLIS = 300;
  private static final int WARM_ANSWERS = 150_000;
  private static final int MOST_WARM_SLICES = 10;

  private record Row(String name, Way way, Tls tls) {}

  /**
   * Rows that are compared with the first of them.
   *
   * @param share of the starts that the group gets, one at least
   */
  private record Group(double share, List<Row> rows) {
    int starts(int all) {
      return (int) Math.max(1, Math.round(all * share));
    }
  }

  private record Load(String name, int callers, int bytes) {}

  private record Key(Row row, Load load) {}

  private static final Row OWN = new Row("own frames", Way.SOCKET, Tls.BORINGSSL);
  private static final Row AGAIN = new Row("own frames again (A/A)", Way.SOCKET, Tls.BORINGSSL);
  private static final Row STREAM =
      new Row("the frames in one HTTP/2 stream", Way.STREAM, Tls.BORINGSSL);

  private static final Row DECODER =
      new Row("own frames, Netty's decoder", Way.DECODER, Tls.BORINGSSL);

  private static final List<Group> GROUPS =
      List.of(
          new Group(1, List.of(OWN, AGAIN, STREAM, DECODER)),
          new Group(
              0.3,
              List.of(
                  new Row("own frames, beside the two below", Way.SOCKET, Tls.BORINGSSL),
                  new Row("HTTP/2, a stream for each", Way.REQUEST, Tls.BORINGSSL),
                  new Row("clustered event bus", Way.BUS, Tls.BORINGSSL))),
          new Group(
              0.3,
              List.of(
                  new Row("own frames, JDK's TLS", Way.SOCKET, Tls.JDK),
                  new Row("one HTTP/2 stream, JDK's TLS", Way.STREAM, Tls.JDK))),
          new Group(
              0.3,
              List.of(
                  new Row("own frames, no TLS", Way.SOCKET, Tls.NONE),
                  new Row("one HTTP/2 stream, no TLS", Way.STREAM, Tls.NONE))));

  private static final List<Load> LOADS =
      List.of(
          new Load("1 KiB, 64 callers", 64, 1 << 10),
          new Load("1 KiB, 1 caller", 1, 1 << 10),
          new Load("64 KiB, 64 callers", 64, 64 << 10));

  private final Map<Key, List<Pair.Figures>> figures = new HashMap<>();

  private Links() {}

  public static void main(String[] args) throws IOException {
    Links links = new Links();
    for (Group group : GROUPS) {
      for (int start = group.starts(Integer.parseInt(args[0])); start > 0; start--) {
        links.measure(group, Integer.parseInt(args[1]), Long.parseLong(args[2]));
      }
    }
    String tables = links.tables();
    System.out.print(tables);
    Files.writeString(Path.of(args[3]), tables);
  }

  private void measure(Group group, int rounds, long millis) throws IOException {
    List<Pair> pairs = new ArrayList<>();
    try {
      for (Row row : group.rows()) {
        Pair pair = new Pair(row.way(), row.tls());
        pairs.add(pair);
        System.out.println(row.name() + ": " + pair.secured());
      }
      for (Pair pair : pairs) {
        warm(pair);
      }
      for (int round = 0; round < rounds; round++) {
        for (Load load : LOADS) {
          for (int turn = 0; turn < pairs.size(); turn++) {
            // Each round begins with another row, and half of them go backwards.
            int forwards = (turn + round / 2) % pairs.size();
            int at = round % 2 == 0 ? forwards : pairs.size() - 1 - forwards;
            figures
                .computeIfAbsent(new Key(group.rows().get(at), load), key -> new ArrayList<>())
                .add(pairs.get(at).slice(load.callers(), load.bytes(), millis));
          }
        }
      }
    } finally {
      pairs.forEach(Pair::close);
    }
  }

  /** By answers and not by time: on a busy machine the JIT compiler too waits for its turn. */
  private static void warm(Pair pair) throws IOException {
    double answers = 0;
    for (int slices = 0; answers < WARM_ANSWERS && slices < MOST_WARM_SLICES; slices++) {
      for (Load load : LOADS) {
        answers += pair.slice(load.callers(), load.bytes(), WARM_MILLIS).answers();
      }
    }
  }

  private String tables() {
    StringBuilder text = new StringBuilder();
    for (Load load : LOADS) {
      Table table =
          new Table(load.name(), "CPU us", "asking + serving", "ratio", "surely", "per s");
      for (Group group : GROUPS) {
        Row base = group.rows().get(0);
        for (Row row : group.rows()) {
          List<Pair.Figures> own = figures.get(new Key(row, load));
          double asking = spread(own, Pair.Figures::asking).median();
          Spread micros = spread(own, Pair.Figures::micros);
          Spread ratio = ratio(row, base, load);
          table.line(
              List.of(
                  row.name(),
                  micros.text(1),
                  Spread.number(asking, 1) + " + " + Spread.number(micros.median() - asking, 1),
                  row == base ? "1" : ratio.text(2),
                  row == base ? "" : ratio.surely(2),
                  spread(own, Pair.Figures::perSecond).middle(0)));
        }
      }
      text.append(table.markdown()).append(verdict(load)).append("\n\n");
    }
    return text.toString();
  }

  private String verdict(Load load) {
    String so =
        switch (Claim.ratio(ratio(STREAM, OWN, load), ratio(AGAIN, OWN, load), LIMIT)) {
          case MISSED -> "surely more than";
          case MET -> "surely not more than";
          default -> "not established on either side of";
        };
    return "One HTTP/2 stream to own frames: " + so + " " + LIMIT + ".";
  }

  /** Of the processor time, round by round. */
  private Spread ratio(Row row, Row base, Load load) {
    List<Pair.Figures> own = figures.get(new Key(row, load));
    List<Pair.Figures> other = figures.get(new Key(base, load));
    return Spread.of(
        IntStream.range(0, own.size())
            .mapToDouble(round -> own.get(round).micros() / other.get(round).micros())
            .toArray());
  }

  private static Spread spread(List<Pair.Figures> of, ToDoubleFunction<Pair.Figures> what) {
    return Spread.of(of.stream().mapToDouble(what).toArray());
  }
}
