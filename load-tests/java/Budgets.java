import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The budgets, each held by {@link Claim} against the ratios of neighbouring slices and against
 * those of equal things.
 */
final class Budgets {
  private final Results results;
  private final Optional<StartUp.Ratios> starts;
  private final List<Verdict> idle;
  private final JmhFigures jmh;

  Budgets(Results results, Optional<StartUp.Ratios> starts, List<Verdict> idle, JmhFigures jmh) {
    this.results = results;
    this.starts = starts;
    this.idle = idle;
    this.jmh = jmh;
  }

  /** Of Berth beside a raw server that returns the same bytes. */
  List<Verdict> all() {
    List<Verdict> all = new ArrayList<>();
    all.add(ratio("no-op-1", "no-op, same loop, 64 connections", 1.25));
    all.add(ratio("no-op-1-c1", "the same, 1 connection"));
    all.add(ratio("no-op-1-c1024", "the same, 1 024 connections", 1.35));
    all.add(ratio("connections", "the same, 4 096 connections", 1.40));
    all.add(ratio("http2", "the same, HTTP/2 without TLS, 8 connections of 8 requests", 1.40));
    all.add(ratio("tls", "the same, HTTP/1.1 over TLS"));
    all.add(ratio("http2-tls", "the same, HTTP/2 over TLS", 1.40));
    all.add(ratio("no-op-spread", "no-op, two event loops, a handler on each", 1.15));
    all.add(ratio("no-op-other", "no-op, two event loops, the handler on one", 1.35));
    all.add(ratio("messages-event-bus", "the same over the event bus, to direct messages"));
    all.add(ratio("vertx-metrics-on", "all of berth.metrics.vertx, to none of it"));
    all.add(ratio("one-way", "no-op by a split of one way, same loop", 1.10));
    all.add(ratio("split", "the same, to a route that is not split"));
    all.add(ratio("echo", "echo of 1 KiB, two event loops, 64 connections"));
    all.add(ratio("echo-c1", "the same, 1 connection"));
    all.add(ratio("quickstart-echo", "/echo of conf/quickstart.yaml, 64 B, two event loops", 1.15));
    all.add(ratio("digits", "/classify there, 64 numbers as JSON, to its /echo of them"));
    all.add(ratio("composition", "a call in a request, to raw without a call", 1.35));
    all.add(ratio("choose", "choose + dispatch, to a plain call, 64 connections", 1.15));
    all.add(more("choose", "the same, difference in CPU time", 5));
    all.add(ratio("choose-c1", "the same, 1 connection"));
    all.add(ratio("handle-choose", "the same without HTTP, 100 calls in sequence"));
    all.add(ratio("tick", "100 events in one tick, to raw with one joined chunk", 1.3));
    all.add(ratio("hop", "100 events, each flushed separately", 1.05));
    all.add(ratio("large", "a whole body of 1 MiB, 16 connections", 1.2));
    all.add(ratio("upload", "1 MiB in, to a handler of whole bodies, 16 connections", 1.2));
    all.add(ratio("upload-streamed", "the same, to a handler of streamed bodies", 1.2));
    all.add(ratio("refused", "a 503 at a full queue, to a 200", 1.0));
    all.add(ratio("unknown", "a 404, to a 200"));
    all.add(ratio("explained", "each request explained, to requests without explain"));
    all.add(ratio("remote", "no-op of another node, both nodes, 64 connections"));
    all.add(ratio("remote-c1", "the same, 1 connection"));
    all.add(start());
    all.addAll(idle);
    all.add(jmh.decisions());
    all.add(
        new Verdict(
            "metrics-messages",
            "metrics messages of an instance, for any number of handles",
            "MetricsPusherTest#oneBatchPerIntervalWhateverTheNumberOfHandles",
            "equal",
            "",
            Verdict.State.ELSEWHERE,
            Optional.empty()));
    all.add(
        new Verdict(
            "allocation",
            "bytes allocated for a routed no-op",
            results
                .spread("no-op-1", Sample::allocatedBytes)
                .map(bytes -> bytes.middle(0) + " B, raw Vert.x " + raw())
                .orElse("not measured"),
            "+5 % of the recorded value, checked by mvn verify",
            "",
            Verdict.State.RECORDED,
            results.spread("no-op-1", Sample::allocatedBytes)));
    return all;
  }

  /** Of rows that stand beside the same of another jar. */
  List<Verdict> changes(List<Group> groups) {
    List<Verdict> all = new ArrayList<>();
    for (Group group : groups) {
      for (Row row : group.rows()) {
        if (row.again().isPresent() && results.row(row.id()).isPresent()) {
          Spread measured = measured(row);
          Spread equal = equal(row);
          all.add(
              new Verdict(
                  row.id(),
                  row.name() + ", c=" + row.connections(),
                  measured.text(2),
                  "not worse",
                  equal.text(2),
                  Claim.change(measured, equal),
                  Optional.of(measured)));
        }
      }
    }
    starts.ifPresent(
        times ->
            all.add(
                new Verdict(
                    "start",
                    "process start to the first 200",
                    times.ratio().text(2),
                    "not worse",
                    times.equal().text(2),
                    Claim.change(times.ratio(), times.equal()),
                    Optional.of(times.ratio()))));
    return all;
  }

  private String raw() {
    return results
        .spread("raw-no-op-1", Sample::allocatedBytes)
        .map(raw -> raw.middle(0))
        .orElse("?");
  }

  private Spread measured(Row row) {
    return results.ratio(row.id(), row.baseline().orElseThrow(), Sample::cpuMicros).orElseThrow();
  }

  private Spread equal(Row row) {
    return results
        .ratio(row.again().orElseThrow(), row.baseline().orElseThrow(), Sample::cpuMicros)
        .orElseThrow();
  }

  /** One that has no budget. */
  private Verdict ratio(String id, String what) {
    return ratio(id, what, Double.NaN);
  }

  private Verdict ratio(String id, String what, double limit) {
    boolean recorded = Double.isNaN(limit);
    String told = recorded ? "none" : "<= " + Spread.number(limit, 2) + "x";
    String name = id + "-cpu";
    Optional<Row> row = results.row(id);
    if (row.isEmpty()) {
      return Verdict.notMeasured(name, what, told, "its rows are not in this run");
    }
    Spread measured = measured(row.get());
    Spread equal = equal(row.get());
    return new Verdict(
        name,
        what,
        measured.text(2),
        told,
        equal.text(2),
        recorded ? Verdict.State.RECORDED : Claim.ratio(measured, equal, limit),
        Optional.of(measured));
  }

  private Verdict more(String id, String what, double limit) {
    String told = "<= " + Spread.number(limit, 0) + " us";
    Optional<Row> row = results.row(id);
    if (row.isEmpty()) {
      return Verdict.notMeasured(id + "-more", what, told, "its rows are not in this run");
    }
    String base = row.get().baseline().orElseThrow();
    Spread measured = results.difference(id, base, Sample::cpuMicros).orElseThrow();
    Spread equal =
        results.difference(row.get().again().orElseThrow(), base, Sample::cpuMicros).orElseThrow();
    return new Verdict(
        id + "-more",
        what,
        measured.text(1) + " us",
        told,
        equal.text(1) + " us",
        Claim.difference(measured, equal, limit),
        Optional.of(measured));
  }

  private Verdict start() {
    String what = "process start to the first 200 of /echo";
    String told = "<= 1.50x";
    return starts
        .map(
            times ->
                new Verdict(
                    "start",
                    what,
                    times.ratio().text(2) + ", " + times.millis().middle(0) + " ms",
                    told,
                    times.equal().text(2),
                    Claim.ratio(times.ratio(), times.equal(), 1.5),
                    Optional.of(times.ratio())))
        .orElseGet(() -> Verdict.notMeasured("start", what, told, "not in this run"));
  }
}
