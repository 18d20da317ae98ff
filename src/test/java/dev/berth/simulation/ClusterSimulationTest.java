package dev.berth.simulation;

/**
 * Clusters with data links between nodes. Others with {@code -Dsimulation.cluster.seeds=N}; one
 * again with {@code -Dsimulation.cluster.seed=N}.
 */
final class ClusterSimulationTest extends ClusterSimulationContract {
  ClusterSimulationTest() {
    super("simulation.cluster.seed", ClusterSimulation::run, 200);
  }
}
