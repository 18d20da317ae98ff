import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/** A run as text, as Markdown and as JSON. */
final class Report {
  private final List<Group> groups;
  private final Results results;
  private final List<Verdict> verdicts;
  private final List<Verdict> aims;
  private final String peersMeasured;
  private final List<String> failures;

  Report(
      List<Group> groups,
      Results results,
      List<Verdict> verdicts,
      Optional<Peers> peers,
      List<String> failures) {
    this.groups = groups;
    this.results = results;
    this.verdicts = verdicts;
    this.aims = peers.map(Peers::all).orElse(List.of());
    this.peersMeasured = peers.map(Peers::measured).orElse("");
    this.failures = failures;
  }

  String text() {
    return told(false);
  }

  String markdown() {
    return told(true);
  }

  private String told(boolean markdown) {
    StringBuilder text = new StringBuilder();
    for (Group group : groups) {
      if (group.rows().stream().allMatch(row -> results.samples(row.id()).isEmpty())) {
        continue; // it failed
      }
      Table table = table(group);
      text.append(
              head(markdown, group.name() + ": " + group.title() + "; per " + group.operation()))
          .append(markdown ? table.markdown() : table.text())
          .append('\n');
    }
    if (!verdicts.isEmpty()) {
      text.append(head(markdown, "CPU ratios: median (quartiles) of neighbour slices"));
      Table table = verdictTable();
      text.append(markdown ? table.markdown() : table.text()).append('\n');
    }
    if (!aims.isEmpty()) {
      text.append(head(markdown, "Aims, against others as measured on " + peersMeasured));
      Table table = aimTable();
      text.append(markdown ? table.markdown() : table.text()).append('\n');
    }
    for (Results.Warming warming : results.warmings()) {
      if (!warming.reached()) {
        text.append(
            String.format(
                Locale.ROOT,
                "%s: %s was not warm: its JIT compilers took %.1f %% after %.0f s.%n",
                warming.group(),
                warming.server(),
                warming.compilerPercent(),
                warming.seconds()));
      }
    }
    double others = others();
    if (others > 0.2) {
      text.append("Others used up to ")
          .append(Spread.number(others, 2))
          .append(" cores (mean of a row) while it ran: repeat it on a quiet machine.\n");
    }
    for (String failure : failures) {
      text.append("FAILED: ").append(failure).append('\n');
    }
    return text.toString();
  }

  private static String head(boolean markdown, String title) {
    return markdown ? "### " + title + "\n\n" : title + "\n";
  }

  private Table table(Group group) {
    Table table =
        new Table(
            "",
            "c",
            "per s",
            "p50 ms",
            "p99 ms",
            "CPU us",
            "user",
            "JIT %",
            "alloc B",
            "RSS MiB",
            "bytes",
            "packets",
            "CPU ratio",
            "other cores");
    for (Row row : group.rows()) {
      String id = row.id();
      if (results.samples(id).isEmpty()) {
        continue;
      }
      List<String> cells = new ArrayList<>();
      cells.add(row.name());
      cells.add(String.valueOf(row.connections()));
      cells.add(figure(id, Sample::perSecond).middle(0));
      cells.add(Spread.number(figure(id, Sample::p50Micros).median() / 1e3, 2));
      cells.add(Spread.number(figure(id, Sample::p99Micros).median() / 1e3, 2));
      cells.add(figure(id, Sample::cpuMicros).text(2));
      cells.add(Spread.number(results.userMicros(id), 2));
      cells.add(Spread.number(results.compilerPercent(id), 1));
      cells.add(figure(id, Sample::allocatedBytes).middle(0));
      cells.add(figure(id, Sample::residentMib).middle(0));
      cells.add(Spread.number(results.mean(id, Sample::wireBytes), 0));
      cells.add(Spread.number(results.mean(id, Sample::packets), 2));
      cells.add(ratio(row));
      cells.add(Spread.number(results.mean(id, Sample::otherCores), 2));
      table.line(cells);
    }
    return table;
  }

  private Spread figure(String id, ToDoubleFunction<Sample> figure) {
    return results.spread(id, figure).orElseThrow();
  }

  private String ratio(Row row) {
    return row.baseline()
        .flatMap(base -> results.ratio(row.id(), base, Sample::cpuMicros))
        .map(ratio -> ratio.text(2))
        .orElse("1");
  }

  private Table verdictTable() {
    Table table = new Table("", "measured", "95 % interval", "A/A", "claim", "");
    for (Verdict verdict : verdicts) {
      table.line(
          List.of(
              verdict.what(),
              verdict.measured(),
              verdict.noise().isEmpty()
                  ? ""
                  : verdict.value().map(value -> value.surely(2)).orElse(""),
              verdict.noise(),
              verdict.limit(),
              verdict.state().text));
    }
    return table;
  }

  private Table aimTable() {
    Table table = new Table("", "measured", "aim", "");
    for (Verdict aim : aims) {
      table.line(List.of(aim.what(), aim.measured(), aim.limit(), aim.state().text));
    }
    return table;
  }

  /** The row that others disturbed most. */
  private double others() {
    return groups.stream()
        .flatMap(group -> group.rows().stream())
        .filter(row -> !results.samples(row.id()).isEmpty())
        .mapToDouble(row -> results.mean(row.id(), Sample::otherCores))
        .max()
        .orElse(0);
  }

  JsonObject json() {
    JsonArray rows = new JsonArray();
    for (Group group : groups) {
      for (Row row : group.rows()) {
        if (!results.samples(row.id()).isEmpty()) {
          rows.add(json(group, row));
        }
      }
    }
    return new JsonObject()
        .put("rows", rows)
        .put("warming", warming())
        .put("budgets", verdicts(verdicts))
        .put("aims", verdicts(aims))
        .put("failures", new JsonArray(new ArrayList<>(failures)));
  }

  private JsonArray warming() {
    JsonArray all = new JsonArray();
    for (Results.Warming warming : results.warmings()) {
      all.add(
          new JsonObject()
              .put("group", warming.group())
              .put("server", warming.server())
              .put("seconds", Spread.rounded(warming.seconds()))
              .put("jit_percent", Spread.rounded(warming.compilerPercent()))
              .put("reached", warming.reached()));
    }
    return all;
  }

  private JsonObject json(Group group, Row row) {
    String id = row.id();
    JsonObject json =
        new JsonObject()
            .put("id", id)
            .put("group", group.name())
            .put("name", row.name())
            .put("path", row.ask().path())
            .put("protocol", row.protocol().text)
            .put("connections", row.connections())
            .put("operations_per_request", row.operations())
            .put("per_s", figure(id, Sample::perSecond).json())
            .put("p50_us", figure(id, Sample::p50Micros).json())
            .put("p99_us", figure(id, Sample::p99Micros).json())
            .put("cpu_us", figure(id, Sample::cpuMicros).json())
            .put("user_us", Spread.rounded(results.userMicros(id)))
            .put("jit_percent", Spread.rounded(results.compilerPercent(id)))
            .put("allocated_bytes", figure(id, Sample::allocatedBytes).json())
            .put("resident_mib", figure(id, Sample::residentMib).json())
            .put("wire_bytes", Spread.rounded(results.mean(id, Sample::wireBytes)))
            .put("packets", Spread.rounded(results.mean(id, Sample::packets)))
            .put("other_cores", Spread.rounded(results.mean(id, Sample::otherCores)));
    row.baseline()
        .ifPresent(
            base -> {
              json.put("baseline", base);
              results
                  .ratio(id, base, Sample::cpuMicros)
                  .ifPresent(ratio -> json.put("cpu_ratio", ratio.json()));
              results
                  .ratio(id, base, Sample::perSecond)
                  .ifPresent(ratio -> json.put("rate_ratio", ratio.json()));
            });
    row.again().ifPresent(again -> json.put("again", again));
    return json.put("cpu_us_by_round", rounds(id, Sample::cpuMicros))
        .put("per_s_by_round", rounds(id, Sample::perSecond));
  }

  private JsonArray rounds(String id, ToDoubleFunction<Sample> figure) {
    JsonArray all = new JsonArray();
    results.samples(id).forEach(sample -> all.add(Spread.rounded(figure.applyAsDouble(sample))));
    return all;
  }

  private static JsonArray verdicts(List<Verdict> verdicts) {
    JsonArray all = new JsonArray();
    verdicts.forEach(verdict -> all.add(verdict.json()));
    return all;
  }
}
