package dev.berth.controller.autoscaling;

import dev.berth.protocol.ReplicaStats;
import dev.berth.protocol.ReplicaStats.Stat;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What one replica tells of itself over the look-back window, as a controller keeps it: each figure
 * stands until the next one comes. What it tells no longer is forgotten with its next report, and
 * all of it when it tells nothing for a window. Belongs to the controller's loop.
 */
public final class StatsSeries {
  private final Map<String, LoadSeries> figures = new HashMap<>();
  private long heardNanos;

  /** It told these, stamped as they come. */
  public void add(ReplicaStats told, ScalingRules rules, long nowNanos) {
    Set<String> names = new HashSet<>();
    told.stats().forEach(each -> names.add(each.name()));
    figures.keySet().retainAll(nowNanos - heardNanos > rules.lookBackNanos() ? Set.of() : names);
    for (Stat each : told.stats()) {
      figures
          .computeIfAbsent(each.name(), name -> new LoadSeries(nowNanos))
          .become(LoadSeries.micros(each.value()), nowNanos, rules.lookBackNanos());
    }
    heardNanos = nowNanos;
  }

  /**
   * Each figure, aggregated over the window as the load is.
   *
   * @param silentNanos nothing is known of a replica that said nothing for so long, nor for a
   *     window
   */
  public Map<String, Double> aggregate(ScalingRules rules, long silentNanos, long nowNanos) {
    Map<String, Double> all = new TreeMap<>();
    if (nowNanos - heardNanos <= Math.max(rules.lookBackNanos(), silentNanos)) {
      long from = nowNanos - rules.lookBackNanos();
      figures.forEach(
          (name, series) -> all.put(name, series.aggregate(rules.aggregation(), from, nowNanos)));
    }
    return all;
  }
}
