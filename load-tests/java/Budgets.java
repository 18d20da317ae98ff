import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/** The budgets, each held against the median of a ratio and against the spread of equal things. */
final class Budgets {
  private static final double START_MILLIS = 1000;

  private final Results results;
  private final Optional<Spread> startMillis;
  private final JmhFigures jmh;

  Budgets(Results results, Optional<Spread> startMillis, JmhFigures jmh) {
    this.results = results;
    this.startMillis = startMillis;
    this.jmh = jmh;
  }

  List<Verdict> all() {
    List<Verdict> all = new ArrayList<>();
    all.add(cpu("no-op-1", "CPU of a no-op to raw Vert.x: same loop", 1.15));
    all.add(cpu("no-op-other", "the same: two loops, replica on one of them", 1.45));
    all.add(cpu("no-op-spread", "the same: two loops, spread: event_loops", 1.15));
    all.add(cpu("choose", "CPU of choose + dispatch to a plain call, c=64", 1.10));
    all.add(
        more("choose", "choose + dispatch more than a plain call: CPU, c=64", Sample::cpuMicros));
    all.add(
        more("choose-c1", "choose + dispatch more than a plain call: p50, c=1", Sample::p50Micros));
    all.add(more("handle-choose", "the same without HTTP: CPU, of 100 in turn", Sample::cpuMicros));
    all.add(pureCalls());
    all.add(rate("tick", "rate of 100-event responses to raw Vert.x: in one tick", 0.8));
    all.add(rate("hop", "the same: a tick for each event", 0.8));
    all.add(start());
    all.add(jmh.decisions());
    all.add(
        new Verdict(
            "metrics-messages",
            "metrics messages of an instance, whatever its handles",
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
                .map(bytes -> bytes.text(0) + " B, raw Vert.x " + raw())
                .orElse("not measured"),
            "+5 % of what is checked in, in mvn verify",
            "",
            Verdict.State.RECORDED,
            results.spread("no-op-1", Sample::allocatedBytes)));
    return all;
  }

  private String raw() {
    return results.spread("raw-1", Sample::allocatedBytes).map(raw -> raw.middle(0)).orElse("?");
  }

  private Verdict cpu(String id, String what, double atMost) {
    return ratio(id, what, Sample::cpuMicros, atMost, true);
  }

  private Verdict rate(String id, String what, double atLeast) {
    return ratio(id, what, Sample::perSecond, atLeast, false);
  }

  /** What equal rows differ by is a share, and moves the limit by that share. */
  private Verdict ratio(
      String id, String what, ToDoubleFunction<Sample> figure, double limit, boolean atMost) {
    String told = (atMost ? "<= " : ">= ") + Spread.number(limit, 2) + "x";
    String name = id + (atMost ? "-cpu" : "-rate");
    Optional<Row> row = results.row(id);
    if (row.isEmpty()) {
      return Verdict.notMeasured(name, what, told, "its rows are not in this run");
    }
    String base = row.get().baseline().orElseThrow();
    Spread measured = results.ratio(id, base, figure).orElseThrow();
    Spread equal = results.ratio(row.get().again().orElseThrow(), base, figure).orElseThrow();
    double slack = limit * equal.furthestFrom(1);
    return new Verdict(
        name,
        what,
        measured.text(2),
        told,
        equal.text(2),
        state(measured.median(), limit, slack, atMost),
        Optional.of(measured));
  }

  private Verdict more(String id, String what, ToDoubleFunction<Sample> figure) {
    double limit = 20;
    String told = "<= 20 us";
    Optional<Row> row = results.row(id);
    if (row.isEmpty()) {
      return Verdict.notMeasured(id + "-more", what, told, "its rows are not in this run");
    }
    String base = row.get().baseline().orElseThrow();
    Spread measured = results.difference(id, base, figure).orElseThrow();
    Spread equal = results.difference(row.get().again().orElseThrow(), base, figure).orElseThrow();
    return new Verdict(
        id + "-more",
        what,
        measured.text(1) + " us",
        told,
        equal.text(1) + " us",
        state(measured.median(), limit, equal.furthestFrom(0), true),
        Optional.of(measured));
  }

  /** The budget is of requests; what is left of one without HTTP is told beside it. */
  private Verdict pureCalls() {
    String what = "the same, as a ratio";
    return results
        .ratio("handle-choose", "handle-call", Sample::cpuMicros)
        .map(
            ratio ->
                new Verdict(
                    "handle-choose-cpu",
                    what,
                    ratio.text(2),
                    "none; Ray Serve 1.7x-2.6x",
                    results
                        .ratio("handle-call-again", "handle-call", Sample::cpuMicros)
                        .map(equal -> equal.text(2))
                        .orElse(""),
                    Verdict.State.RECORDED,
                    Optional.of(ratio)))
        .orElseGet(
            () ->
                Verdict.notMeasured(
                    "handle-choose-cpu", what, "none", "its rows are not in this run"));
  }

  private Verdict start() {
    String what = "process start to the first 200 of /echo";
    return startMillis
        .map(
            millis ->
                new Verdict(
                    "start",
                    what,
                    millis.text(0) + " ms",
                    "< 1000 ms",
                    "",
                    state(millis.median(), START_MILLIS, 0, true),
                    startMillis))
        .orElseGet(() -> Verdict.notMeasured("start", what, "< 1000 ms", "not in this run"));
  }

  private static Verdict.State state(double median, double limit, double slack, boolean atMost) {
    double over = atMost ? median - limit : limit - median;
    if (over <= 0) {
      return Verdict.State.PASS;
    }
    return over <= slack ? Verdict.State.UNDECIDED : Verdict.State.FAIL;
  }
}
