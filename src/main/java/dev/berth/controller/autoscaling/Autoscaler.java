package dev.berth.controller.autoscaling;

import dev.berth.controller.autoscaling.ScalingDecision.ScalingReason;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/**
 * Decides the number of replicas of a deployment. The decision is a plain function of the rules,
 * the load reports, the state of the last decision and the time. Slow or irregular decisions extend
 * no delay.
 *
 * <p><b>Number.</b> The wanted number is load ÷ target, changed by the factor of its direction and
 * limited to the bounds. Replicas start once more were wanted for {@code upscale_delay_s} without
 * interruption. They stop once fewer were wanted for {@code downscale_delay_s}. A decision that
 * finds the number right, or wants the other direction, ends the delay; one in the same direction
 * continues it, with any number. Scaling from one replica to zero is a separate step with its own
 * delay. Without replicas a request starts the first at once.
 *
 * <p><b>Rules beyond Ray Serve.</b>
 *
 * <ul>
 *   <li>Scaling down needs complete reports. While an instance is silent or has not reported yet,
 *       its last load applies, and the delay for fewer replicas does not run.
 *   <li>{@code count_starting}: load that gathers while replicas start would request further ones.
 *       While less than nine tenths of the wanted replicas run, the number does not rise, for
 *       {@link #MAX_START_NANOS} at most. It then stays for the same time again, at most a
 *       look-back window, so that replicas can complete the queued requests. Earlier reports do not
 *       count afterwards.
 *   <li>Panic: the mean of {@code panic_window_s} wants at least {@code panic_threshold} times the
 *       present replicas. Replicas then start at once and none stops. Panic ends one look-back
 *       window after the threshold was last exceeded.
 *   <li>Stabilisation: the number is clamped to the minimum and maximum wanted within the window.
 *   <li>While any request waits or runs, the last replica stays.
 * </ul>
 *
 * <p>Source: Ray Serve's replica_queue_length_autoscaling_policy and its wrapper; Kubernetes' HPA;
 * Knative's autoscaler.
 */
public final class Autoscaler {
  /**
   * Maximum time in nanoseconds to wait for starting replicas before load may request further ones.
   */
  static final long MAX_START_NANOS = TimeUnit.MINUTES.toNanos(5);

  /**
   * Delay in nanoseconds to the next decision after a change: scaling to zero takes two changes.
   */
  private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long NEVER = ScalingState.NEVER;

  private final ScalingRules rules;
  private final ScalingInputs inputs;
  private final ReplicaCounts fleet;
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
   * Decides the number of replicas.
   *
   * @param state of the last decision; {@link ScalingState#NONE} at first
   * @param nowNanos time of the clock that stamped the inputs
   */
  public static ScalingDecision decide(
      ScalingRules rules, ScalingInputs inputs, ScalingState state, long nowNanos) {
    return new Autoscaler(rules, inputs, state, nowNanos).decide();
  }

  private ScalingDecision decide() {
    if (fleet.paused()) {
      state = ScalingState.NONE;
      return keep(ScalingReason.PAUSED);
    }
    warmUp();
    PolicyAnswer policy = inputs.policy();
    if (fleet.running() == 0 && inputs.latest() > 0) {
      return coldStart();
    }
    if (policy != null && policy.replicas() == null) {
      return keep(ScalingReason.POLICY);
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
      return settle(rules.bounded(fleet.target()), ScalingReason.BOUNDS);
    }
    if (wanted > fleet.target()) {
      return up(panics, policy != null);
    }
    return wanted < fleet.target() ? down(panics) : steady();
  }

  // --- wanted number ---

  private double byLoad(boolean panics) {
    if (fleet.running() == 0) {
      return fleet.target(); // no divisor, and no request waits
    }
    double load = panics ? Math.max(inputs.total(), inputs.panic()) : inputs.total();
    return load / rules.target();
  }

  /**
   * Returns whether the load is in panic, relative to the present replicas; starting ones count
   * under {@code count_starting}.
   */
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

  // --- decision ---

  private ScalingDecision coldStart() {
    raw = Math.max(Math.ceil(rules.upFactor()), fleet.target());
    scaled = (int) raw;
    bounded = rules.bounded(scaled);
    wanted = bounded;
    if (bounded == fleet.target()) {
      state = state.still();
      return keep(bounded < scaled ? ScalingReason.AT_BOUND : ScalingReason.STARTING);
    }
    return settle(bounded, ScalingReason.COLD_START);
  }

  /**
   * Decides a scale-up. A policy is not delayed by starting replicas: its context contains them.
   */
  private ScalingDecision up(boolean panics, boolean ofPolicy) {
    boolean waits = !ofPolicy && rules.countStarting();
    if (waits && awaits()) {
      state = state.still();
      untilNanos = state.startingNanos() + MAX_START_NANOS;
      return keep(ScalingReason.STARTING);
    }
    long settled = waits && state.settledNanos() != NEVER ? state.settledNanos() : now;
    boolean atOnce = panics || (ofPolicy && fleet.running() == 0);
    if (delays(1, atOnce ? 0 : rules.upDelayNanos(), settled)) {
      return keep(
          settled == untilNanos && settled != now ? ScalingReason.STARTING : ScalingReason.DELAY);
    }
    return settle(wanted, panics ? ScalingReason.PANIC_UP : ScalingReason.SCALED_UP);
  }

  private ScalingDecision down(boolean panics) {
    if (panics || inputs.unknown() > 0) {
      state = state.still();
      return keep(panics ? ScalingReason.PANIC : ScalingReason.UNKNOWN);
    }
    boolean last = fleet.target() == 1;
    wanted = last ? wanted : Math.max(1, wanted);
    if (delays(-1, last ? rules.toZeroDelayNanos() : rules.downDelayNanos(), now)) {
      return keep(ScalingReason.DELAY);
    }
    return fleet.rollingOut()
        ? keep(ScalingReason.ROLLOUT)
        : settle(wanted, ScalingReason.SCALED_DOWN);
  }

  private ScalingDecision steady() {
    state = state.still();
    if (bounded != fleet.target()) {
      return keep(ScalingReason.STABILIZING);
    }
    return keep(scaled == bounded ? ScalingReason.STEADY : ScalingReason.AT_BOUND);
  }

  /** Returns whether the delay of a direction still runs; a change of direction restarts it. */
  private boolean delays(int direction, long delay, long earliest) {
    if (state.direction() != direction) {
      state = state.wanting(direction, now);
    }
    long end = state.sinceNanos() + delay;
    untilNanos = earliest - end > 0 ? earliest : end;
    return untilNanos - now > 0;
  }

  /** Changes the number of replicas; every delay restarts. */
  private ScalingDecision settle(int replicas, ScalingReason reason) {
    state = state.still();
    untilNanos = now + AGAIN_NANOS;
    return decision(replicas, reason);
  }

  private ScalingDecision keep(ScalingReason reason) {
    return decision(fleet.target(), reason);
  }

  private ScalingDecision decision(int replicas, ScalingReason reason) {
    return new ScalingDecision(
        now, inputs, raw, scaled, bounded, wanted, replicas, reason, untilNanos, state, wake());
  }

  /** Returns the earliest future time at which a delay or window ends. */
  private long wake() {
    List<ScalingState.WantedRange> wants = state.wants();
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
