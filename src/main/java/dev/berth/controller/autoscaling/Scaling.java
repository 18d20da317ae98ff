package dev.berth.controller.autoscaling;

import dev.berth.config.AutoscalingOptions.Aggregation;
import dev.berth.controller.autoscaling.HandleReports.Instance;
import dev.berth.controller.autoscaling.ScalingInputs.Knowledge;
import dev.berth.controller.autoscaling.ScalingInputs.Source;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One deployment that follows its load, as a controller keeps it: what its instances reported, what
 * the last decision left, and the last decisions. Belongs to the controller's loop; times are those
 * of its clock, by which reports are stamped as they come.
 *
 * <p>An instance that stopped reporting keeps its last load until it says its last, or the
 * controller has declared it lost: there is no other end, for a time after which it were forgotten
 * would read silence as zero. What it says when it comes back begins the window anew, since nothing
 * is known of the time between. A controller that has just started knows nothing: an instance that
 * is {@link HandleReports#expect expected} counts as unknown until it has reported, or has told of
 * others for one look-back window: one that does not call the deployment has nothing to report.
 */
public final class Scaling {
  /** Decisions that are kept: those that changed something, and changes of the reason. */
  public static final int MAX_DECISIONS = 100;

  /** Times per look-back window that a load which changed in it is looked at again. */
  static final int LOOKS_PER_WINDOW = 10;

  private static final long MIN_LOOK_NANOS = 1_000_000;

  private final HandleReports reports;
  private final Map<String, Long> loads = new HashMap<>(); // of who reported, in millionths
  private final Map<String, Long> lost = new HashMap<>(); // instances, by when: no longer than that
  private final ArrayDeque<ScalingDecision> decisions = new ArrayDeque<>();
  private final LoadSeries series;
  private ScalingRules rules;
  private ScalingState state = ScalingState.NONE;
  private @Nullable ScalingDecision last;

  /**
   * @param reports says when each instance was heard
   */
  public Scaling(ScalingRules rules, HandleReports reports, long nowNanos) {
    this.rules = rules;
    this.reports = reports;
    this.series = new LoadSeries(nowNanos);
  }

  /** Other rules from now on; what was reported and the delays that run stay. */
  public void rules(ScalingRules changed) {
    rules = changed;
  }

  public ScalingRules rules() {
    return rules;
  }

  // --- what is reported ---

  /**
   * An instance that was heard spoke of the deployment.
   *
   * @param load mean of what waited, ran and was reserved since its last report
   * @param reserved the part of it that was reserved
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
   * An instance that was heard is lost: its load is gone with it, but who called there may call
   * elsewhere next. For one look-back window that is not known.
   */
  public void lost(String source, long nowNanos) {
    if (loads.containsKey(source)) {
      end(source, nowNanos);
      lost.put(source, nowNanos);
    }
  }

  /** Records an instance that was lost then, before it reported: its load is unknown as long. */
  public void unheard(String source, long lostNanos) {
    lost.put(source, lostNanos);
  }

  /** A final zero, or the end of an instance: it has no load from now on, which is known. */
  public void end(String source, long nowNanos) {
    Long before = loads.remove(source);
    if (before != null) {
      series.change(before, 0, nowNanos, rules.lookBackNanos());
    }
  }

  /** What is known by an instance; its silence, once it is over, ends what was known before. */
  private Knowledge known(Instance instance, boolean reported, long nowNanos) {
    if (!reported) {
      boolean told = instance.speaks && nowNanos - instance.sinceNanos >= rules.lookBackNanos();
      return told || !instance.expected ? Knowledge.REPORTED : Knowledge.UNHEARD;
    }
    series.restart(instance.sinceNanos);
    if (state.direction() < 0 && instance.sinceNanos - state.sinceNanos() > 0) {
      state = state.still(); // also where nobody looked meanwhile
    }
    return reports.isSilent(instance, nowNanos) ? Knowledge.SILENT : Knowledge.REPORTED;
  }

  // --- what is decided ---

  /**
   * Decides, and remembers that.
   *
   * @param policy what a policy of the user's own answered; null where there is none
   */
  public ScalingDecision decide(Fleet fleet, @Nullable PolicyAnswer policy, long nowNanos) {
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

  /** What would be decided now, which is not remembered. */
  public ScalingDecision look(Fleet fleet, @Nullable PolicyAnswer policy, long nowNanos) {
    return Autoscaler.decide(rules, inputs(fleet, policy, nowNanos), state, nowNanos);
  }

  /** What a decision would be made from now; of it a policy is told. */
  public ScalingInputs inputs(Fleet fleet, @Nullable PolicyAnswer policy, long nowNanos) {
    List<Source> all = new ArrayList<>();
    long changes = Long.MAX_VALUE;
    int unknown = 0;
    for (Instance instance : reports.instances()) {
      Long micros = loads.get(instance.name);
      Knowledge known = known(instance, micros != null, nowNanos);
      if (micros == null && known == Knowledge.REPORTED) {
        continue; // it does not call the deployment
      }
      if (micros == null && instance.speaks) {
        changes = Math.min(changes, instance.sinceNanos + rules.lookBackNanos());
      }
      unknown += known == Knowledge.REPORTED ? 0 : 1;
      double load = LoadSeries.load(micros == null ? 0 : micros);
      all.add(new Source(instance.name, load, instance.ageMs(nowNanos), known));
    }
    long from = nowNanos - rules.lookBackNanos();
    lost.values().removeIf(at -> at - from <= 0);
    for (Map.Entry<String, Long> each : lost.entrySet()) {
      unknown++;
      changes = Math.min(changes, each.getValue() + rules.lookBackNanos());
      long ageMs = TimeUnit.NANOSECONDS.toMillis(nowNanos - each.getValue());
      all.add(new Source(each.getKey(), 0, ageMs, Knowledge.SILENT));
    }
    long warmed = state.warmedNanos();
    boolean later = rules.countStarting() && warmed != ScalingState.NEVER && warmed - from > 0;
    if (series.changedSince(from)) {
      long look = Math.max(MIN_LOOK_NANOS, rules.lookBackNanos() / LOOKS_PER_WINDOW);
      changes = Math.min(changes, nowNanos + look);
    }
    all.sort(
        Comparator.comparing((Source source) -> source.known() == Knowledge.REPORTED)
            .thenComparing(Comparator.comparingDouble(Source::load).reversed())
            .thenComparing(Source::name));
    return new ScalingInputs(
        all.subList(0, Math.min(all.size(), ScalingInputs.MAX_SOURCES)),
        all.size(),
        unknown,
        series.aggregate(rules.aggregation(), later ? warmed : from, nowNanos),
        series.latest(),
        rules.panicNanos() == 0
            ? 0
            : series.aggregate(Aggregation.MEAN, nowNanos - rules.panicNanos(), nowNanos),
        fleet,
        policy,
        changes);
  }

  /** The newest first: each that changed the number, and of the others where the reason changed. */
  public List<ScalingDecision> decisions() {
    return List.copyOf(decisions);
  }

  /** The last that changed the number, in a line; empty when there is none. */
  public String lastChange() {
    return decisions.stream()
        .filter(ScalingDecision::changes)
        .findFirst()
        .map(ScalingDecision::told)
        .orElse("");
  }

  /** The last one, kept or not; null before the first. */
  public @Nullable ScalingDecision last() {
    return last;
  }
}
