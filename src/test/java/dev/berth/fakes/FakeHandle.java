package dev.berth.fakes;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.HandleMetricSource;
import dev.berth.protocol.ReplicaStats;
import org.jspecify.annotations.Nullable;

/** A deployment's router whose counters a test sets. */
public final class FakeHandle implements HandleMetricSource {
  private final DeploymentId deployment;
  public volatile int queued;
  public volatile int running;
  public volatile int reserved;
  public volatile long begun = -1;
  public volatile boolean broken;
  public volatile boolean autoscales = true;
  public volatile @Nullable ReplicaStats stats;
  public int readings; // of its gauges

  public FakeHandle(String name) {
    this.deployment = new DeploymentId("app", name);
  }

  public FakeHandle with(int queued, int running, int reserved) {
    this.queued = queued;
    this.running = running;
    this.reserved = reserved;
    return this;
  }

  @Override
  public DeploymentId deployment() {
    return deployment;
  }

  @Override
  public boolean autoscales() {
    return autoscales;
  }

  @Override
  public @Nullable ReplicaStats stats() {
    return stats;
  }

  @Override
  public long begunCount() {
    return begun;
  }

  @Override
  public int queued() {
    readings++;
    if (broken) {
      throw new IllegalStateException("broken for the test");
    }
    return queued;
  }

  @Override
  public int running() {
    return running;
  }

  @Override
  public int reserved() {
    return reserved;
  }
}
