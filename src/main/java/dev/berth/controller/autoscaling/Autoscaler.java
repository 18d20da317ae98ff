package dev.berth.controller.autoscaling;

import dev.berth.controller.autoscaling.ScalingDecision.Reason;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/**
 * How many replicas there are to be: a plain function of the rules, of what was reported, of what
 * the last decision left and of the time. Slow or irregular looks make no delay longer.
 *
 * <p>Load ÷ target is wanted, by the factor of its direction, within the bounds. More are started
 * once more were wanted for {@code upscale_delay_s} without interruption, fewer run once fewer were
 * wanted for {@code downscale_delay_s}; a look that finds the number right, or wants the other
 * direction, ends the delay, and one that wants the same direction lets it run on, by whatever
 * figure. The last replica goes by itself and after a delay of its own. Without replicas a request
 * starts the first at once.
 *
 * <p>Further rules, which are not Ray Serve's:
 *
 * <ul>
 *   <li>Fewer are wanted only on what is known. While an instance is silent or has not reported
 *       yet, its last load stands, and the delay for fewer does not run.
 *   <li>{@code count_starting}: load gathers while replicas start, and asks for more of what
 *       already comes. So while less than nine tenths of the wanted replicas run, no more are asked
 *       for, for {@link #MAX_START_NANOS} at most; then as long again, a look-back window at most,
 *       for what gathered to be worked off; and what was reported before counts no more.
 *   <li>In panic (the mean of {@code panic_window_s} wants at least {@code panic_threshold} times
 *       what is there) more are started at once and none is stopped; it ends a look-back window
 *       after the last time.
 *   <li>The stabilisation window: the want nearest to the present number that held all through it.
 *   <li>While anything waits or runs the last replica stays.
 * </ul>
 *
 * <p>Source: Ray Serve's replica_queue_length_autoscaling_policy and its wrapper; Kubernetes' HPA;
 * Knative's autoscaler.
 */
public final class Autoscaler {
  /** For so long what was asked for is awaited before load may ask for more. */
  static final long MAX_START_NANOS = TimeUnit.MINUTES.toNanos(5);

  /** After a change, which may not be the last: to zero there are two. */
  private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long NEVER = ScalingState.NEVER;

  private final ScalingRules rules;
  private final ScalingInputs inputs;
  private final Fleet fleet;
  private final long now;
  private ScalingState state;
  private double raw;
  private int scaled;
  private int bounded;
  private int wanted;
  private long untilNanos = Long.MAX_VALUE;

  private Autoscaler(ScalingRules rules, ScalingInputs inputs, ScalingState state, long now) {
    this.rules = rules;
    this.inputs = inputs;
    this.fleet = inputs.fleet();
    this.state = state;
    this.now = now;
    this.raw = fleet.target();
    this.scaled = fleet.target();
    this.bounded = fleet.target();
    this.wanted = fleet.target();
  }

  /**
   * @param state as the last decision left it; {@link ScalingState#NONE} at first
   * @param nowNanos of the clock by which the inputs were made
   */
  public static ScalingDecision decide(
      ScalingRules rules, ScalingInputs inputs, ScalingState state, long nowNanos) {
    return new Autoscaler(rules, inputs, state, nowNanos).decide();
  }

  private ScalingDecision decide() {
    if (fleet.paused()) {
      state = ScalingState.NONE;
      return keep(Reason.PAUSED);
    }
    warmUp();
    PolicyAnswer policy = inputs.policy();
    if (fleet.running() == 0 && inputs.latest() > 0) {
      return coldStart();
    }
    if (policy != null && policy.replicas() == null) {
      return keep(Reason.POLICY);
    }
    boolean panics = policy == null && panics();
    raw = policy == null ? byLoad(panics) : policy.replicas();
    scaled = rules.scaled(raw, fleet.running());
    if (policy == null && inputs.latest() > 0) {
      scaled = Math.max(1, scaled);
    }
    bounded = rules.bounded(scaled);
    wanted = bounded;
    if (rules.stabilizationNanos() > 0) {
      state = state.wanting(bounded, now, rules.stabilizationNanos());
      wanted = panics ? Math.max(bounded, fleet.target()) : state.stabilized(fleet.target());
    }
    if (rules.bounded(fleet.target()) != fleet.target()) {
      return settle(rules.bounded(fleet.target()), Reason.BOUNDS);
    }
    if (wanted > fleet.target()) {
      return up(panics, policy != null);
    }
    return wanted < fleet.target() ? down(panics) : steady();
  }

  // --- what is wanted ---

  private double byLoad(boolean panics) {
    if (fleet.running() == 0) {
      return fleet.target(); // nothing to divide by, and nothing waits
    }
    double load = panics ? Math.max(inputs.total(), inputs.panic()) : inputs.total();
    return load / rules.target();
  }

  /** Of what is there: with what starts, where that counts. */
  private boolean panics() {
    if (rules.panicNanos() == 0) {
      return false;
    }
    int there = fleet.running() + (rules.countStarting() ? fleet.starting() : 0);
    double ratio = inputs.panic() / rules.target();
    if (there > 0 && ratio >= rules.panicThreshold() * there) {
      state = state.panicking(now);
    }
    return state.panicNanos() != NEVER && now - state.panicNanos() < rules.lookBackNanos();
  }

  private void warmUp() {
    boolean awaited =
        rules.countStarting() && fleet.running() * 10L < fleet.target() * 9L; // nine tenths
    if (awaited && state.startingNanos() == NEVER) {
      state = state.starting(now);
    } else if (!awaited && state.startingNanos() != NEVER) {
      long took = Math.min(now - state.startingNanos(), rules.lookBackNanos());
      state = state.warmed(now, now + took);
    }
  }

  private boolean awaits() {
    return state.startingNanos() != NEVER && now - state.startingNanos() < MAX_START_NANOS;
  }

  // --- what comes of it ---

  private ScalingDecision coldStart() {
    raw = Math.max(Math.ceil(rules.upFactor()), fleet.target());
    scaled = (int) raw;
    bounded = rules.bounded(scaled);
    wanted = bounded;
    if (bounded == fleet.target()) {
      state = state.still();
      return keep(bounded < scaled ? Reason.AT_BOUND : Reason.STARTING);
    }
    return settle(bounded, Reason.COLD_START);
  }

  /** A policy knows of what starts: it is shown that. */
  private ScalingDecision up(boolean panics, boolean ofPolicy) {
    boolean waits = !ofPolicy && rules.countStarting();
    if (waits && awaits()) {
      state = state.still();
      untilNanos = state.startingNanos() + MAX_START_NANOS;
      return keep(Reason.STARTING);
    }
    long settled = waits && state.settledNanos() != NEVER ? state.settledNanos() : now;
    boolean atOnce = panics || (ofPolicy && fleet.running() == 0);
    if (delays(1, atOnce ? 0 : rules.upDelayNanos(), settled)) {
      return keep(settled == untilNanos && settled != now ? Reason.STARTING : Reason.DELAY);
    }
    return settle(wanted, panics ? Reason.PANIC_UP : Reason.SCALED_UP);
  }

  private ScalingDecision down(boolean panics) {
    if (panics || inputs.unknown() > 0) {
      state = state.still();
      return keep(panics ? Reason.PANIC : Reason.UNKNOWN);
    }
    boolean last = fleet.target() == 1;
    wanted = last ? wanted : Math.max(1, wanted);
    if (delays(-1, last ? rules.toZeroDelayNanos() : rules.downDelayNanos(), now)) {
      return keep(Reason.DELAY);
    }
    return fleet.rollingOut() ? keep(Reason.ROLLOUT) : settle(wanted, Reason.SCALED_DOWN);
  }

  private ScalingDecision steady() {
    state = state.still();
    if (bounded != fleet.target()) {
      return keep(Reason.STABILIZING);
    }
    return keep(scaled == bounded ? Reason.STEADY : Reason.AT_BOUND);
  }

  /** Whether the delay of a direction still runs, which begins when it was another before. */
  private boolean delays(int direction, long delay, long earliest) {
    if (state.direction() != direction) {
      state = state.wanting(direction, now);
    }
    long end = state.sinceNanos() + delay;
    untilNanos = earliest - end > 0 ? earliest : end;
    return untilNanos - now > 0;
  }

  /** Another number: every delay begins anew. */
  private ScalingDecision settle(int replicas, Reason reason) {
    state = state.still();
    untilNanos = now + AGAIN_NANOS;
    return decision(replicas, reason);
  }

  private ScalingDecision keep(Reason reason) {
    return decision(fleet.target(), reason);
  }

  private ScalingDecision decision(int replicas, Reason reason) {
    return new ScalingDecision(
        now, inputs, raw, scaled, bounded, wanted, replicas, reason, untilNanos, state, wake());
  }

  /** The first of the times that are to come at which something is over. */
  private long wake() {
    List<ScalingState.Want> wants = state.wants();
    return LongStream.of(
            inputs.changesNanos(),
            untilNanos,
            state.panicNanos() + rules.lookBackNanos(),
            wants.size() > 1 ? wants.get(0).nanos() + rules.stabilizationNanos() : NEVER)
        .filter(each -> each > now)
        .min()
        .orElse(Long.MAX_VALUE);
  }
}
