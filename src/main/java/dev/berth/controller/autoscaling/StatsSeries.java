package dev.berth.controller.autoscaling;

import dev.berth.protocol.ReplicaStats;
import dev.berth.protocol.ReplicaStats.NamedStat;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The statistics of one replica over the look-back window. Each figure applies until its next
 * value. A figure missing from the next report is removed, and after a window without reports all
 * are. Confined to the controller's loop.
 */
public final class StatsSeries {
  private final Map<String, LoadSeries> figures = new HashMap<>();
  private long heardNanos;

  /** Records the statistics of a replica, stamped on arrival. */
  public void add(ReplicaStats told, ScalingRules rules, long nowNanos) {
    Set<String> names = new HashSet<>();
    told.stats().forEach(each -> names.add(each.name()));
    figures.keySet().retainAll(nowNanos - heardNanos > rules.lookBackNanos() ? Set.of() : names);
    for (NamedStat each : told.stats()) {
      figures
          .computeIfAbsent(each.name(), name -> new LoadSeries(nowNanos))
          .become(LoadSeries.micros(each.value()), nowNanos, rules.lookBackNanos());
    }
    heardNanos = nowNanos;
  }

  /**
   * Returns each figure, aggregated over the window by the rule of the load.
   *
   * @param silentNanos silence limit; after a silence of both this and the window the result is
   *     empty
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
