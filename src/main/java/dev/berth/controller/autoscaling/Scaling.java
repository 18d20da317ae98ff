package dev.berth.controller.autoscaling;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.AutoscalingPolicy.Context;
import dev.berth.config.AutoscalingOptions.Aggregation;
import dev.berth.controller.autoscaling.ScalingInputs.Knowledge;
import dev.berth.controller.autoscaling.ScalingInputs.Source;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
 * it {@link #expect expects} counts as unknown until it has reported, or has told of others for one
 * look-back window: one that does not call the deployment has nothing to report.
 */
public final class Scaling {
  /** Decisions that are kept: those that changed something, and changes of the reason. */
  public static final int MAX_DECISIONS = 100;

  /** Times per look-back window that a load which changed in it is looked at again. */
  static final int LOOKS_PER_WINDOW = 10;

  /** Requests that no instance holds: a load above it, below 0 or that is no number is none. */
  static final double MAX_LOAD = 1e9;

  private static final long MIN_LOOK_NANOS = 1_000_000;

  /** What one instance said. */
  private static final class Reported {
    long micros;
    long nanos; // of its last report, or since when it tells of others
    boolean heard;
    boolean speaks;

    Reported(long now) {
      nanos = now;
    }
  }

  private final Map<String, Reported> sources = new HashMap<>();
  private final ArrayDeque<ScalingDecision> decisions = new ArrayDeque<>();
  private final LoadSeries series;
  private final long silentNanos;
  private ScalingRules rules;
  private ScalingState state = ScalingState.NONE;
  private @Nullable ScalingDecision last;
  private long failures;

  /**
   * @param silentNanos without a report after which an instance is not known any more; Ray Serve's
   *     is twice the push interval, 10 s at least
   */
  public Scaling(ScalingRules rules, long silentNanos, long nowNanos) {
    this.rules = rules;
    this.silentNanos = silentNanos;
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

  /** An instance that may report is there: told once, when the controller hears of it. */
  public void expect(String source, long nowNanos) {
    sources.computeIfAbsent(source, name -> new Reported(nowNanos));
  }

  /**
   * What cannot be is no report: the instance grows silent, and what it said before stands.
   *
   * @param load mean of what waited, ran and was reserved since its last report
   * @param reserved the part of it that was reserved
   */
  public void report(String source, double load, double reserved, long nowNanos) {
    if (!(load <= MAX_LOAD && reserved >= 0 && reserved <= load)) {
      return;
    }
    Reported reported = sources.computeIfAbsent(source, name -> new Reported(nowNanos));
    long micros = LoadSeries.micros(rules.countReserved() ? load : load - reserved);
    change(reported, Math.max(0, micros), nowNanos);
    refresh(reported, !reported.heard, nowNanos);
  }

  /** An instance reported and did not name the deployment: what it said of it still holds. */
  public void heard(String source, long nowNanos) {
    Reported reported = sources.get(source);
    if (reported != null && reported.heard) {
      refresh(reported, false, nowNanos);
    } else if (reported != null && !reported.speaks) {
      reported.speaks = true;
      reported.nanos = nowNanos;
    }
  }

  /** A final zero, or the end of an instance: it has no load from now on, which is known. */
  public void end(String source, long nowNanos) {
    Reported reported = sources.remove(source);
    if (reported != null) {
      change(reported, 0, nowNanos);
    }
  }

  private void change(Reported reported, long micros, long nowNanos) {
    series.change(reported.micros, micros, nowNanos, rules.lookBackNanos());
    reported.micros = micros;
  }

  private void refresh(Reported reported, boolean first, long nowNanos) {
    boolean silent = known(reported, nowNanos) == Knowledge.SILENT;
    if (first || silent) {
      series.restart(nowNanos);
    }
    if (silent && state.direction() < 0) {
      state = state.wanting(0, nowNanos); // also where nobody looked meanwhile
    }
    reported.heard = true;
    reported.nanos = nowNanos;
  }

  private Knowledge known(Reported reported, long nowNanos) {
    long age = nowNanos - reported.nanos;
    if (!reported.heard) {
      boolean silent = !reported.speaks || age < rules.lookBackNanos();
      return silent ? Knowledge.UNHEARD : Knowledge.REPORTED;
    }
    return age > silentNanos ? Knowledge.SILENT : Knowledge.REPORTED;
  }

  // --- what is decided ---

  /**
   * Decides, and remembers that.
   *
   * @param policy what a policy of the user's own answered; null where there is none
   */
  public ScalingDecision decide(Fleet fleet, @Nullable PolicyAnswer policy, long nowNanos) {
    ScalingDecision decision =
        Autoscaler.decide(rules, inputs(fleet, policy, nowNanos), state, nowNanos);
    state = decision.state();
    ScalingDecision before = last;
    boolean asked = before == null || before.inputs().policy() != policy; // and not the same again
    failures += asked && policy != null && policy.failure() != null ? 1 : 0;
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
  public ScalingDecision look(Fleet fleet, long nowNanos) {
    PolicyAnswer policy = last == null ? null : last.inputs().policy();
    return Autoscaler.decide(rules, inputs(fleet, policy, nowNanos), state, nowNanos);
  }

  /** As a policy of the user's own is shown it. */
  public Context context(
      DeploymentId deployment, Fleet fleet, Map<String, @Nullable Object> state, long nowNanos) {
    ScalingInputs inputs = inputs(fleet, null, nowNanos);
    return new Context(
        deployment,
        fleet.running(),
        fleet.target(),
        rules.minReplicas(),
        rules.maxReplicas(),
        rules.target(),
        inputs.total(),
        inputs.latest(),
        Map.of(),
        state);
  }

  /** What a decision would be made from now; of it a policy is told. */
  public ScalingInputs inputs(Fleet fleet, @Nullable PolicyAnswer policy, long nowNanos) {
    long from = nowNanos - rules.lookBackNanos();
    long warmed = state.warmedNanos();
    boolean later = rules.countStarting() && warmed != ScalingState.NEVER && warmed - from > 0;
    long changes =
        series.changedSince(from)
            ? nowNanos + Math.max(MIN_LOOK_NANOS, rules.lookBackNanos() / LOOKS_PER_WINDOW)
            : Long.MAX_VALUE;
    List<Source> all = new ArrayList<>(sources.size());
    int unknown = 0;
    for (Map.Entry<String, Reported> each : sources.entrySet()) {
      Reported reported = each.getValue();
      Knowledge known = known(reported, nowNanos);
      unknown += known == Knowledge.REPORTED ? 0 : 1;
      if (known == Knowledge.UNHEARD && reported.speaks) {
        long end = reported.nanos + rules.lookBackNanos();
        changes = changes == Long.MAX_VALUE || end - changes < 0 ? end : changes;
      }
      double load = LoadSeries.load(reported.micros);
      all.add(new Source(each.getKey(), load, nowNanos - reported.nanos, known));
    }
    all.sort(
        Comparator.comparing((Source source) -> source.known() == Knowledge.REPORTED)
            .thenComparing(Comparator.comparingDouble(Source::load).reversed())
            .thenComparing(Source::name));
    return new ScalingInputs(
        all.subList(0, Math.min(all.size(), ScalingInputs.MAX_SOURCES)),
        sources.size(),
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

  /** Answers of the policy that were none. */
  public long failures() {
    return failures;
  }
}
