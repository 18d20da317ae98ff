import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/** The samples of each row, and what follows from two rows' samples of the same rounds. */
final class Results {
  private final Map<String, List<Sample>> samples = new LinkedHashMap<>();
  private final Map<String, Row> rows = new LinkedHashMap<>();
  private final List<Warming> warmings = new ArrayList<>();

  /**
   * The end of the warming of one server.
   *
   * @param compilerPercent largest share of the JIT compilers in the last slice of a path
   * @param reached whether that is below the limit
   */
  record Warming(
      String group, String server, double seconds, double compilerPercent, boolean reached) {}

  void add(Warming warming) {
    warmings.add(warming);
  }

  List<Warming> warmings() {
    return warmings;
  }

  void add(Row row, Sample sample) {
    rows.put(row.id(), row);
    samples.computeIfAbsent(row.id(), id -> new ArrayList<>()).add(sample);
  }

  /** Forgets a group that did not come to its end. */
  void forget(Group group) {
    for (Row row : group.rows()) {
      rows.remove(row.id());
      samples.remove(row.id());
    }
  }

  Optional<Row> row(String id) {
    return Optional.ofNullable(rows.get(id));
  }

  List<Sample> samples(String id) {
    return samples.getOrDefault(id, List.of());
  }

  Optional<Spread> spread(String id, ToDoubleFunction<Sample> figure) {
    List<Sample> all = samples(id);
    return all.isEmpty()
        ? Optional.empty()
        : Optional.of(Spread.of(all.stream().mapToDouble(figure).toArray()));
  }

  /** The mean, of what is too coarse in one slice or counted. */
  double mean(String id, ToDoubleFunction<Sample> figure) {
    return samples(id).stream().mapToDouble(figure).average().orElseThrow();
  }

  /** Of the median of a row's CPU time, what was spent outside of the kernel. */
  double userMicros(String id) {
    double share =
        mean(id, Sample::userMicros)
            / (mean(id, Sample::cpuMicros) + mean(id, Sample::compilerMicros));
    return share * spread(id, Sample::cpuMicros).orElseThrow().median();
  }

  /** Share of the JIT compilers in the run time of all threads of the server, in percent. */
  double compilerPercent(String id) {
    double compiling = mean(id, Sample::compilerMicros);
    return 100 * compiling / (compiling + mean(id, Sample::cpuMicros));
  }

  /** Round by round, so that what slows a whole round slows both sides. */
  Optional<Spread> ratio(String id, String base, ToDoubleFunction<Sample> figure) {
    return pairs(id, base, (one, other) -> figure.applyAsDouble(one) / figure.applyAsDouble(other));
  }

  /** The same of what one is more than the other. */
  Optional<Spread> difference(String id, String base, ToDoubleFunction<Sample> figure) {
    return pairs(id, base, (one, other) -> figure.applyAsDouble(one) - figure.applyAsDouble(other));
  }

  private interface Pair {
    double of(Sample one, Sample other);
  }

  private Optional<Spread> pairs(String id, String base, Pair pair) {
    List<Sample> ones = samples(id);
    List<Sample> others = samples(base);
    if (ones.isEmpty() || ones.size() != others.size()) {
      return Optional.empty();
    }
    double[] values = new double[ones.size()];
    for (int round = 0; round < values.length; round++) {
      values[round] = pair.of(ones.get(round), others.get(round));
    }
    return Optional.of(Spread.of(values));
  }
}
