package dev.berth.admin.live;

import static dev.berth.admin.live.HistorySeries.TARGET;

import dev.berth.admin.live.HistorySeries.HeldFigures;
import dev.berth.api.DeploymentId;
import dev.berth.metrics.Meters;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.NodeFigures;
import dev.berth.protocol.NodeFigures.DeploymentFigures;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.ObjIntConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Curves of the last hour and day, from the metrics batches of all reporting nodes: one series per
 * deployment, one per node, and the sum of all deployments. Confined to the control loop, except
 * metrics and the figures of the last second.
 *
 * <p><b>Memory.</b> At most {@link #MAX_BYTES}. The steps are the shortest that fit the present
 * number of series, and never get shorter again. Before they get longer, series of silent nodes and
 * of deployments that ended an hour ago are removed. If the longest do not fit, the series that was
 * silent for the longest time is removed; without a silent one, the new series is refused.
 */
public final class FigureHistory {
  /** Maximum memory in bytes. */
  public static final long MAX_BYTES = 16 << 20;

  /** Columns of a deployment's rows. */
  static final List<String> COLUMNS =
      List.of(
          "requests_per_s errors_per_s p50_ms p99_ms queue slots_used slots replicas target"
              .split(" "));

  private static final List<String> NODE_COLUMNS = List.of("loop_lag_ms");

  /** Steps of an hour and of a day in seconds, the shortest first. */
  private static final int[][] STEPS = {{1, 60}, {5, 300}, {15, 900}, {60, 3_600}};

  /** Time without figures after which a node's figures are unknown: three signs of life. */
  private static final long SILENCE_TIMEOUT_MS = 15_000;

  /** Time without figures after which a deployment's series makes room for new ones. */
  private static final long HOUR_MS = 3_600_000;

  /** Time without figures after which a series is removed. */
  private static final long DAY_MS = 86_400_000;

  private static final Object ALL = new Object();

  /** Last reading of a node. */
  private record NodeReading(long number, long atMs, double seconds, double lagMs) {}

  private final long maxBytes;
  private final Map<Object, HistorySeries> series =
      new ConcurrentHashMap<>(); // by deployment or node
  private final Map<String, NodeReading> nodes = new ConcurrentHashMap<>();
  private int level;
  private boolean full; // a series or figures were refused in this second
  private int held; // figures of further nodes than the first of each series
  private long endedMs;
  private volatile long bytes;
  private volatile long refused;

  /**
   * @param maxBytes maximum memory in bytes
   * @param nowMs milliseconds since 1970
   */
  public FigureHistory(long maxBytes, long nowMs) {
    this.maxBytes = maxBytes;
    this.endedMs = nowMs;
    of(ALL, nowMs);
  }

  /** Registers the metrics. */
  public void show(Meters meters) {
    meters.add(into -> into.gauge("berth_history_bytes", bytes, maxBytes));
    meters.addCounter("berth_history_series_refused", () -> refused);
  }

  /** Returns the memory in bytes. */
  long bytes() {
    return bytes;
  }

  /** Returns the number of refused series. */
  long refusedCount() {
    return refused;
  }

  /** Records the figures of a batch. */
  public void record(HandleMetricBatch batch, long nowMs) {
    NodeFigures told = batch.figures();
    if (told.intervalMillis() <= 0) {
      return;
    }
    NodeReading before = nodes.get(batch.node());
    long number = before == null ? 1 : before.number + 1;
    double seconds = told.intervalMillis() / 1e3;
    nodes.put(batch.node(), new NodeReading(number, nowMs, seconds, told.loopLagMicros() / 1e3));
    for (DeploymentFigures each : told.deployments()) {
      HistorySeries into = of(each.deployment(), nowMs);
      boolean more = into != null && !into.held.isEmpty() && !into.held.containsKey(batch.node());
      if (into != null && (!more || fits(nowMs))) {
        held += more ? 1 : 0;
        into.held.put(batch.node(), new HeldFigures(each, number));
        into.addLatencies(each);
        series.get(ALL).addLatencies(each);
      }
    }
  }

  /**
   * Ends a second.
   *
   * @param targets passes the desired number of replicas of each deployment
   */
  public void end(long nowMs, Consumer<ObjIntConsumer<DeploymentId>> targets) {
    nodes
        .values()
        .removeIf(each -> nowMs - each.atMs > Math.max(SILENCE_TIMEOUT_MS, 3_000 * each.seconds));
    series.values().forEach(each -> each.target = Double.NaN);
    targets.accept(
        (deployment, replicas) -> {
          HistorySeries found = of(deployment, nowMs);
          if (found != null) {
            found.target = replicas;
          }
        });
    nodes.forEach((node, reading) -> of(node, reading.atMs));
    HistorySeries all = series.get(ALL);
    all.seenMs = nowMs;
    double[] total = new double[COLUMNS.size()];
    Arrays.fill(all.latencies, 0);
    series.forEach((key, each) -> each.setLatest(each == all ? all.latest : row(key, each, nowMs)));
    series.forEach((key, each) -> add(key, each, total, all.latencies));
    HistorySeries.quantiles(all.latencies, total);
    all.setLatest(total);
    series.values().forEach(each -> each.end(endedMs, nowMs));
    endedMs = nowMs;
    full = false;
    series.values().removeIf(each -> nowMs - each.seenMs > DAY_MS);
    held = countHeld();
    bytes = bytes(0);
  }

  private int countHeld() {
    return series.values().stream().mapToInt(each -> Math.max(0, each.held.size() - 1)).sum();
  }

  /** Returns the row of the last second. */
  private double[] row(Object key, HistorySeries of, long nowMs) {
    if (key instanceof String node) {
      NodeReading reading = nodes.get(node);
      return new double[] {reading == null ? Double.NaN : reading.lagMs};
    }
    double[] row = new double[COLUMNS.size()];
    Arrays.fill(of.latencies, 0);
    of.held.keySet().retainAll(nodes.keySet());
    of.held.forEach((node, held) -> addTo(row, of.latencies, nodes.get(node), held, nowMs));
    HistorySeries.quantiles(of.latencies, row);
    row[TARGET] = of.target;
    return row;
  }

  /** Adds the row of a deployment to the total, except quantiles. */
  private static void add(Object key, HistorySeries of, double[] total, long[] latencies) {
    if (key instanceof DeploymentId) {
      for (int i = 0; i < total.length; i++) {
        total[i] += Double.isNaN(of.latest[i]) ? 0 : of.latest[i];
      }
      for (int i = 0; i < latencies.length; i++) {
        latencies[i] += of.latencies[i];
      }
    }
  }

  private static void addTo(
      double[] row, long[] latencies, NodeReading reading, HeldFigures held, long nowMs) {
    DeploymentFigures figures = held.figures();
    boolean isNew = nowMs - reading.atMs <= 2_000 * reading.seconds; // one batch may be late
    if (isNew && reading.number == held.reading()) { // else no requests since then
      row[0] += figures.requests() / reading.seconds;
      row[1] += figures.errors() / reading.seconds;
      HistorySeries.add(figures, latencies);
    }
    row[4] += figures.queued();
    row[5] += figures.slotsUsed();
    row[6] += figures.slots();
    row[7] += figures.replicas();
  }

  /** Returns a series, created at the first call; null if it does not fit. */
  private @Nullable HistorySeries of(Object key, long nowMs) {
    HistorySeries found = series.get(key);
    if (found == null && fits(nowMs)) {
      int[] steps = STEPS[level];
      found = new HistorySeries(columns(key).size(), steps[0], steps[1]);
      series.put(key, found);
    }
    if (found != null) {
      found.seenMs = nowMs;
    }
    return found;
  }

  /** Returns whether another series and figures of another node fit; makes room for them. */
  private boolean fits(long nowMs) {
    if (full) { // the search below would read all series for each of thousands
      refused++;
      return false;
    }
    if (bytes(1) > maxBytes) {
      series.entrySet().removeIf(each -> isOver(each.getKey(), nowMs - each.getValue().seenMs));
      held = countHeld();
    }
    while (bytes(1) > maxBytes && level < STEPS.length - 1) {
      int[] steps = STEPS[++level];
      series.values().forEach(each -> each.coarsen(steps[0], steps[1]));
    }
    if (bytes(1) <= maxBytes) {
      bytes = bytes(1);
      return true;
    }
    Map.Entry<Object, HistorySeries> oldest =
        series.entrySet().stream()
            .filter(each -> each.getKey() != ALL)
            .min(Comparator.comparingLong(each -> each.getValue().seenMs))
            .orElseThrow();
    if (nowMs - oldest.getValue().seenMs > SILENCE_TIMEOUT_MS) {
      series.remove(oldest.getKey());
      return true;
    }
    full = true;
    refused++;
    return false;
  }

  /** Returns whether a series makes room for a new one: its subject ended, or does not report. */
  private static boolean isOver(Object key, long silentMs) {
    return key != ALL && silentMs > (key instanceof String ? SILENCE_TIMEOUT_MS : HOUR_MS);
  }

  /** Returns the bytes with more series and figures; a node's series counts as a deployment's. */
  private long bytes(int more) {
    int[] steps = STEPS[level];
    return (series.size() + more) * HistorySeries.bytes(COLUMNS.size(), steps[0], steps[1])
        + (held + more) * HistorySeries.HELD_BYTES;
  }

  private static List<String> columns(Object key) {
    return key instanceof String ? NODE_COLUMNS : COLUMNS;
  }

  // --- reads ---

  /** Returns the row of the last second; the same array as before if it is equal. Thread-safe. */
  double @Nullable [] row(DeploymentId deployment) {
    HistorySeries found = series.get(deployment);
    return found == null ? null : found.latest;
  }

  /** Adds the figures of a deployment in the last second; null stands for all deployments. */
  JsonObject addFigures(@Nullable DeploymentId deployment, JsonObject into) {
    HistorySeries found = series.get(deployment == null ? ALL : deployment);
    for (int column = 0; column < COLUMNS.indexOf("replicas"); column++) {
      into.put(COLUMNS.get(column), found == null ? null : shown(found.latest[column]));
    }
    return into;
  }

  /** Returns the scheduling latency of a node's slowest event loop; null if it is unknown. */
  @Nullable Double lagMs(String node) {
    NodeReading reading = nodes.get(node);
    return reading == null ? null : shown(reading.lagMs);
  }

  /**
   * Returns the curves of a series now; null if it is unknown. Copies a ring of at most 91 KB; the
   * JSON may be made on any thread.
   *
   * @param key a deployment, the id of a node, or null for the sum of all deployments
   */
  @Nullable Supplier<JsonObject> curves(@Nullable Object key, boolean ofDay) {
    HistorySeries found = series.get(key == null ? ALL : key);
    if (found == null) {
      return null;
    }
    HistoryRing ring = found.ring(ofDay).copy();
    long first = ring.stepOf(endedMs) - ring.length; // the last step is not over yet
    return () -> curves(ring, ofDay, first, columns(key == null ? ALL : key));
  }

  private static JsonObject curves(
      HistoryRing ring, boolean ofDay, long first, List<String> names) {
    JsonObject curves = new JsonObject();
    for (int column = 0; column < names.size(); column++) {
      JsonArray curve = new JsonArray();
      for (int i = 0; i < ring.length; i++) {
        curve.add(shown(ring.at(first + i, column)));
      }
      curves.put(names.get(column), curve);
    }
    long stepMs = 1_000L * ring.stepS;
    return new JsonObject()
        .put("range", ofDay ? "day" : "hour")
        .put("step_s", ring.stepS)
        .put("from_ms", first * stepMs)
        .put("to_ms", (first + ring.length) * stepMs)
        .put("columns", curves);
  }

  private static @Nullable Double shown(double value) {
    return Double.isNaN(value) ? null : Math.rint(1_000 * value) / 1_000;
  }
}
