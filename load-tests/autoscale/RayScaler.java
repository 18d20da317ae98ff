package dev.berth.controller.autoscaling;

import java.util.ArrayDeque;

/**
 * Ray Serve 2.60's loop by its formula and its default intervals: a sample each 6 s, the window
 * pushed each 10 s and at once when nothing runs, a look each 0.1 s. Written from its behaviour,
 * apart from ours, to be compared with.
 */
final class RayScaler implements Scaler {
  private static final double RECORD_S = 6;
  private static final double PUSH_S = 10;

  private final ScalingRules rules; // only what Ray has
  private final ArrayDeque<double[]> recorded = new ArrayDeque<>();
  private double[][] pushed = {};
  private double recordS;
  private double pushS = PUSH_S;
  private int direction;
  private double sinceS;

  RayScaler(ScalingRules rules) {
    this.rules = rules;
  }

  @Override
  public String name() {
    return "Ray Serve";
  }

  @Override
  public int look(double load, ReplicaCounts fleet, double nowS) {
    boolean atZero = fleet.running() == 0 && load > 0;
    if (nowS >= recordS || atZero) {
      recorded.addLast(new double[] {nowS, load});
      recordS = nowS + RECORD_S;
    }
    while (!recorded.isEmpty() && recorded.peekFirst()[0] < nowS - rules.lookBackNanos() / 1e9) {
      recorded.removeFirst();
    }
    if (nowS >= pushS || atZero) {
      pushed = recorded.toArray(double[][]::new);
      pushS = nowS + PUSH_S;
    }
    return decide(mean(nowS), fleet, nowS);
  }

  private double mean(double nowS) {
    double weighted = 0;
    for (int i = 0; i < pushed.length; i++) {
      double until = i + 1 < pushed.length ? pushed[i + 1][0] : Math.max(nowS, pushed[i][0] + 1e-3);
      weighted += pushed[i][1] * (until - pushed[i][0]);
    }
    return pushed.length == 0 ? 0 : weighted / Math.max(1e-3, nowS - pushed[0][0]);
  }

  private int decide(double total, ReplicaCounts fleet, double nowS) {
    int running = fleet.running();
    int target = fleet.target();
    if (running == 0) {
      return total > 0 ? bound(Math.max((int) Math.ceil(rules.upFactor()), target)) : target;
    }
    double delta = total / rules.target() - running;
    int want =
        (int) Math.ceil(running + (delta > 0 ? rules.upFactor() : rules.downFactor()) * delta);
    if (Math.ceil(delta) < 0 && want == running) {
      want--;
    }
    int way = Integer.signum(want - target);
    if (way != direction) {
      direction = way;
      sinceS = nowS;
    }
    long down = target == 1 ? rules.toZeroDelayNanos() : rules.downDelayNanos();
    boolean due = nowS - sinceS + 1e-6 >= (way > 0 ? rules.upDelayNanos() : down) / 1e9;
    if (way == 0 || !due) {
      return bound(target);
    }
    direction = 0;
    return bound(way < 0 && target > 1 ? Math.max(1, want) : want);
  }

  private int bound(int replicas) {
    return rules.bounded(replicas);
  }
}
