package dev.berth.it.app;

import dev.berth.api.spi.AutoscalingPolicy;
import java.util.Map;

/** As the guide has it: follows a slow mean of the load, and never less than the load of now. */
public final class Smooth implements AutoscalingPolicy {
  private final double weight;

  public Smooth(Map<String, Object> kwargs) {
    weight = ((Number) kwargs.getOrDefault("weight", 0.02)).doubleValue();
  }

  @Override
  public Answer decide(Context now) {
    double load = now.totalRequests();
    double before = ((Number) now.state().getOrDefault("mean", load)).doubleValue();
    double mean = before + weight * (load - before);
    double wanted = Math.max(load, mean) / now.targetOngoingRequests();
    return new Answer(wanted, Map.of("mean", mean));
  }
}
