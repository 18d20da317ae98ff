package dev.berth.controller.autoscaling;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Replicas with slots behind one queue, as a fluid: requests come at a rate, wait for a slot, and
 * take {@link #SERVICE_S} of it. Replicas take a while to start and are stopped at once.
 */
final class ScalingWorld {
  static final double STEP_S = Trace.STEP_S;
  static final double SERVICE_S = 0.5;
  static final int SLOTS = 5;

  /**
   * What came of a load.
   *
   * @param running replicas at each step
   * @param waits seconds for a slot of who came at each step
   * @param replicaSeconds paid for
   * @param late share of the requests that had to wait for longer than a second
   * @param most replicas ever wanted
   */
  record Run(
      List<Integer> running, List<Double> waits, double replicaSeconds, double late, int most) {}

  private ScalingWorld() {}

  static Run run(Scaler scaler, double[] rates, double startS, int replicas) {
    ArrayDeque<Double> coming = new ArrayDeque<>();
    List<Integer> runningAt = new ArrayList<>();
    List<Double> waits = new ArrayList<>();
    int running = replicas;
    double load = 0;
    double paid = 0;
    double came = 0;
    double late = 0;
    int most = replicas;
    for (int i = 0; i < rates.length; i++) {
      double now = i * STEP_S;
      while (!coming.isEmpty() && coming.peekFirst() <= now) {
        coming.removeFirst();
        running++;
      }
      double slots = running * SLOTS;
      double wait = Math.max(0, load - slots) * SERVICE_S / Math.max(slots, 0.5);
      waits.add(wait);
      came += rates[i] * STEP_S;
      late += wait > 1 ? rates[i] * STEP_S : 0;
      load += rates[i] * STEP_S;
      double seen = load;
      load = Math.max(0, load - Math.min(load, slots) * STEP_S / SERVICE_S);
      load = load < 1e-3 ? 0 : load;
      int target = running + coming.size();
      int wanted = scaler.look(seen, ReplicaCounts.of(running, coming.size(), target), now);
      for (int more = target; more < wanted; more++) {
        coming.addLast(now + startS);
      }
      for (int fewer = target; fewer > wanted; fewer--) {
        if (coming.isEmpty()) {
          running--;
        } else {
          coming.removeLast();
        }
      }
      paid += Math.max(wanted, 0) * STEP_S;
      most = Math.max(most, wanted);
      runningAt.add(running);
    }
    return new Run(runningAt, waits, paid, came == 0 ? 0 : late / came, most);
  }
}
