package dev.berth.controller.autoscaling;

/**
 * Ours: instances that report the mean of each second, and the controller's {@link
 * DeploymentAutoscaler}.
 */
final class BerthScaler implements Scaler {
  private static final double PUSH_S = 1;

  private final String name;
  private final int instances;
  private final HandleReports reports = new HandleReports(Rules.seconds(10));
  private final DeploymentAutoscaler scaling;
  private double sum;
  private int samples;
  private double pushS = PUSH_S;

  BerthScaler(String name, ScalingRules rules, int instances) {
    this.name = name;
    this.instances = instances;
    this.scaling = new DeploymentAutoscaler(rules, reports, 0);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public int look(double load, ReplicaCounts fleet, double nowS) {
    long now = Rules.seconds(nowS);
    sum += load;
    samples++;
    boolean pushes = nowS >= pushS;
    boolean atZero = fleet.target() == 0 && load > 0; // is told at once
    if (pushes || atZero) {
      for (int i = 0; i < instances; i++) {
        reports.recordContact("n" + i, now);
        scaling.report("n" + i, sum / samples / instances, 0, now);
      }
      sum = 0;
      samples = 0;
      pushS = nowS + PUSH_S;
    }
    ScalingDecision last = scaling.last();
    boolean due = last == null || pushes || atZero || last.wakeNanos() <= now;
    return due ? scaling.decide(fleet, null, now).replicas() : fleet.target();
  }
}
