package dev.berth.simulation;

import org.jspecify.annotations.Nullable;

/** A claim that did not hold in a run. */
final class SimulationFailure extends AssertionError {
  private static final long serialVersionUID = 1L;

  SimulationFailure(String message) {
    super(message);
  }

  SimulationFailure(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
