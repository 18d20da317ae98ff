package dev.berth.oracles;

import java.util.ArrayList;
import java.util.List;

/** Means of stretches of a run, and the regression of the wait on the work that arrived. */
final class ControlledMean {
  private final List<double[]> rows = new ArrayList<>(); // mean wait, control − its expectation

  void add(double meanWait, double control) {
    rows.add(new double[] {meanWait, control});
  }

  double rawMean() {
    return rows.stream().mapToDouble(row -> row[0]).average().orElseThrow();
  }

  double correctedMean() {
    double wait = rawMean();
    double control = rows.stream().mapToDouble(row -> row[1]).average().orElseThrow();
    double covariance = 0;
    double variance = 0;
    for (double[] row : rows) {
      covariance += (row[0] - wait) * (row[1] - control);
      variance += (row[1] - control) * (row[1] - control);
    }
    return wait - covariance / variance * control; // the control's expectation is 0
  }
}
