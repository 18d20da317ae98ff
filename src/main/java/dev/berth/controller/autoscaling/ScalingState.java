package dev.berth.controller.autoscaling;

import java.util.ArrayList;
import java.util.List;

/**
 * What one decision leaves for the next.
 *
 * @param direction in which another number is wanted: 1, 0, -1
 * @param sinceNanos since when without interruption; {@link #NEVER} when {@code direction} is 0
 * @param startingNanos since when what was asked for is awaited; {@link #NEVER} when all runs
 * @param warmedNanos when that was over last; load of before counts no more
 * @param settledNanos until when what gathered meanwhile may be worked off
 * @param panicNanos when the panic window was last over its threshold
 * @param wants of the stabilisation window, the oldest first
 */
public record ScalingState(
    int direction,
    long sinceNanos,
    long startingNanos,
    long warmedNanos,
    long settledNanos,
    long panicNanos,
    List<Want> wants) {

  /** A time that has not been. */
  static final long NEVER = Long.MIN_VALUE;

  /** Parts of the stabilisation window that are told apart. */
  static final int MAX_WANTS = 128;

  /** Nothing is under way. */
  public static final ScalingState NONE =
      new ScalingState(0, NEVER, NEVER, NEVER, NEVER, NEVER, List.of());

  /**
   * What was wanted in a part of the stabilisation window.
   *
   * @param nanos its begin
   * @param least and
   * @param most replicas
   */
  public record Want(long nanos, int least, int most) {}

  public ScalingState {
    wants = List.copyOf(wants);
  }

  /** No other number is wanted. */
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

  /** With one want more, and without those that have left the window. */
  ScalingState wanting(int replicas, long now, long window) {
    List<Want> kept = new ArrayList<>(wants);
    kept.removeIf(want -> now - want.nanos >= window);
    Want want = new Want(now, replicas, replicas);
    if (!kept.isEmpty() && now - kept.get(kept.size() - 1).nanos < window / MAX_WANTS) {
      want = kept.remove(kept.size() - 1); // of the same part
    }
    kept.add(new Want(want.nanos, Math.min(want.least, replicas), Math.max(want.most, replicas)));
    return new ScalingState(
        direction, sinceNanos, startingNanos, warmedNanos, settledNanos, panicNanos, kept);
  }

  /** The nearest to a number that was wanted all the time. */
  int stabilized(int target) {
    int least = wants.stream().mapToInt(Want::least).min().orElse(target);
    int most = wants.stream().mapToInt(Want::most).max().orElse(target);
    return Math.max(least, Math.min(target, most));
  }
}
