package dev.berth.simulation;

import org.junit.jupiter.api.Tag;

/**
 * The claims of {@link ClusterSimulationTest}, where nodes send to each other over the event bus.
 */
@Tag("simulation")
final class ClusterBusSimulationTest extends ClusterSimulationContract {
  ClusterBusSimulationTest() {
    super("simulation.bus.seed", ClusterSimulation::runOverBus, 60);
  }
}
