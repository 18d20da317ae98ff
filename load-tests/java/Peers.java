import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/**
 * What other servers did, and how far from that we are. Their figures are constants: measured on
 * 2026-11-21 on a machine of this size (2 cores, shared with the client, AMD EPYC, JDK 17), with
 * wrk and the same way of counting the processes' CPU time, 3 runs of 3 to 4 s, medians. They mean
 * something on such a machine only, so an aim that is not met fails no run.
 */
final class Peers {
  private static final String RAY = "Ray Serve 2.60.0, HAProxy, throughput-optimised";
  private static final String RAY_HANDLE = "Ray Serve 2.60.0, throughput-optimised";

  private final Results results;

  Peers(Results results) {
    this.results = results;
  }

  List<Verdict> all() {
    List<Verdict> all = new ArrayList<>();
    cheaper(all, "no-op-1", RAY + ", c=64: 8 298/s", 170, 20);
    cheaper(all, "no-op-1", "DJL Serving 0.36.0, c=64: 8 739/s, p99 0.9 s", 170, 20);
    cheaper(all, "no-op-1", "nginx 1.22.1 as a proxy, c=64: 68 237/s", 14, 1);
    cheaper(all, "call", RAY + ", composition, c=64: 1 491/s", 1029, 20);
    faster(all, "handle-call", RAY_HANDLE + ", handle call, c=1", 1148);
    faster(all, "handle-choose", RAY_HANDLE + ", handle, choose + dispatch, c=1", 425);
    cheaper(all, "handle-call", RAY_HANDLE + ", handle call, c=1", 995, 20);
    cheaper(all, "handle-choose", RAY_HANDLE + ", handle, choose + dispatch, c=1", 2629, 20);
    cheaper(all, "tick", RAY + ", 100-event responses, c=16", 1086, 10);
    // Each event flushed: raw Vert.x itself has no factor of ten there.
    cheaper(all, "hop", RAY + ", 100-event responses, c=16, ours not joined", 1086, 1);
    events(all, "tick");
    events(all, "hop");
    tail(all);
    return all;
  }

  private void cheaper(List<Verdict> all, String id, String peer, double cpuMicros, double aim) {
    median(id, Sample::cpuMicros)
        .ifPresent(
            ours ->
                all.add(
                    aim(
                        id,
                        text("CPU: %s: %s us", peer, Spread.number(cpuMicros, 0)),
                        text("%.2f us, %.1fx less", ours, cpuMicros / ours),
                        aim == 1 ? "less" : text(">= %.0fx less", aim),
                        cpuMicros / ours >= aim)));
  }

  private void faster(List<Verdict> all, String id, String peer, double perSecond) {
    median(id, Sample::perSecond)
        .ifPresent(
            ours ->
                all.add(
                    aim(
                        id,
                        text("rate: %s: %.0f/s", peer, perSecond),
                        text("%.0f/s, %.1fx as much", ours, ours / perSecond),
                        "more",
                        ours > perSecond)));
  }

  private void events(List<Verdict> all, String id) {
    median(id, Sample::perSecond)
        .ifPresent(
            ours ->
                all.add(
                    aim(
                        id,
                        "events: " + RAY + ", c=16: 130 000/s",
                        text("%.0f events/s, %.1fx as many", 100 * ours, 100 * ours / 130_000),
                        "more",
                        100 * ours > 130_000)));
  }

  private void tail(List<Verdict> all) {
    median("no-op-1", Sample::p99Micros)
        .ifPresent(
            ours ->
                all.add(
                    aim(
                        "no-op-1",
                        "p99 of a no-op, c=64",
                        text("%.2f ms", ours / 1e3),
                        "< 2 ms",
                        ours < 2_000)));
  }

  private Optional<Double> median(String id, ToDoubleFunction<Sample> figure) {
    return results.spread(id, figure).map(Spread::median);
  }

  private static Verdict aim(String id, String what, String measured, String limit, boolean met) {
    return new Verdict(
        id,
        what,
        measured,
        limit,
        "",
        met ? Verdict.State.MET : Verdict.State.NOT_MET,
        Optional.empty());
  }

  private static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
