import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/** A run as text, as Markdown and as JSON. */
final class Report {
  private final List<Group> groups;
  private final Results results;
  private final List<Verdict> budgets;
  private final List<Verdict> aims;
  private final String peersMeasured;
  private final List<String> failures;

  Report(
      List<Group> groups,
      Results results,
      List<Verdict> budgets,
      Peers peers,
      List<String> failures) {
    this.groups = groups;
    this.results = results;
    this.budgets = budgets;
    this.aims = peers.all();
    this.peersMeasured = peers.measured();
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
    if (!budgets.isEmpty()) {
      text.append(head(markdown, "Budgets, by the median"));
      text.append(verdicts(budgets, true, markdown)).append('\n');
    }
    if (!aims.isEmpty()) {
      text.append(head(markdown, "Aims, against others as measured on " + peersMeasured));
      text.append(verdicts(aims, false, markdown)).append('\n');
    }
    double others = others();
    if (others > 0.2) {
      text.append("Others used up to ")
          .append(Spread.number(others, 2))
          .append(" cores (median of a row) while it ran: repeat it on a quiet machine.\n");
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
            "alloc B",
            "RSS MiB",
            "CPU ratio",
            "rate ratio",
            "other cores");
    for (Row row : group.rows()) {
      String id = row.id();
      if (results.samples(id).isEmpty()) {
        continue;
      }
      List<String> cells = new ArrayList<>();
      cells.add(row.name());
      cells.add(String.valueOf(row.connections()));
      cells.add(figure(id, Sample::perSecond).text(0));
      cells.add(Spread.number(figure(id, Sample::p50Micros).median() / 1e3, 2));
      cells.add(Spread.number(figure(id, Sample::p99Micros).median() / 1e3, 2));
      cells.add(figure(id, Sample::cpuMicros).text(2));
      cells.add(figure(id, Sample::allocatedBytes).middle(0));
      cells.add(figure(id, Sample::residentMib).middle(0));
      cells.add(ratio(row, Sample::cpuMicros));
      cells.add(ratio(row, Sample::perSecond));
      cells.add(figure(id, Sample::otherCores).middle(2));
      table.line(cells);
    }
    return table;
  }

  private Spread figure(String id, ToDoubleFunction<Sample> figure) {
    return results.spread(id, figure).orElseThrow();
  }

  private String ratio(Row row, ToDoubleFunction<Sample> figure) {
    return row.baseline()
        .flatMap(base -> results.ratio(row.id(), base, figure))
        .map(ratio -> ratio.text(2))
        .orElse("1");
  }

  private static String verdicts(List<Verdict> verdicts, boolean noise, boolean markdown) {
    Table table =
        noise
            ? new Table("", "measured", "A/A", "budget", "")
            : new Table("", "measured", "aim", "");
    for (Verdict verdict : verdicts) {
      List<String> cells = new ArrayList<>(List.of(verdict.what(), verdict.measured()));
      if (noise) {
        cells.add(verdict.noise());
      }
      cells.add(verdict.limit());
      cells.add(verdict.state().text);
      table.line(cells);
    }
    return markdown ? table.markdown() : table.text();
  }

  /** The row that others disturbed most. */
  private double others() {
    double most = 0;
    for (Group group : groups) {
      for (Row row : group.rows()) {
        Optional<Spread> others = results.spread(row.id(), Sample::otherCores);
        most = Math.max(most, others.map(Spread::median).orElse(0.0));
      }
    }
    return most;
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
        .put("budgets", verdicts(budgets))
        .put("aims", verdicts(aims))
        .put("failures", new JsonArray(new ArrayList<>(failures)));
  }

  private JsonObject json(Group group, Row row) {
    String id = row.id();
    JsonObject json =
        new JsonObject()
            .put("id", id)
            .put("group", group.name())
            .put("name", row.name())
            .put("path", row.path())
            .put("protocol", row.client().protocol())
            .put("connections", row.connections())
            .put("operations_per_request", row.operations())
            .put("per_s", figure(id, Sample::perSecond).json())
            .put("p50_us", figure(id, Sample::p50Micros).json())
            .put("p99_us", figure(id, Sample::p99Micros).json())
            .put("cpu_us", figure(id, Sample::cpuMicros).json())
            .put("allocated_bytes", figure(id, Sample::allocatedBytes).json())
            .put("resident_mib", figure(id, Sample::residentMib).json())
            .put("other_cores", figure(id, Sample::otherCores).json());
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
    JsonArray samples = new JsonArray();
    results.samples(id).forEach(sample -> samples.add(sample.json()));
    return json.put("samples", samples);
  }

  private static JsonArray verdicts(List<Verdict> verdicts) {
    JsonArray all = new JsonArray();
    verdicts.forEach(verdict -> all.add(verdict.json()));
    return all;
  }
}
