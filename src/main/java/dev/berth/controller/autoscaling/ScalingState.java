package dev.berth.controller.autoscaling;

import java.util.ArrayList;
import java.util.List;

/**
 * The state that one decision leaves for the next.
 *
 * @param direction of the wanted change: 1, 0, -1
 * @param sinceNanos begin of that direction without interruption; {@link #NEVER} when {@code
 *     direction} is 0
 * @param startingNanos begin of the wait for starting replicas; {@link #NEVER} when all run
 * @param warmedNanos end of the last such wait; earlier load does not count
 * @param settledNanos end of the time for completing the requests queued meanwhile
 * @param panicNanos last time at which the panic window exceeded its threshold
 * @param wants of the stabilisation window, oldest first
 */
public record ScalingState(
    int direction,
    long sinceNanos,
    long startingNanos,
    long warmedNanos,
    long settledNanos,
    long panicNanos,
    List<WantedRange> wants) {

  /** Time of an event that has not happened. */
  static final long NEVER = Long.MIN_VALUE;

  /** Maximum number of parts of the stabilisation window. */
  static final int MAX_WANTS = 128;

  /** State without a delay, wait or panic. */
  public static final ScalingState NONE =
      new ScalingState(0, NEVER, NEVER, NEVER, NEVER, NEVER, List.of());

  /**
   * The wanted numbers of a part of the stabilisation window.
   *
   * @param nanos begin of the part
   * @param least minimum of replicas
   * @param most maximum of replicas
   */
  public record WantedRange(long nanos, int least, int most) {}

  public ScalingState {
    wants = List.copyOf(wants);
  }

  /** Returns the state when no other number is wanted. */
  ScalingState still() {
    return wanting(0, NEVER);
  }

  ScalingState wanting(int way, long since) {
    return new ScalingState(
        way, since, startingNanos, warmedNanos, settledNanos, panicNanos, wants);
  }

  ScalingState starting(long since) {
    return new ScalingState(
        direction, sinceNanos, since, warmedNanos, settledNanos, panicNanos, wants);
  }

  ScalingState warmed(long at, long settled) {
    return new ScalingState(direction, sinceNanos, NEVER, at, settled, panicNanos, wants);
  }

  ScalingState panicking(long at) {
    return new ScalingState(
        direction, sinceNanos, startingNanos, warmedNanos, settledNanos, at, wants);
  }

  /** Returns the state with one more wanted number, without those that have left the window. */
  ScalingState wanting(int replicas, long now, long window) {
    List<WantedRange> kept = new ArrayList<>(wants);
    kept.removeIf(want -> now - want.nanos >= window);
    WantedRange want = new WantedRange(now, replicas, replicas);
    if (!kept.isEmpty() && now - kept.get(kept.size() - 1).nanos < window / MAX_WANTS) {
      want = kept.remove(kept.size() - 1); // in the same part
    }
    kept.add(
        new WantedRange(want.nanos, Math.min(want.least, replicas), Math.max(want.most, replicas)));
    return new ScalingState(
        direction, sinceNanos, startingNanos, warmedNanos, settledNanos, panicNanos, kept);
  }

  /** Returns the number nearest to the target within the range of the window. */
  int stabilized(int target) {
    int least = wants.stream().mapToInt(WantedRange::least).min().orElse(target);
    int most = wants.stream().mapToInt(WantedRange::most).max().orElse(target);
    return Math.max(least, Math.min(target, most));
  }
}
