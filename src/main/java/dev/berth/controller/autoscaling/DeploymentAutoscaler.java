package dev.berth.controller.autoscaling;

import dev.berth.config.AutoscalingOptions.AggregationFunction;
import dev.berth.controller.autoscaling.HandleReports.ReportingInstance;
import dev.berth.controller.autoscaling.ScalingInputs.LoadSource;
import dev.berth.controller.autoscaling.ScalingInputs.ReportFreshness;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The autoscaling state of one deployment in a controller: the load of its instances, the state of
 * the last decision, and recent decisions. Confined to the controller's loop. The controller's
 * clock stamps each report on arrival.
 *
 * <p><b>Silence.</b> A silent instance retains its last load until its final report, or until the
 * controller declares it lost. There is no timeout: an expired load would read silence as zero.
 * When the instance returns, its first report restarts the window, since the load in between is
 * unknown.
 *
 * <p><b>Start.</b> A new controller knows no load. An {@link HandleReports#expect expected}
 * instance counts as unknown until it has reported the deployment, or has reported others for one
 * look-back window. An instance that does not call the deployment never reports it.
 */
public final class DeploymentAutoscaler {
  /** Maximum number of recorded decisions: those with a change of the number or of the reason. */
  public static final int MAX_DECISIONS = 100;

  /** Decisions per look-back window after a load change within it. */
  static final int LOOKS_PER_WINDOW = 10;

  private static final long MIN_LOOK_NANOS = 1_000_000;

  private final HandleReports reports;
  // by instance, in millionths of a request
  private final Map<String, Long> loads = new HashMap<>();
  // lost instances with the time, for one window
  private final Map<String, Long> lost = new HashMap<>();
  private final ArrayDeque<ScalingDecision> decisions = new ArrayDeque<>();
  private final LoadSeries series;
  private ScalingRules rules;
  private ScalingState state = ScalingState.NONE;
  private @Nullable ScalingDecision last;

  /**
   * @param reports contains the last report time of each instance
   */
  public DeploymentAutoscaler(ScalingRules rules, HandleReports reports, long nowNanos) {
    this.rules = rules;
    this.reports = reports;
    this.series = new LoadSeries(nowNanos);
  }

  /** Replaces the rules; reports and running delays are retained. */
  public void rules(ScalingRules changed) {
    rules = changed;
  }

  public ScalingRules rules() {
    return rules;
  }

  // --- reports ---

  /**
   * Records the load of an instance, which must be in the reports.
   *
   * @param load mean of queued, running and reserved requests since its last report
   * @param reserved reserved part of the load
   */
  public void report(String source, double load, double reserved, long nowNanos) {
    long after = LoadSeries.micros(rules.countReserved() ? load : load - reserved);
    Long before = loads.put(source, after);
    series.change(before == null ? 0 : before, after, nowNanos, rules.lookBackNanos());
    if (before == null) {
      series.restart(nowNanos);
    }
  }

  /**
   * Removes the load of a lost instance. Its callers may call elsewhere next, so for one look-back
   * window its load is unknown.
   */
  public void onInstanceLost(String source, long nowNanos) {
    if (loads.containsKey(source)) {
      end(source, nowNanos);
      lost.put(source, nowNanos);
    }
  }

  /**
   * Records an instance that was lost before its first report; its load is unknown for one
   * look-back window.
   */
  public void recordUnreportedLoss(String source, long lostNanos) {
    lost.put(source, lostNanos);
  }

  /**
   * Removes the load of an instance after its final report or its end: the load is known to be
   * zero.
   */
  public void end(String source, long nowNanos) {
    Long before = loads.remove(source);
    if (before != null) {
      series.change(before, 0, nowNanos, rules.lookBackNanos());
    }
  }

  /**
   * Returns the knowledge about an instance's load. The return of a silent instance restarts the
   * window.
   */
  private ReportFreshness updateFreshness(
      ReportingInstance instance, boolean reported, long nowNanos) {
    if (!reported) {
      boolean told = instance.speaks && nowNanos - instance.sinceNanos >= rules.lookBackNanos();
      return told || !instance.expected ? ReportFreshness.REPORTED : ReportFreshness.UNHEARD;
    }
    series.restart(instance.sinceNanos);
    if (state.direction() < 0 && instance.sinceNanos - state.sinceNanos() > 0) {
      state = state.still(); // also without a decision meanwhile
    }
    return reports.isSilent(instance, nowNanos) ? ReportFreshness.SILENT : ReportFreshness.REPORTED;
  }

  // --- decisions ---

  /**
   * Decides the number of replicas and records the decision.
   *
   * @param policy reply of a user-defined policy; null without one
   */
  public ScalingDecision decide(ReplicaCounts fleet, @Nullable PolicyAnswer policy, long nowNanos) {
    ScalingDecision decision = look(fleet, policy, nowNanos);
    state = decision.state();
    ScalingDecision before = last;
    last = decision;
    if (before == null || !decision.repeats(before)) {
      decisions.addFirst(decision);
      if (decisions.size() > MAX_DECISIONS) {
        decisions.removeLast();
      }
    }
    return decision;
  }

  /** Returns the decision that would be made now, without recording it. */
  public ScalingDecision look(ReplicaCounts fleet, @Nullable PolicyAnswer policy, long nowNanos) {
    return Autoscaler.decide(rules, inputs(fleet, policy, nowNanos), state, nowNanos);
  }

  /** Returns the inputs of a decision made now, from which the context of a policy is built. */
  public ScalingInputs inputs(ReplicaCounts fleet, @Nullable PolicyAnswer policy, long nowNanos) {
    List<LoadSource> all = new ArrayList<>();
    long changes = Long.MAX_VALUE;
    int unknown = 0;
    for (ReportingInstance instance : reports.instances()) {
      Long micros = loads.get(instance.name);
      ReportFreshness known = updateFreshness(instance, micros != null, nowNanos);
      if (micros == null && known == ReportFreshness.REPORTED) {
        continue; // it does not call the deployment
      }
      if (micros == null && instance.speaks) {
        changes = Math.min(changes, instance.sinceNanos + rules.lookBackNanos());
      }
      unknown += known == ReportFreshness.REPORTED ? 0 : 1;
      double load = LoadSeries.load(micros == null ? 0 : micros);
      all.add(new LoadSource(instance.name, load, instance.ageMs(nowNanos), known));
    }
    long from = nowNanos - rules.lookBackNanos();
    lost.values().removeIf(at -> at - from <= 0);
    for (Map.Entry<String, Long> each : lost.entrySet()) {
      unknown++;
      changes = Math.min(changes, each.getValue() + rules.lookBackNanos());
      long ageMs = TimeUnit.NANOSECONDS.toMillis(nowNanos - each.getValue());
      all.add(new LoadSource(each.getKey(), 0, ageMs, ReportFreshness.SILENT));
    }
    long warmed = state.warmedNanos();
    boolean later = rules.countStarting() && warmed != ScalingState.NEVER && warmed - from > 0;
    if (series.changedSince(from)) {
      long look = Math.max(MIN_LOOK_NANOS, rules.lookBackNanos() / LOOKS_PER_WINDOW);
      changes = Math.min(changes, nowNanos + look);
    }
    all.sort(
        Comparator.comparing((LoadSource source) -> source.known() == ReportFreshness.REPORTED)
            .thenComparing(Comparator.comparingDouble(LoadSource::load).reversed())
            .thenComparing(LoadSource::name));
    return new ScalingInputs(
        all.subList(0, Math.min(all.size(), ScalingInputs.MAX_SOURCES)),
        all.size(),
        unknown,
        series.aggregate(rules.aggregation(), later ? warmed : from, nowNanos),
        series.latest(),
        rules.panicNanos() == 0
            ? 0
            : series.aggregate(AggregationFunction.MEAN, nowNanos - rules.panicNanos(), nowNanos),
        fleet,
        policy,
        changes);
  }

  /**
   * Returns the recorded decisions, newest first: each change of the number, and each change of the
   * reason.
   */
  public List<ScalingDecision> decisions() {
    return List.copyOf(decisions);
  }

  /** Returns the last decision that changed the number, in a line; empty when there is none. */
  public String lastChange() {
    return decisions.stream()
        .filter(ScalingDecision::changes)
        .findFirst()
        .map(ScalingDecision::summary)
        .orElse("");
  }

  /** Returns the last decision, recorded or not; null before the first. */
  public @Nullable ScalingDecision last() {
    return last;
  }
}
