package dev.berth.controller.autoscaling;

/**
 * An autoscaler as Knative's, with its defaults: each 2 s the mean of 60 s, and of 6 s, by the
 * concurrency a replica is to have; panic at 200 %, in which none is stopped; at most ×1000 up and
 * ÷2 down a look; the last one goes after 30 s more. Written from its documents, to be compared
 * with.
 */
final class KnativeScaler implements Scaler {
  private static final double LOOK_S = 2;
  private static final int STABLE = 600; // steps of 0.1 s
  private static final int PANIC = 60;
  private static final double MAX_UP = 1000;
  private static final double MAX_DOWN = 2;
  private static final double ZERO_GRACE_S = 30;

  private final ScalingRules rules;
  private final double[] loads = new double[STABLE];
  private int seen;
  private double lookS;
  private double panicS = Double.NEGATIVE_INFINITY;
  private double zeroS = Double.POSITIVE_INFINITY;

  KnativeScaler(ScalingRules rules) {
    this.rules = rules;
  }

  @Override
  public String name() {
    return "Knative";
  }

  @Override
  public int look(double load, ReplicaCounts fleet, double nowS) {
    loads[seen++ % STABLE] = load;
    int target = fleet.target();
    if (target == 0 && load > 0) {
      return rules.bounded(1);
    }
    if (nowS < lookS) {
      return target;
    }
    lookS = nowS + LOOK_S;
    double ready = Math.max(1, fleet.running());
    int stable = want(mean(STABLE), ready);
    int panic = want(mean(PANIC), ready);
    if (panic >= 2 * ready) {
      panicS = nowS;
    }
    int want = nowS - panicS < STABLE / 10.0 ? Math.max(target, panic) : stable;
    zeroS = want > 0 ? Double.POSITIVE_INFINITY : Math.min(zeroS, nowS);
    return rules.bounded(want == 0 && nowS - zeroS < ZERO_GRACE_S ? 1 : want);
  }

  private int want(double load, double ready) {
    double most = Math.ceil(MAX_UP * ready);
    double least = Math.floor(ready / MAX_DOWN);
    return (int) Math.min(most, Math.max(least, Math.ceil(load / rules.target())));
  }

  private double mean(int steps) {
    double sum = 0;
    int of = Math.min(steps, seen);
    for (int i = 1; i <= of; i++) {
      sum += loads[(seen - i) % STABLE];
    }
    return sum / of;
  }
}
