package dev.berth.controller.autoscaling;

/** Something that sets the number of replicas, beside others under the same load. */
interface Scaler {
  /** What it is called in tables. */
  String name();

  /**
   * A moment, each {@link ScalingWorld#STEP_S}.
   *
   * @param load requests that wait and run now
   * @return how many replicas are wanted
   */
  int look(double load, ReplicaCounts fleet, double nowS);
}
